package setup

import "github.com/repertoire-skills/repertoire/internal/client"

// A Scope says for whom an entry is: the user, or everybody in the project.
type Scope = client.Scope

// The scopes.
const (
	User    = client.User
	Project = client.Project
)

// An Env is the machine on which clients are set up, and the program that they will run.
type Env struct {
	client.Machine
	Program string   // what clients run, an absolute path
	Flags   []string // flags of every command
	State   string   // folder of the record and of the backups
}

// A format reads and edits files of one language.
type format interface {
	// decode returns the content as maps, lists, texts and so on; nil means that the
	// file is empty.
	decode(data []byte) (any, error)
	// set sets the value at a path to v and touches nothing else.
	set(data []byte, p path, v any) ([]byte, error)
	// remove removes the value at a path and touches nothing else.
	remove(data []byte, p path) ([]byte, error)
}

// formatOf returns the format of the file with a client's MCP servers.
func formatOf(m *client.MCP) format {
	switch m.Format {
	case client.TOML:
		return tomlFormat{}
	case client.YAML:
		return yamlFormat{}
	}
	return jsonFormat{}
}

// isCommand reports whether a member of an entry holds the command: only these
// are brought up to date, since the user may have changed the others.
func isCommand(key string) bool { return key == "command" || key == "args" || key == "cmd" }

// mcpFiles returns the files with a client's MCP servers. There are none if the client
// takes no MCP servers.
func mcpFiles(c client.Client) client.Places {
	if c.MCP == nil {
		return client.Places{}
	}
	return c.MCP.Files
}

// hookFiles returns the files with a client's hooks. There are none if the client has no
// hooks.
func hookFiles(c client.Client) client.Places {
	if c.Hook == nil {
		return client.Places{}
	}
	return c.Hook.Files
}
