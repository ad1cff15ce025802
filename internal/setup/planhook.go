package setup

import (
	"cmp"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

// hasHook reports whether the hooks of a client are there in the wanted scope.
func (p *planner) hasHook(c client.Client) bool {
	ed, err := p.open(p.env.File(hookFiles(c), p.req.Scope), p.req.Scope, c.Name, hookFormatOf(c))
	return err == nil && len(p.env.handlers(ed.tree, c.Hook)) > 0
}

// hook plans the hooks of a client, whose MCP server was planned before.
func (p *planner) hook(c client.Client) Change {
	ch, ed, ok := p.begin(c, Hook, hookFiles(c), hookFormatOf(c))
	if c.Hook == nil {
		return ch
	}
	server := p.serverOf(c)
	if c.Hook.Script == "" { // a program is nothing to put into a file by hand
		ch.Snippet = snippet(edit.JSON, nil, p.env.hooksOf(c.Hook, server))
	}
	if !ok {
		return ch
	}
	ours := p.env.handlers(ed.tree, c.Hook)
	action := Unchanged
	for _, m := range c.Hook.Top {
		if len(ours) == 0 && !edit.Has(ed.tree, edit.Path{m.Key}) {
			if err := ed.set(edit.Path{m.Key}, m.Value); err != nil {
				return settled(ch, action, err)
			}
		}
	}
	for _, ev := range c.Hook.SetUp() {
		done, err := p.hookEvent(ed, c.Hook, ev, server)
		switch {
		case err != nil:
			return settled(ch, done, err)
		case done == Added && len(ours) > 0:
			action = Updated
		case done != Unchanged:
			action = done
		}
	}
	if c.Hook.Script != "" && len(ours) > 0 {
		// An edit renews the program around the commands, which may be of an older version.
		err := ed.set(ours[0].at.With(c.Hook.Lines[0]), p.env.hookLine(c.Hook, c.Hook.SetUp()[0], server))
		if err != nil {
			return settled(ch, action, err)
		}
		if action == Unchanged && string(ed.After) != string(ed.Before) {
			action = Updated
		}
	}
	return settled(ch, action, nil)
}

// serverOf returns the name of our MCP server at a client, "" for none; the
// wanted name comes first.
func (p *planner) serverOf(c client.Client) string {
	name := ""
	for _, s := range scopes {
		ed, err := p.open(p.env.File(c.MCP.Files, s), s, c.Name, formatOf(c.MCP.Format))
		if err != nil {
			continue
		}
		for _, r := range p.env.servers(ed.tree, c.MCP) {
			if r.Name == p.req.Name {
				return r.Name
			}
			name = cmp.Or(name, r.Name)
		}
	}
	return name
}

// hookEvent plans the handler of one event.
func (p *planner) hookEvent(ed *Edit, form *client.Hook, ev client.Event, server string) (string, error) {
	line := p.env.hookLine(form, ev, server)
	ed.commands = append(ed.commands, line)
	for _, h := range p.env.handlers(ed.tree, form) {
		if h.at[1] != ev.Name {
			continue
		}
		action := Unchanged
		for _, key := range form.Lines {
			was, _ := edit.Lookup(ed.tree, h.at.With(key)).(string)
			if was == "" || was == line || p.env.hookWords(was, form.Args()...) == nil {
				continue
			}
			action = Updated
			if err := ed.set(h.at.With(key), line); err != nil {
				return action, err
			}
		}
		if !form.Groups {
			return action, nil
		}
		group := h.at[:len(h.at)-2]
		others, _ := edit.Lookup(ed.tree, group.With("hooks")).([]any)
		was, _ := edit.Lookup(ed.tree, group.With("matcher")).(string)
		if was == "" || was == ev.Matches(server) || len(others) > 1 {
			return action, nil
		}
		return Updated, ed.set(group.With("matcher"), ev.Matches(server))
	}
	list, _ := edit.Lookup(ed.tree, edit.Path{"hooks", ev.Name}).([]any)
	return Added, ed.set(edit.Path{"hooks", ev.Name, len(list)}, p.env.handlerOf(form, ev, server))
}

// hookLine is the command of a hook. It does not tell the version, since Codex
// trusts a command by its text.
func (e *Env) hookLine(form *client.Hook, ev client.Event, server string) string {
	words := slices.Concat([]string{e.Program, "hook", cmp.Or(ev.Arg, form.Arg)}, e.Flags)
	if server != "" {
		words = append(words, "--mcp-server", server)
	}
	words = append(words, e.Server.flags()...)
	if e.OS == "windows" {
		return commandLine(form.Windows, words)
	}
	return commandLine(client.Posix, words)
}

// handlerOf is what stands in the list of an event.
func (e *Env) handlerOf(form *client.Hook, ev client.Event, server string) edit.Object {
	handler := form.Handler(e.OS, e.hookLine(form, ev, server))
	if !form.Groups {
		return handler
	}
	group := edit.Object{{Key: "hooks", Value: []any{handler}}}
	if matcher := ev.Matches(server); matcher != "" {
		group = append(edit.Object{{Key: "matcher", Value: matcher}}, group...)
	}
	return group
}

// hooksOf is a whole file with the hooks of a client.
func (e *Env) hooksOf(form *client.Hook, server string) edit.Object {
	var events edit.Object
	for _, ev := range form.SetUp() {
		events = append(events, edit.Member{Key: ev.Name, Value: []any{e.handlerOf(form, ev, server)}})
	}
	return append(slices.Clone(form.Top), edit.Member{Key: "hooks", Value: events})
}

func (p *planner) removeHook(c client.Client) Change {
	ch, ed, ok := p.begin(c, Hook, hookFiles(c), hookFormatOf(c))
	if !ok {
		return ch
	}
	ch.Action = Absent
	// From the end, so that the places of those before stay true.
	for _, h := range slices.Backward(p.env.handlers(ed.tree, c.Hook)) {
		at := h.at
		if c.Hook.Groups {
			list, _ := edit.Lookup(ed.tree, at[:len(at)-1]).([]any)
			if len(list) == 1 {
				at = at[:len(at)-2] // the group with its matcher
			}
		}
		if err := ed.remove(at, p.record); err != nil {
			return settled(ch, Refused, err)
		}
		ch.Action = Removed
	}
	return ch
}
