package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Lost is an entry that setup has written into a file of a client, and that somebody else has
// removed: an open session of the client that wrote its own settings over it, or another tool.
type Lost struct {
	Client string       `json:"client"`
	Kind   string       `json:"kind"` // MCP or Hook
	Scope  client.Scope `json:"scope"`
	File   string       `json:"file"`
}

// lost returns the entries of a client that are in the record, and no longer in their files.
func (e *Env) lost(st *Status, rec *record) (all []Lost) {
	c := st.Client
	for _, scope := range []client.Scope{client.Project, client.User} {
		for _, kind := range []struct {
			name  string
			files client.Places
		}{{Hook, hookFiles(c)}, {MCP, c.MCP.Files}} {
			file := e.File(kind.files, scope)
			r := rec.Files[regular.Real(file)]
			readable := !slices.ContainsFunc(st.Problems, func(p FileProblem) bool { return p.File == file })
			there := slices.ContainsFunc(st.Registrations, func(o Registration) bool { return o.Kind == kind.name && o.File == file })
			if r != nil && readable && !there && slices.ContainsFunc(r.Commands, func(line string) bool { return e.kindOf(line) == kind.name }) {
				all = append(all, Lost{c.Name, kind.name, scope, file})
			}
		}
	}
	return all
}

// kindOf returns what a command of the record was written for.
func (e *Env) kindOf(line string) string {
	if e.hookWords(line, client.HookArgs()...) != nil {
		return Hook
	}
	return MCP
}

// present returns the commands of a list that entries of a file run, sorted and each once.
func (e *Env) present(ed *Edit, commands []string) []string {
	runs := make(map[string]bool)
	for _, c := range ed.clients {
		entries := e.servers(ed.tree, c.MCP)
		if c.Hook != nil {
			entries = append(entries, e.handlers(ed.tree, c.Hook)...)
		}
		for _, r := range entries {
			runs[r.command()] = true
		}
	}
	slices.Sort(commands)
	return slices.DeleteFunc(slices.Compact(commands), func(line string) bool { return !runs[line] })
}

// forget takes an entry out of the record.
func (r *record) forget(env *Env, l Lost) {
	f := r.Files[regular.Real(l.File)]
	if f == nil {
		return
	}
	f.Commands = slices.DeleteFunc(f.Commands, func(line string) bool { return env.kindOf(line) == l.Kind })
	if len(f.Commands)+len(f.Overrides)+len(f.Off) == 0 {
		delete(r.Files, regular.Real(l.File))
	}
}

// An Off says why a client runs no hook.
type Off struct {
	File    string `json:"file"`
	Setting string `json:"setting"` // as in "disableAllHooks is true"
}

// hooksOff returns the setting that keeps a client from running hooks; nil if there is none.
// What cannot be read says nothing: Status.Problems has what is wrong with a file of ours.
func (e *Env) hooksOff(h *client.Hook) *Off {
	if h == nil {
		return nil
	}
	for _, s := range h.Switches {
		var off *Off
		for _, at := range s.Files {
			file := at(&e.Machine)
			if file == "" {
				continue
			}
			tree, err := readTree(file, formatOf(s.Format))
			value := edit.Lookup(tree, edit.To(s.Key...))
			if err != nil || value == nil {
				continue
			}
			off = nil
			list, _ := value.([]any)
			if value == s.Off {
				off = &Off{file, fmt.Sprintf("%s is %v", strings.Join(s.Key, "."), s.Off)}
			} else if slices.Contains(list, s.Off) {
				off = &Off{file, fmt.Sprintf("%s has %q", strings.Join(s.Key, "."), s.Off)}
			}
		}
		if off != nil {
			return off
		}
	}
	return nil
}

// checkHooks reports that a client runs no hook, and which entries are lost.
func checkHooks(st Status) []skill.Problem {
	var found []skill.Problem
	title := st.Client.Title
	hook := func(r Registration) bool { return r.Kind == Hook }
	if st.Off != nil && slices.ContainsFunc(st.Registrations, hook) {
		found = append(found, skill.Problem{Rule: "client-hooks-off", Severity: skill.Warning, Path: st.Off.File,
			Message: fmt.Sprintf("%s does not run hooks, ours neither: %s in %s", title, st.Off.Setting, filepath.Base(st.Off.File)),
			Hint:    "change it there, or ask whoever manages this machine"})
	}
	for _, l := range st.Lost {
		what := l.Kind
		if what == MCP {
			what = "MCP server"
		}
		found = append(found, skill.Problem{Rule: "client-lost", Severity: skill.Warning, Path: l.File,
			Message: fmt.Sprintf("%s: the %s that setup wrote is gone from %s", title, what, filepath.Base(l.File)),
			Hint:    fmt.Sprintf("%q writes it again; with --remove it is forgotten", "skills setup "+l.Client+" --"+l.Kind+scopeFlag(l.Scope))})
	}
	return found
}
