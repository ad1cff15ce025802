package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/skill"
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

// clients reports which clients are set up, and what is wrong with that.
func (d *diagnosis) clients(ctx context.Context, c *catalog) error {
	env, err := c.app.setupEnv("")
	if err != nil {
		return nil // without a home nothing is set up
	}
	statuses := setup.Scan(env)
	for _, st := range statuses {
		d.client(env, st)
	}
	for _, double := range setup.Doubles(statuses) {
		d.add("", skill.Problem{Rule: "client-twice", Severity: skill.Warning, Path: double.File, Message: double.Message})
	}
	return d.budgets(ctx, c, env, statuses)
}

// client reports one client.
func (d *diagnosis) client(env *setup.Env, st setup.Status) {
	name := st.Client.Name
	for _, p := range st.Problems {
		d.add("", skill.Problem{Rule: "client-settings", Severity: skill.Warning, Path: p.File,
			Message: fmt.Sprintf("%s: %v", st.Client.Title, p.Err), Hint: "what cannot be read here is not set up, and perhaps not read by the client either"})
	}
	for _, r := range st.Registrations {
		what := "hook"
		if r.Kind == setup.MCP {
			what = fmt.Sprintf("MCP server %q", r.Name)
		}
		p := skill.Problem{Rule: "client", Severity: skill.Note, Path: r.File, Message: fmt.Sprintf("%s: the %s is set up (%s)", st.Client.Title, what, r.Scope)}
		if r.Gone {
			flags := "--" + r.Kind
			if r.Scope == setup.Project {
				flags += " --scope project"
			}
			p = skill.Problem{Rule: "client-broken", Severity: skill.Error, Path: r.File, Message: fmt.Sprintf("%s: the %s runs %s, which is not there", st.Client.Title, what, r.Words[0]),
				Hint: fmt.Sprintf("%q writes the place of this program", strings.Join([]string{"skills setup", name, flags}, " "))}
		}
		d.add("", p)
		if name := r.Server(); name != "" && !slices.ContainsFunc(st.Registrations, func(o setup.Registration) bool { return o.Kind == setup.MCP && o.Name == name }) {
			d.add("", skill.Problem{Rule: "client-broken", Severity: skill.Warning, Path: r.File,
				Message: fmt.Sprintf("%s: the hook refers to the MCP server %q, which is not set up", st.Client.Title, name), Hint: fmt.Sprintf("\"skills setup %s\" sets up both", st.Client.Name)})
		}
		switch setup.TrustOf(env, st, r) {
		case setup.Pending:
			d.add("", skill.Problem{Rule: "client-trust", Severity: skill.Warning, Path: r.File,
				Message: st.Client.Title + " has no approval of the hook on record, and does not run it without one", Hint: "approve it once with /hooks in " + st.Client.Title})
		case setup.Disabled:
			d.add("", skill.Problem{Rule: "client-trust", Severity: skill.Note, Path: r.File, Message: st.Client.Title + ": the hook is switched off there"})
		}
	}
}

// budgets reports clients whose own listing of skills has no room for all.
func (d *diagnosis) budgets(ctx context.Context, c *catalog, env *setup.Env, statuses []setup.Status) error {
	entries, err := c.List(ctx, nil, true)
	if err != nil {
		return err
	}
	for _, st := range statuses {
		folders := setup.BudgetFolders(env, st.Client.Name)
		if !st.Installed || len(folders) == 0 {
			continue
		}
		var listed []setup.Listed
		for _, e := range below(folders, entries) {
			listed = append(listed, setup.Listed{Name: e.Name, Description: e.Description})
		}
		for _, b := range setup.Budgets(env, st.Client.Name, listed) {
			if !b.Over() {
				continue
			}
			p := skill.Problem{Rule: "client-budget", Severity: skill.Warning, Path: folders[0],
				Message: fmt.Sprintf("your %d skills need %s %s, %s lists %s", b.Skills, thousands(b.Needs), b.Unit, st.Client.Title, thousands(b.Lists))}
			if b.Names > 0 && b.Names < b.Needs && slices.ContainsFunc(st.Registrations, func(r setup.Registration) bool { return r.Scope == setup.User }) {
				p.Hint = `"skills setup claude --listing name-only" has it list names only; the catalog offers the rest`
			} else {
				p.Hint = "what is left out is still found by the catalog; move skills to a folder that is configured as a root"
			}
			d.add("", p)
		}
	}
	return nil
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
