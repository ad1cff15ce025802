package cli

import (
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
)

// changeResult is one change of a changesResult.
type changeResult struct {
	Name        string             `json:"name"`
	Action      install.Action     `json:"action"`
	Reason      string             `json:"reason,omitempty"`
	Description string             `json:"description,omitempty"`
	Source      string             `json:"source,omitempty"`
	Commit      string             `json:"commit,omitempty"`
	Digest      string             `json:"digest,omitempty"`
	Signature   *install.Signature `json:"signature,omitempty"`
	Files       *install.Files     `json:"files,omitempty"`
	Edits       *install.Files     `json:"edits,omitempty"`
	Diff        string             `json:"diff,omitempty"`
	Binary      []string           `json:"binary,omitempty"`
	Findings    []skill.Problem    `json:"findings,omitempty"`
	Kept        string             `json:"kept,omitempty"`
}

func changesOf(dir string, r *install.Result) changesResult {
	return changesResult{dir, r.Source, r.Ref, r.Commit, r.Approved, mapped(r.Changes, changeOf), r.Added}
}

func changeOf(c *install.Change) changeResult {
	out := changeResult{Name: c.Name, Action: c.Action, Reason: c.Reason, Description: c.Description,
		Diff: c.Diff, Binary: c.Binary, Findings: c.Findings, Kept: c.Kept, Files: filesOrNil(c.Files), Edits: filesOrNil(c.Edits)}
	e := c.To
	if e == nil {
		e = c.From
	}
	if e != nil {
		out.Source, out.Commit, out.Digest, out.Signature = e.Source, e.Commit, e.Digest, e.Signature
	}
	return out
}

func filesOrNil(f install.Files) *install.Files {
	if f.Same() {
		return nil
	}
	return &f
}

// printPlan prints what would be done, and what speaks against it. What is refused is told
// at the end.
func (r *installRun) printPlan(changes []*install.Change) {
	for _, c := range changes {
		if c.Action == install.Refuse {
			continue
		}
		for _, p := range c.Findings {
			r.note("%v", p)
		}
		if c.To != nil && c.Description != "" && r.user != nil {
			r.note("%s: %s", c.Name, c.Description)
		}
		if r.json {
			continue
		}
		fmt.Fprint(r.stdout, c.Diff)
		for _, name := range c.Binary {
			fmt.Fprint(r.stdout, lineOf("%s/%s: changed, and no text", c.Name, name))
		}
		r.printEdits(c)
	}
}

// printEdits tells which files of an installed skill were edited here.
func (r *installRun) printEdits(c *install.Change) {
	for _, e := range editsOf(c.Edits) {
		r.note("%s: edited here: %s", c.Name, e)
	}
}

// editsOf returns a line for each file that is not as it was.
func editsOf(f install.Files) []string {
	var lines []string
	for _, kind := range []struct {
		word  string
		names []string
	}{{"changed", f.Changed}, {"missing", f.Missing}, {"extra", f.Extra}} {
		for _, name := range kind.names {
			lines = append(lines, name+" ("+kind.word+")")
		}
	}
	return lines
}

// noInstalled says that there is nothing to update or to verify.
const noInstalled = `no skill is installed; "skills install SOURCE" installs some`

// printChanges prints what was done, or would be.
func (r *installRun) printChanges(result *install.Result) {
	same := 0
	for _, c := range result.Changes {
		switch {
		case c.Action == install.Unchanged && c.Reason == "":
			same++
		case c.Action == install.Refuse:
			fmt.Fprint(r.stdout, c.Diff)
			fmt.Fprintf(r.stderr, "skills: %s\n", message(c.Name+": "+c.Reason))
			r.printEdits(c)
		case c.Action == install.Skip:
			r.note("%s: skipped", c.Name)
		case c.Action == install.Unchanged:
			r.note("%s: %s", c.Name, c.Reason)
		default:
			fmt.Fprint(r.stdout, lineOf("%s: %s", c.Name, sentence(c, result.Approved)))
			if c.Action == install.Update && c.Reason != "" {
				r.note("%s: %s", c.Name, c.Reason)
			}
		}
		if c.Kept != "" {
			r.note("%s: what you had edited is in %s", c.Name, c.Kept)
		}
	}
	for _, a := range result.Added {
		list, more := a.Folders, ""
		if most := 5; len(list) > most {
			list, more = list[:most], fmt.Sprintf(" and %s more", figures.Thousands(len(a.Folders)-most))
		}
		r.note("new in %s: %s%s (\"skills install\" with --skill NAME installs one)", endpoint.Shown(a.Source), strings.Join(list, ", "), more)
	}
	if len(result.Changes) == 0 {
		r.note(noInstalled)
	} else if same > 0 {
		r.note("%s of %s: nothing new", figures.Thousands(same), count(len(result.Changes), "skill"))
	}
}

// sentence says what was done with a skill, or would be.
func sentence(c *install.Change, done bool) string {
	verb := map[install.Action]string{install.Add: "installed", install.Replace: "replaced", install.Update: "updated", install.Remove: "removed"}[c.Action]
	if !done {
		verb = "would be " + verb
	}
	if c.To == nil {
		return verb
	}
	runs := 0
	for _, f := range c.To.Files {
		if f.Executable {
			runs++
		}
	}
	parts := []string{count(len(c.To.Files), "file")}
	if runs > 0 {
		parts = append(parts, fmt.Sprintf("%d of them executable", runs))
	}
	if c.To.Commit != "" {
		parts = append(parts, fmt.Sprintf("commit %.12s", c.To.Commit))
	}
	if c.To.Signature != nil {
		parts = append(parts, "signed with "+c.To.Signature.Kind)
	}
	if _, ok := c.To.Files["skill.oms.sig"]; ok {
		parts = append(parts, "skill.oms.sig is not checked")
	}
	return fmt.Sprintf("%s from %s (%s)", verb, endpoint.Shown(c.To.Source), strings.Join(parts, ", "))
}
