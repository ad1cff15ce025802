package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/setup"
)

// printClients prints what --list shows.
func (s *setupRun) printClients() error {
	clients := mapped(setup.Scan(s.env), clientOf)
	return s.tableOr(setupResult{Clients: clients}, []string{"CLIENT", "FOUND", "MCP", "HOOK", "FILES"}, mapped(clients, clientRow))
}

func clientOf(st setup.Status) setupClient {
	c := st.Client
	return setupClient{c.Name, c.Title, st.Installed, true, c.Hook != nil, append([]setup.Registration{}, st.Registrations...),
		append([]setup.FileProblem{}, st.Problems...)}
}

func clientRow(c setupClient) []string {
	found := "no"
	if c.Found {
		found = "yes"
	}
	files := mapped(c.Registrations, func(r setup.Registration) string { return r.File })
	for _, p := range c.Problems {
		files = append(files, p.Message)
	}
	return []string{c.Client, found, scopesOf(c, setup.MCP, c.MCP), scopesOf(c, setup.Hook, c.Hook), strings.Join(files, ", ")}
}

// scopesOf names the scopes in which an MCP server or a hook is set up.
func scopesOf(c setupClient, kind string, has bool) string {
	if !has {
		return "-"
	}
	var scopes []string
	for _, r := range c.Registrations {
		if r.Kind == kind && !slices.Contains(scopes, string(r.Scope)) {
			scopes = append(scopes, string(r.Scope))
		}
	}
	return cmp.Or(strings.Join(scopes, ","), "no")
}
