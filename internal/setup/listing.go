package setup

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

// listingOf returns the settings that make a client list skills by their names only; nil
// means that the client cannot do so.
func listingOf(c client.Client) *client.ListingSettings {
	if c.Listing == nil {
		return nil
	}
	return c.Listing.Settings
}

// ListingClients returns the names of the clients that can list skills by their names
// only.
func ListingClients() []string {
	var names []string
	for _, c := range client.All() {
		if listingOf(c) != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// NewListingPlan makes a client list skills by their names only, or as before.
// What the user has decided about a skill is kept.
func NewListingPlan(env *Env, c client.Client, s client.Scope, names []string, on bool) (*Plan, error) {
	p, err := newPlanner(env, Request{Scope: s, Remove: on})
	if err != nil {
		return nil, err
	}
	p.add(p.listing(c, names, on))
	p.finish()
	return p.plan, nil
}

func (p *planner) listing(c client.Client, names []string, on bool) Change {
	settings := cmp.Or(listingOf(c), new(client.ListingSettings))
	ch, ed, ok := p.begin(c, Listing, settings.Files, edit.JSON)
	switch {
	case !ok:
		return ch
	case on:
		return p.listInFull(ch, ed, settings)
	}
	return listNames(ch, ed, settings, names)
}

func listNames(ch Change, ed *Edit, l *client.ListingSettings, names []string) Change {
	at := edit.Path{l.Overrides}
	var missing edit.Object
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !edit.Has(ed.tree, at.With(name)) {
			missing = append(missing, edit.Member{Key: name, Value: l.NameOnly})
			ed.overridden = append(ed.overridden, name)
		}
	}
	if len(missing) == 0 {
		return settled(ch, Unchanged, nil)
	}
	ch.Snippet = snippet(edit.JSON, at, missing)
	if !edit.Has(ed.tree, at) {
		ed.made = append(ed.made, at)
		return settled(ch, Added, ed.set(at, missing))
	}
	for _, m := range missing {
		if err := ed.set(at.With(m.Key), l.NameOnly); err != nil {
			return settled(ch, Updated, err)
		}
	}
	return settled(ch, Updated, nil)
}

func (p *planner) listInFull(ch Change, ed *Edit, l *client.ListingSettings) Change {
	ch.Action = Absent
	r := p.record.Files[ed.File]
	if r == nil {
		return ch
	}
	for _, name := range r.Overrides {
		at := edit.Path{l.Overrides, name}
		if edit.Lookup(ed.tree, at) != l.NameOnly { // the user has decided anew
			continue
		}
		if err := ed.remove(at, p.record); err != nil {
			return settled(ch, Refused, err)
		}
		ch.Action = Removed
	}
	return ch
}

// overrides returns what the record says of the listing after an edit.
func (ed *Edit) overrides(before []string) []string {
	var now []string
	for _, c := range ed.clients {
		l := listingOf(c)
		if l == nil {
			continue
		}
		for _, name := range slices.Concat(before, ed.overridden) {
			if edit.Lookup(ed.tree, edit.Path{l.Overrides, name}) == l.NameOnly && !slices.Contains(now, name) {
				now = append(now, name)
			}
		}
	}
	return now
}

// ListedWhole returns how many skills in the user's folders of a client it lists with descriptions, how
// many characters that takes, and how many if it listed their names only. All are 0 for a client
// that cannot list names only.
func ListedWhole(env *Env, c client.Client, skills []Listed) (n, chars, names int) {
	if listingOf(c) == nil {
		return 0, 0, 0
	}
	l, listed := tuned(env, *c.Listing, below(env.SkillDirs(c, client.User), skills))
	for i, s := range listed {
		if s.Description != "" {
			n++
		}
		listed[i] = Listed{Name: s.Name}
		chars += charsOf(l, []Listed{s})
	}
	return n, chars, charsOf(l, listed)
}

// A budget compares the room in a client's listing with what its skills need.
type budget struct {
	Skills int    // number of skills
	Needs  int    // what all skills need, in Unit
	Names  int    // what the names alone need; 0 means that the client cannot list only names
	Lists  int    // the room, in Unit
	Unit   string // "characters" or "skills"
}

// A Listed skill is one in a folder that a client lists itself.
type Listed struct {
	Name, Description string
	Location          string // of its SKILL.md
}

// over reports whether the client leaves something out.
func (b budget) over() bool { return b.Needs > b.Lists }

// budgetsOf returns the budgets of a client for the skills that it lists itself. A client
// without a known listing has none.
func budgetsOf(env *Env, c client.Client, skills []Listed) []budget {
	if c.Listing == nil {
		return nil
	}
	l, listed := tuned(env, *c.Listing, skills)
	chars := budget{Skills: len(skills), Needs: charsOf(l, listed), Lists: l.Chars, Unit: "characters"}
	if l.Settings != nil {
		names := make([]Listed, len(listed))
		for i, s := range listed {
			names[i].Name = s.Name
		}
		chars.Names = charsOf(l, names)
	}
	budgets := []budget{chars}
	if l.Skills > 0 {
		budgets = append(budgets, budget{Skills: len(skills), Needs: len(skills), Lists: l.Skills, Unit: "skills"})
	}
	return budgets
}

// charsOf adds up what listing skills takes.
func charsOf(l client.Listing, skills []Listed) int {
	total := 0
	for _, s := range skills {
		n := len([]rune(s.Description))
		if l.Cut > 0 {
			n = min(n, l.Cut)
		}
		total += l.Overhead + len([]rune(s.Name)) + n
	}
	return total
}

// tuned returns how a client lists skills with the settings of its user, and
// which of them.
func tuned(env *Env, l client.Listing, skills []Listed) (client.Listing, []Listed) {
	set := l.Settings
	if set == nil {
		return l, skills
	}
	var fraction float64
	overrides := make(map[string]any)
	for _, at := range set.Read {
		tree, err := readTree(at(&env.Machine), edit.JSON)
		if err != nil {
			continue
		}
		if v, ok := edit.Lookup(tree, edit.Path{set.Fraction}).(edit.Number); ok {
			_ = json.Unmarshal([]byte(v), &fraction)
		}
		if v, ok := edit.Lookup(tree, edit.Path{set.Cut}).(edit.Number); ok {
			_ = json.Unmarshal([]byte(v), &l.Cut)
		}
		m, _ := edit.Lookup(tree, edit.Path{set.Overrides}).(map[string]any)
		maps.Copy(overrides, m)
	}
	var chars int
	_ = json.Unmarshal([]byte(env.Getenv(set.CharsVar)), &chars)
	switch {
	case chars > 0:
		l.Chars, l.Tokens = chars, 0
	case fraction > 0:
		l.Chars = int(fraction * float64(set.Context))
	}
	var listed []Listed
	for _, s := range skills {
		how, _ := overrides[s.Name].(string)
		switch {
		case how == set.NameOnly:
			listed = append(listed, Listed{Name: s.Name})
		case !slices.Contains(set.Hidden, how):
			listed = append(listed, s)
		}
	}
	return l, listed
}
