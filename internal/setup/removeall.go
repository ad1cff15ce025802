package setup

import (
	"fmt"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// NewRemovalPlan plans to take everything back: all entries of ours in the settings of all
// clients, for the user and the project, and in all other files that the record remembers,
// such as those of other projects.
func NewRemovalPlan(env *Env) (*Plan, error) {
	p, err := newPlanner(env, Request{Remove: true})
	if err != nil {
		return nil, err
	}
	all := Scan(env)
	seen := make(map[string]bool)
	for _, st := range all {
		for _, r := range st.Registrations {
			seen[regular.Real(r.File)] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(p.record.Files)) {
		if !seen[file] {
			all = append(all, env.remembered(file)...)
		}
	}
	for _, st := range all {
		for _, r := range st.Registrations {
			p.req.Clients = append(p.req.Clients, in(st.Client, r.File)) // whose entries a file may have
		}
	}
	for _, st := range all {
		for _, r := range st.Registrations {
			p.takeBack(st.Client, r)
		}
	}
	p.listAllInFull()
	p.finish()
	return p.plan, nil
}

// takeBack plans to remove one entry.
func (p *planner) takeBack(c client.Client, r Registration) {
	p.req.Scope, p.req.Name = r.Scope, r.Name
	switch {
	case p.leadsAway(c, r.Kind, r.File):
	case r.Kind == MCP:
		p.add(p.mcp(in(c, r.File)))
	default:
		p.add(p.removeHook(in(c, r.File)))
	}
}

// leadsAway refuses the change of a file that has become a link, or lies behind one, since
// it was written: the record has real paths.
func (p *planner) leadsAway(c client.Client, kind, file string) bool {
	real := regular.Real(file)
	if p.record.Files[file] == nil || real == file {
		return false
	}
	p.add(Change{Client: c.Name, Kind: kind, Scope: p.req.Scope, File: file, Action: Refused,
		Message: fmt.Sprintf("%s leads to %s now; take the entry out by hand", file, real)})
	return true
}

// listAllInFull plans that clients list all skills as before.
func (p *planner) listAllInFull() {
	for _, file := range slices.Sorted(maps.Keys(p.record.Files)) {
		for _, c := range client.All() {
			l := listingOf(c)
			if l == nil || len(p.record.Files[file].listed(l)) == 0 {
				continue
			}
			if p.req.Scope = client.Project; regular.Real(p.env.File(l.Files, client.User)) == file {
				p.req.Scope = client.User
			}
			if !p.leadsAway(c, Listing, file) {
				p.add(p.listing(in(c, file), nil))
			}
		}
	}
}

// in returns a client all of whose settings are in one file.
func in(c client.Client, file string) client.Client {
	at := []client.Path{func(*client.Machine) string { return file }}
	places := client.Places{User: at, Project: at}
	c.MCP.Files = places
	if c.Hook != nil {
		hook := *c.Hook
		hook.Files, hook.Also = places, client.Places{}
		c.Hook = &hook
	}
	if listingOf(c) != nil {
		listing, settings := *c.Listing, *c.Listing.Settings
		settings.Files = places
		listing.Settings = &settings
		c.Listing = &listing
	}
	return c
}

// remembered returns our entries in a file that was written once, by the clients that have
// such entries. The place alone does not tell: it may belong to another project, or to a
// folder that a variable named.
func (e *Env) remembered(file string) []Status {
	var found []Status
	kinds := make(map[string]bool)
	for _, c := range client.All() {
		st := Status{Client: c}
		for _, set := range e.settingsOf(in(c, file)) {
			tree, err := readTree(file, set.format)
			if err != nil {
				continue
			}
			for _, r := range set.find(tree) {
				if !kinds[r.Kind+r.Name] { // several clients have the same form
					kinds[r.Kind+r.Name] = true
					r.Scope, r.File = client.Project, file
					st.Registrations = append(st.Registrations, r)
				}
			}
		}
		if len(st.Registrations) > 0 {
			found = append(found, st)
		}
	}
	if tree, err := readTree(file, edit.JSON); err == nil && len(found) == 0 {
		found = append(found, e.servedAt(file, tree, nil)...)
	}
	return found
}

// servedAt returns our servers in the settings of unknown clients, below a path in a tree.
func (e *Env) servedAt(file string, tree any, at []string) []Status {
	const deepest = 4
	m, _ := tree.(map[string]any)
	if len(at) > deepest {
		return nil
	}
	var found []Status
	st := Status{Client: client.NewGeneric(file, "")}
	st.Client.MCP.Key = at
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if words := e.mcpWords(m[name]); words != nil && len(at) > 0 {
			st.Registrations = append(st.Registrations, Registration{Kind: MCP, Scope: client.User, File: file, Name: name, Words: words})
			continue
		}
		found = append(found, e.servedAt(file, m[name], append(slices.Clone(at), name))...)
	}
	if len(st.Registrations) > 0 {
		found = append(found, st)
	}
	return found
}
