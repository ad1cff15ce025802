package setup

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
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

// NewListingPlan makes a client list skills by their names only, and those that are off not at all; without
// skills it lists all as before. skills tells by name whether a skill is off. What the user has decided about a
// skill is kept, and what was written for skills that are gone is removed. keep only keeps in step what was set
// before: what the user has removed since is not set again.
func NewListingPlan(env *Env, c client.Client, s client.Scope, skills map[string]bool, keep bool) (*Plan, error) {
	p, err := newPlanner(env, Request{Scope: s, Remove: len(skills) == 0})
	if err != nil {
		return nil, err
	}
	p.keep = keep
	p.add(p.listing(c, skills))
	p.finish()
	return p.plan, nil
}

// ListingsSet returns the scopes in which NewListingPlan has set the listing of a client, and the user has not
// removed all of it.
func ListingsSet(env *Env, c client.Client) (set []client.Scope, err error) {
	l := listingOf(c)
	if l == nil {
		return nil, nil
	}
	rec, err := readRecord(env.State)
	if err != nil {
		return nil, err
	}
	for _, s := range scopes {
		file := env.File(l.Files, s)
		ours := rec.Files[regular.Real(file)].listed(l)
		if file == "" || len(ours) == 0 {
			continue
		}
		tree, err := readTree(file, edit.JSON)
		now := overrides{Edit: &Edit{tree: tree}, of: l, ours: ours}
		if err != nil || slices.ContainsFunc(slices.Collect(maps.Keys(ours)), now.isOurs) { // what is wrong with the file is told by a plan
			set = append(set, s)
		}
	}
	return set, nil
}

func (p *planner) listing(c client.Client, skills map[string]bool) Change {
	settings := cmp.Or(listingOf(c), new(client.ListingSettings))
	ch, ed, ok := p.begin(c, Listing, settings.Files, edit.JSON)
	if !ok {
		return ch
	}
	ours := p.record.Files[ed.File].listed(settings)
	l := overrides{ed, settings, ours, p.keep}
	if len(skills) == 0 {
		if ch.Action = Absent; len(ours) == 0 {
			return ch
		}
		removed, err := l.remove(p.record, nil)
		switch {
		case err != nil:
			return settled(ch, Refused, err)
		case removed:
			ch.Action = Removed
		}
		return ch
	}
	return l.set(ch, p.record, skills)
}

// overrides are how a client lists single skills, in a file.
type overrides struct {
	*Edit
	of   *client.ListingSettings
	ours map[string]string // what we have written, by name
	keep bool              // what the user has removed of it is not written again
}

// listed returns what was written into a file about how a client lists skills, by name.
func (r *fileRecord) listed(l *client.ListingSettings) map[string]string {
	written := make(map[string]string)
	if r != nil {
		for _, name := range r.Overrides {
			written[name] = l.NameOnly
		}
		for _, name := range r.Off {
			written[name] = l.Hidden[0]
		}
	}
	return written
}

// value returns how a skill is listed.
func (l overrides) value(off bool) string {
	if off {
		return l.of.Hidden[0]
	}
	return l.of.NameOnly
}

// isOurs reports whether a skill is listed as we have written: if not, the user has decided anew.
func (l overrides) isOurs(name string) bool {
	value, ok := l.ours[name]
	return ok && edit.Lookup(l.tree, edit.Path{l.of.Overrides, name}) == value
}

func (l overrides) set(ch Change, rec *record, skills map[string]bool) Change {
	at := edit.Path{l.of.Overrides}
	var missing edit.Object
	l.overridden = make(map[string]string)
	changed, err := l.remove(rec, skills)
	if err != nil {
		return settled(ch, Updated, err)
	}
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		value := l.value(skills[name])
		is := edit.Lookup(l.tree, at.With(name))
		_, was := l.ours[name]
		switch {
		case is == nil && was && l.keep:
			l.left = append(l.left, name)
		case is == nil:
			missing = append(missing, edit.Member{Key: name, Value: value})
			l.overridden[name] = value
		case is != value && l.isOurs(name):
			if err := l.Edit.set(at.With(name), value); err != nil {
				return settled(ch, Updated, err)
			}
			l.overridden[name], changed = value, true
		}
	}
	switch {
	case len(missing) == 0 && !changed:
		return settled(ch, Unchanged, nil)
	case len(missing) == 0:
		return settled(ch, Updated, nil)
	}
	ch.Snippet = snippet(edit.JSON, at, missing)
	if !edit.Has(l.tree, at) {
		l.made = append(l.made, at)
		return settled(ch, Added, l.Edit.set(at, missing))
	}
	for _, m := range missing {
		if err := l.Edit.set(at.With(m.Key), m.Value); err != nil {
			return settled(ch, Updated, err)
		}
	}
	return settled(ch, Updated, nil)
}

// remove removes ours, but for some skills.
func (l overrides) remove(rec *record, except map[string]bool) (removed bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(l.ours)) {
		if _, stays := except[name]; stays || !l.isOurs(name) {
			continue
		}
		if err := l.Edit.remove(edit.Path{l.of.Overrides, name}, rec); err != nil {
			return removed, err
		}
		removed = true
	}
	return removed, nil
}

// noteListed notes in the record of a file how skills are listed after an edit.
func (ed *Edit) noteListed(r *fileRecord) {
	var only, off []string
	for _, c := range ed.clients {
		l := listingOf(c)
		if l == nil {
			continue
		}
		now := overrides{Edit: ed, of: l, ours: r.listed(l)}
		maps.Copy(now.ours, ed.overridden)
		for _, name := range slices.Sorted(maps.Keys(now.ours)) {
			switch {
			case !now.isOurs(name) && !slices.Contains(ed.left, name):
			case now.ours[name] == l.NameOnly:
				only = append(only, name)
			default:
				off = append(off, name)
			}
		}
	}
	r.Overrides, r.Off = only, off
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
	Off               bool   // the user has disabled it: no client need list it

	real string // Location without links, once somebody has asked, see below
}

// over reports whether the client leaves something out.
func (b budget) over() bool { return b.Needs > b.Lists }

// budgetsOf returns the budgets of a client for the skills that it lists itself. A client
// without a known bound has none.
func budgetsOf(env *Env, c client.Client, skills []Listed) []budget {
	if c.Listing == nil || c.Listing.Chars == 0 {
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
