package setup

import (
	"net/url"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

var scopes = []client.Scope{client.User, client.Project}

// An Env is the machine on which clients are set up, and the program that they will run.
type Env struct {
	client.Machine
	Program string   // what clients run, an absolute path
	Flags   []string // flags of every command
	State   string   // folder of the record and of the backups
	Server  Server   // that clients and hooks ask instead of this machine
}

// A Server is one that clients reach over HTTP ("skills mcp --http").
type Server struct {
	URL      string // its root; "" means that there is none
	Agent    string // whose skills it shows; "" means that the server decides
	TokenEnv string // the environment variable with the token; "" means that there is none
	Insecure bool   // plain HTTP to another machine is allowed
}

// mcp returns the address for MCP. It ends in /mcp, because some clients rewrite others.
func (s *Server) mcp() string {
	if s.Agent != "" {
		return s.URL + "/" + url.PathEscape(s.Agent) + "/mcp"
	}
	return s.URL + "/mcp"
}

// flags returns the flags of a hook that asks the server.
func (s *Server) flags() []string {
	if s.URL == "" {
		return nil
	}
	list := []string{"--url", s.URL}
	if s.TokenEnv != "" {
		list = append(list, "--token-env", s.TokenEnv)
	}
	if s.Insecure {
		list = append(list, "--insecure")
	}
	return list
}

// formatOf returns how a file of settings is edited.
func formatOf(f client.Format) edit.Format {
	switch f {
	case client.TOML:
		return edit.TOML
	case client.YAML:
		return edit.YAML
	}
	return edit.JSON
}

// hookFormatOf returns the format of the file with a client's hooks.
func hookFormatOf(c client.Client) edit.Format {
	if c.Hook == nil || c.Hook.Script == "" {
		return edit.JSON
	}
	return edit.Script(c.Hook.Script)
}

// hookFiles returns the files with a client's hooks. There are none if the client has no
// hooks.
func hookFiles(c client.Client) client.Places {
	if c.Hook == nil {
		return client.Places{}
	}
	return c.Hook.Files
}
