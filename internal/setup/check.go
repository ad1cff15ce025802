package setup

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/skill"
)

// Check reports which clients are set up, what is wrong with their settings, which clients
// have no room to list all skills that lie in their own folders, and files that are no skills.
func Check(env *Env, skills []Listed) []skill.Problem {
	statuses := Scan(env)
	var found []skill.Problem
	for _, st := range statuses {
		found = append(found, env.checkClient(st)...)
	}
	for _, double := range doublesOf(statuses) {
		found = append(found, skill.Problem{Rule: "client-twice", Severity: skill.Warning, Path: double.File, Message: double.Message})
	}
	for _, st := range statuses {
		if st.Installed {
			found = append(found, env.checkListing(st, skills)...)
		}
	}
	return append(found, env.checkCommands()...)
}

// checkClient reports what is set up for one client.
func (e *Env) checkClient(st Status) []skill.Problem {
	title, name := st.Client.Title, st.Client.Name
	var found []skill.Problem
	for _, p := range st.Problems {
		found = append(found, skill.Problem{Rule: "client-settings", Severity: skill.Warning, Path: p.File,
			Message: fmt.Sprintf("%s: %v", title, p.Err), Hint: "what cannot be read here is not set up, and perhaps not read by the client either"})
	}
	for _, r := range st.Registrations {
		found = append(found, checkProgram(st.Client, r))
		if server := r.server(); server != "" && !slices.ContainsFunc(st.Registrations, func(o Registration) bool { return o.Kind == MCP && o.Name == server }) {
			found = append(found, skill.Problem{Rule: "client-broken", Severity: skill.Warning, Path: r.File,
				Message: fmt.Sprintf("%s: the hook refers to the MCP server %q, which is not set up", title, server), Hint: fmt.Sprintf("\"skills setup %s\" sets up both", name)})
		}
		switch trustOf(e, st, r) {
		case pending:
			found = append(found, skill.Problem{Rule: "client-trust", Severity: skill.Warning, Path: r.File,
				Message: title + " has no approval of the hook on record, and does not run it without one", Hint: "approve it once with /hooks in " + title})
		case disabled:
			found = append(found, skill.Problem{Rule: "client-trust", Severity: skill.Note, Path: r.File, Message: title + ": the hook is switched off there"})
		}
	}
	return found
}

// checkProgram reports that an entry is set up, or that the program it runs is gone.
func checkProgram(c client.Client, r Registration) skill.Problem {
	what := "hook"
	if r.Kind == MCP {
		what = fmt.Sprintf("MCP server %q", r.Name)
	}
	if !r.Gone {
		return skill.Problem{Rule: "client", Severity: skill.Note, Path: r.File, Message: fmt.Sprintf("%s: the %s is set up (%s)", c.Title, what, r.Scope)}
	}
	return skill.Problem{Rule: "client-broken", Severity: skill.Error, Path: r.File, Message: fmt.Sprintf("%s: the %s runs %s, which is not there", c.Title, what, r.Words[0]),
		Hint: fmt.Sprintf("%q writes the place of this program", "skills setup "+c.Name+" --"+r.Kind+scopeFlag(r.Scope))}
}

// checkListing reports a client whose own listing has no room for all its skills.
func (e *Env) checkListing(st Status, skills []Listed) []skill.Problem {
	c := st.Client
	folders := slices.Concat(e.SkillDirs(c, client.User), e.SkillDirs(c, client.Project))
	if c.Listing == nil || len(folders) == 0 {
		return nil
	}
	var found []skill.Problem
	for _, b := range budgetsOf(e, c, below(folders, skills)) {
		if !b.over() {
			continue
		}
		p := skill.Problem{Rule: "client-budget", Severity: skill.Warning, Path: folders[0],
			Message: b.shortage(c.Title) + longest(e, c, below(folders, skills)),
			Hint:    "what is left out is still found by the catalog; move skills to a folder that is configured as a root"}
		if b.Names > 0 && b.Names < b.Needs && slices.ContainsFunc(st.Registrations, func(r Registration) bool { return r.Scope == client.User }) {
			p.Hint = fmt.Sprintf("%q has it list names only; the catalog offers the rest", "skills setup "+c.Name+" --listing name-only")
		}
		found = append(found, p)
	}
	return found
}

// shortage says how much of its skills a client with a title has no room for.
func (b budget) shortage(title string) string {
	if b.Unit == "skills" {
		return fmt.Sprintf("%s lists %s of your %s skills: the others are dropped.", title, thousands(b.Lists), thousands(b.Skills))
	}
	dropped := "the rest is dropped"
	switch {
	case b.Names == 0: // it is not known what the client drops
	case b.Needs > 2*b.Lists:
		dropped = "most descriptions are dropped"
	default:
		dropped = "some descriptions are dropped"
	}
	return fmt.Sprintf("%s has room for %s of the %s characters of your %s skills: %s.", title, thousands(b.Lists), thousands(b.Needs), thousands(b.Skills), dropped)
}

// longest says which skills take most of the room in a client's listing; "" if there are
// only a few.
func longest(env *Env, c client.Client, skills []Listed) string {
	const named = 3
	l, listed := tuned(env, *c.Listing, skills)
	if len(listed) <= named {
		return ""
	}
	chars := func(s Listed) int { return charsOf(l, []Listed{s}) }
	listed = slices.Clone(listed)
	slices.SortStableFunc(listed, func(a, b Listed) int { return cmp.Compare(chars(b), chars(a)) })
	var list []string
	for _, s := range listed[:named] {
		list = append(list, fmt.Sprintf("%s (%s)", s.Name, thousands(chars(s))))
	}
	return " The longest are " + strings.Join(list, ", ") + "."
}

// NamesIn returns the names of the skills that a client lists itself in a scope. It
// is an error if there are none.
func NamesIn(env *Env, c client.Client, s client.Scope, skills []Listed) ([]string, error) {
	folders := env.SkillDirs(c, s)
	var names []string
	for _, l := range below(folders, skills) {
		// If the two names differ the client uses the name of the folder.
		names = append(names, l.Name, filepath.Base(filepath.Dir(l.Location)))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no skill of the catalog lies in %s", strings.Join(folders, " or "))
	}
	return names, nil
}

// below returns the skills that lie in folders, also through a link, each once.
func below(folders []string, skills []Listed) []Listed {
	real := make([]string, len(folders))
	for i, folder := range folders {
		real[i] = realPath(folder)
	}
	seen := make(map[string]bool)
	var found []Listed
	for _, l := range skills {
		at := realPath(l.Location)
		if !seen[at] && (inAny(folders, l.Location) || inAny(real, at)) {
			seen[at] = true
			found = append(found, l)
		}
	}
	return found
}

// inAny reports whether a file is in one of some folders.
func inAny(folders []string, file string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		rel, err := filepath.Rel(folder, file)
		return err == nil && filepath.IsLocal(rel)
	})
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
