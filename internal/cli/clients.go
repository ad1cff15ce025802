package cli

import (
	"context"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// setupResult is what "setup --json" prints.
type setupResult struct {
	Clients  []setupClient  `json:"clients,omitempty"`
	Changes  []setup.Change `json:"changes,omitempty"`
	Files    []setupFile    `json:"files,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Written  bool           `json:"written"`
}

// setupClient is one client of a list.
type setupClient struct {
	Client        string               `json:"client"`
	Title         string               `json:"title"`
	Found         bool                 `json:"found"`
	MCP           bool                 `json:"mcp"`
	Hook          bool                 `json:"hook"`
	Registrations []setup.Registration `json:"registrations"`
	Problems      []setupProblem       `json:"problems"`
}

// setupProblem is a file of a client that cannot be read.
type setupProblem struct {
	File    string `json:"file"`
	Message string `json:"message"`
}

// setupFile is a file that is changed.
type setupFile struct {
	File   string `json:"file"`
	Diff   string `json:"diff"`
	Backup string `json:"backup,omitempty"`
}

// clientOf returns what "setup --list --json" prints of a client.
func clientOf(st setup.Status) setupClient {
	c := setupClient{Client: st.Client.Name, Title: st.Client.Title, Found: st.Installed, MCP: true, Hook: st.Client.Hook != nil,
		Registrations: st.Registrations, Problems: []setupProblem{}}
	if c.Registrations == nil {
		c.Registrations = []setup.Registration{}
	}
	for _, p := range st.Problems {
		c.Problems = append(c.Problems, setupProblem{p.File, p.Err.Error()})
	}
	return c
}

// checkClients adds to a report which clients are set up, and what is wrong with
// that.
func (a *app) checkClients(ctx context.Context, c *catalog, r *doctor.Report) error {
	env, err := a.setupEnv("")
	if err != nil {
		return nil // without a home nothing is set up
	}
	skills, err := listable(ctx, c)
	if err != nil {
		return err
	}
	r.Add(setup.Check(env, skills)...)
	return nil
}

// listable returns all skills of a catalog: a client may list those in its own
// folders itself.
func listable(ctx context.Context, c *catalog) ([]setup.Listed, error) {
	entries, err := c.List(ctx, nil, true)
	if err != nil {
		return nil, err
	}
	skills := make([]setup.Listed, len(entries))
	for i, e := range entries {
		skills[i] = setup.Listed{Name: e.Name, Description: e.Description, Location: e.Location}
	}
	return skills, nil
}
