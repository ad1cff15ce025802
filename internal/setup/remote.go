package setup

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

// urlKeys are the members of an entry that hold the URL of a server, and tokenKeys those that
// refer to its token.
func urlKeys() []string   { return []string{"url", "httpUrl", "serverUrl", "uri"} }
func tokenKeys() []string { return []string{"headers", "bearer_token_env_var", "env_keys"} }

// urlOf returns the URL of the entry of a server that clients reach over HTTP; "" for another.
func urlOf(entry any) string {
	for _, key := range urlKeys() {
		if text, _ := edit.Lookup(entry, edit.Path{key}).(string); text != "" {
			return text
		}
	}
	return ""
}

// tokenEnvOf returns the environment variable to which the entry of a server refers; "" means
// that there is none.
func tokenEnvOf(entry any) string {
	if name, _ := edit.Lookup(entry, edit.Path{"bearer_token_env_var"}).(string); name != "" {
		return name
	}
	header, _ := edit.Lookup(entry, edit.Path{"headers", "Authorization"}).(string)
	name, isVariable := strings.CutPrefix(strings.TrimPrefix(header, "Bearer "), "$")
	if !isVariable && !strings.HasPrefix(name, "{") {
		return ""
	}
	return strings.TrimPrefix(strings.Trim(name, "{}"), "env:")
}

// ourURL returns the URL of the entry of a server that setup has written, or is to write; ""
// for another.
func (e *Env) ourURL(entry any) string {
	at := urlOf(entry)
	if at == "" || e.Server.URL != "" && at == e.Server.mcp() {
		return at
	}
	rec, err := readRecord(e.State)
	if err != nil {
		return ""
	}
	for _, f := range rec.Files {
		if slices.Contains(f.Commands, at) {
			return at
		}
	}
	return ""
}

// entryOf returns the entry of our server, and the words of its command, or its URL.
func (e *Env) entryOf(c client.Client, name string) (entry edit.Object, words []string) {
	if e.Server.URL == "" {
		words = slices.Concat([]string{e.Program, "mcp"}, e.Flags)
		return c.MCP.Entry(name, words), words
	}
	return c.MCP.Remote(name, e.Server.mcp(), e.Server.TokenEnv), []string{e.Server.mcp()}
}

// commandOf returns a command as one line, or a URL as it is.
func commandOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return commandLine(client.Posix, words)
}

// sameServer reports whether two servers have the same URL, or commands that differ at most
// in the program.
func sameServer(a, b []string) bool {
	if len(a) == 1 || len(b) == 1 {
		return slices.Equal(a, b)
	}
	return slices.Equal(a[1:], b[1:])
}
