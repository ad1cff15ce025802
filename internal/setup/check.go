package setup

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// Check reports which clients are set up, what is wrong with their settings and with the
// answers of what they run, which clients have no room to list all skills that lie in their
// own folders, what is known of how the others list them, and files that are no skills.
func Check(env *Env, statuses []Status, skills []Listed) []skill.Problem {
	var found []skill.Problem
	for _, st := range statuses {
		found = slices.Concat(found, env.checkClient(st), checkHooks(st))
	}
	for _, double := range doublesOf(statuses) {
		found = append(found, skill.Problem{Rule: "client-twice", Severity: skill.Warning, Path: double.File, Message: double.Message})
	}
	for _, st := range statuses {
		if st.Installed {
			found = append(found, env.checkListing(st, skills)...)
		}
	}
	return slices.Concat(found, env.checkUnbounded(statuses, skills), env.checkCommands())
}

// checkClient reports what is set up for one client.
func (e *Env) checkClient(st Status) []skill.Problem {
	title, name := st.Client.Title, st.Client.Name
	var found []skill.Problem
	if at := e.foundWithoutUs(st.Client); at != "" && len(st.Registrations) == 0 {
		found = append(found, skill.Problem{Rule: "client-unused", Severity: skill.Note, Path: at,
			Message: title + " is on this machine, but not set up", Hint: fmt.Sprintf("%q sets it up", "skills setup "+name)})
	}
	for _, p := range st.Problems {
		found = append(found, skill.Problem{Rule: "client-settings", Severity: skill.Warning, Path: p.File,
			Message: title + ": " + p.Message, Hint: "what cannot be read here is not set up, and perhaps not read by the client either"})
	}
	for _, r := range st.Registrations {
		found = append(found, e.checkProgram(st.Client, r))
		if server := r.server(); server != "" && !slices.ContainsFunc(st.Registrations, func(o Registration) bool { return o.Kind == MCP && o.Name == server }) {
			found = append(found, skill.Problem{Rule: "client-broken", Severity: skill.Warning, Path: r.File,
				Message: fmt.Sprintf("%s: the hook refers to the MCP server %q, which is not set up", title, server), Hint: fmt.Sprintf("\"skills setup %s\" sets up both", name)})
		}
		switch trustOf(e, st, r) {
		case pending:
			found = append(found, skill.Problem{Rule: "client-trust", Severity: skill.Warning, Path: r.File,
				Message: title + " does not run the hook until you approve it: type /hooks in " + title + " once"})
		case disabled:
			found = append(found, skill.Problem{Rule: "client-trust", Severity: skill.Note, Path: r.File, Message: title + ": the hook is switched off there"})
		}
	}
	return found
}

// foundWithoutUs is Found, but a folder that setup has made, perhaps for another client, does
// not show that the client is on the machine.
func (e *Env) foundWithoutUs(c client.Client) string {
	at := e.Found(c)
	rec, err := readRecord(e.State)
	if err != nil || at == "" || !slices.Contains(rec.Folders, at) {
		return at
	}
	return c.Program()
}

// checkProgram reports that an entry is set up, or that the command in it does not work.
func (e *Env) checkProgram(c client.Client, r Registration) skill.Problem {
	what := "hook"
	if r.Kind == MCP {
		what = fmt.Sprintf("MCP server %q", r.Name)
	}
	p := skill.Problem{Rule: "client", Severity: skill.Note, Path: r.File, Message: fmt.Sprintf("%s: the %s is set up (%s)", c.Title, what, r.Scope)}
	a := cmp.Or(r.Answer, &Answer{OK: true})
	switch {
	case r.Gone:
		p.Rule, p.Severity, p.Message = "client-broken", skill.Error, fmt.Sprintf("%s: the %s runs %s, which is not there", c.Title, what, r.Words[0])
		p.Hint = fmt.Sprintf("%q writes the place of this program", "skills setup "+c.Name+" --"+r.Kind+scopeFlag(r.Scope))
	case a.Refused:
		p.Rule, p.Severity, p.Message, p.Hint = "key-refused", skill.Error, fmt.Sprintf("%s: the %s is %s", c.Title, what, a.Problem), a.Hint
	case !a.OK:
		p.Rule, p.Severity, p.Message, p.Hint = "client-silent", skill.Error, fmt.Sprintf("%s: the %s does not work: %s", c.Title, what, a.Problem), a.Hint
	case a.Late:
		p.Rule, p.Severity, p.Message = "client-silent", skill.Warning, fmt.Sprintf("%s: the %s took %d ms, longer than its deadline: a prompt goes on without it", c.Title, what, a.TookMS)
		p.Hint = "run \"skills doctor\" again when the machine has less to do; a slow embedding server may be the cause, too"
	case r.Answer != nil:
		p.Message += fmt.Sprintf(" and answers in %d ms", a.TookMS)
	default:
		if err := e.MayRun(r); err != nil {
			p.Hint = "it was not tried: " + err.Error()
		}
	}
	return p
}

// NamesIn returns the names of the skills that a client lists itself in a scope, and whether they are off.
func NamesIn(env *Env, c client.Client, s client.Scope, skills []Listed) map[string]bool {
	names := make(map[string]bool)
	for _, l := range below(env.SkillDirs(c, s), skills) {
		// If the two names differ the client uses the name of the folder.
		for _, name := range []string{l.Name, filepath.Base(filepath.Dir(l.Location))} {
			off, known := names[name]
			names[name] = l.Off && (off || !known) // of two skills of a name, one may be listed
		}
	}
	return names
}

// below returns the skills that lie in folders, also through a link, each once.
func below(folders []string, skills []Listed) []Listed {
	real := make([]string, len(folders))
	for i, folder := range folders {
		real[i] = regular.Real(folder)
	}
	seen, links := make(map[string]bool), make(regular.Links)
	var found []Listed
	for i := range skills {
		l := &skills[i]
		if l.real == "" {
			l.real = links.Real(l.Location)
		}
		if !seen[l.real] && (inAny(folders, l.Location) || inAny(real, l.real)) {
			seen[l.real] = true
			found = append(found, *l)
		}
	}
	return found
}

// inAny reports whether a file is in one of some folders.
func inAny(folders []string, file string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return regular.In(folder, file) })
}
