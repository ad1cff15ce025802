package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Entry is what the catalog shows of a skill without reading it: level 1.
type Entry struct {
	skill.Meta          // as it was indexed
	ShadowedBy   string // ID of the skill of the scope that has this name instead; "" means none
	ShadowedFrom string // label of the source of that skill
	Away         bool   // the source cannot be read now: the skill is listed, but not offered

	State  State  // why it is not offered to anybody; Offered for most
	Reason string // for State, such as "needs the command gh, which is not in PATH"; for the owner of the catalog, not for agents
	// Switched says in which clients a person has switched it off, as parts of a sentence. Only List,
	// Lookup and Why set it, for the owner of the catalog.
	Switched []string
	// Sealed is the state that the skill gets as soon as its files no longer have Digest: then
	// nobody is served any of them, see Verify. Offered means that they may change. Only
	// Lookup and Pinned set it.
	Sealed State

	Requires []string // IDs of the skills of the scope that it requires
	Lacking  []string // names of the skills that it requires and the scope does not have
}

// Status returns the state of the skill as people read it, "offered" for most, and the
// reason if it is another one.
func (e *Entry) Status() (status, reason string) {
	switch {
	case e.State != Offered && e.State != Reserved:
		return string(e.State), e.Reason
	case e.Away:
		return "away", "its source cannot be read now"
	case e.ShadowedBy != "":
		return "shadowed", e.ShadowedBy + " of " + e.ShadowedFrom + " has the same name and comes first"
	case e.State == Reserved:
		return string(e.State), strings.Join(append([]string{e.Reason}, e.Switched...), "; ")
	case e.InvokedBy == skill.InvokedByModel:
		return "offered", strings.Join(append([]string{"only a model starts it: no client lists it for the user"}, e.Switched...), "; ")
	}
	return "offered", strings.Join(e.Switched, "; ")
}

// Verify returns a *HeldError if the files of the skill, which now have this digest, must not
// be served.
func (e *Entry) Verify(digest string) error {
	if e.Sealed == Offered || digest == e.Digest {
		return nil
	}
	return &HeldError{e.ID, e.Sealed, reasonFor(e.Sealed, e.Name), &NotFoundError{ID: e.ID}}
}

// Lookup returns the skill with an ID: a name, "source/name", "source/folder", or
// "plugin:name" for a skill of a plugin. For
// a skill outside the agent's scope it returns a *NotFoundError, as for a skill that
// does not exist. A skill that is held back is a *HeldError, unless Agent.Held is set; for
// an agent it says as much as HeldError.ForAgent.
func (x *directory) Lookup(ctx context.Context, id string, a *Agent) (e Entry, err error) {
	err = x.scopes.readHeld(ctx, a, func(v *snapshot.View, h *held) error {
		i, err := x.scopes.lookup(v, id)
		if err == nil {
			e = entryOf(v, i)
			x.setAvailable(ctx, v, &e)
			h.setSwitches(&e, i)
			if a == nil || !a.Held {
				e.Sealed = x.scopes.policy.Load().sealed(e.Source)
			}
			return nil
		}
		if missing, ok := errors.AsType[*NotFoundError](err); ok && h != nil {
			e, err = h.lookup(v, id, a, missing)
		}
		return err
	})
	return e, err
}

// lookup is Lookup for a skill that the view lacks.
func (h *held) lookup(v *snapshot.View, id string, a *Agent, missing *NotFoundError) (Entry, error) {
	all, err := scopeOf(v, a, h.onlyPrivate)
	if err != nil {
		return Entry{}, err
	}
	w := v.In(all)
	i, err := lookup(w, id)
	if several, ok := errors.AsType[*NotFoundError](err); ok && len(several.Several) > 0 && (a == nil || a.Held) {
		return Entry{}, err
	}
	if err != nil || !h.has(i) {
		return Entry{}, missing
	}
	e := h.entry(v, i, w.Doc(i))
	if a != nil && a.Held {
		return e, nil
	}
	held := &HeldError{e.ID, e.State, e.Reason, missing}
	if a != nil {
		return Entry{}, held.ForAgent()
	}
	return Entry{}, held
}

// entry returns the entry of a skill that is held back. Its ID is its name, unless another
// skill of the view has that.
func (h *held) entry(v *snapshot.View, i int, d snapshot.Document) Entry {
	e := Entry{Meta: d.Meta}
	e.State, e.Reason = h.why(i, &d)
	if _, taken := v.Names().First(d.Key); taken && e.ID == e.Name {
		e.ID = e.Source + "/" + e.Dir()
	}
	return e
}

// ListOptions say what List returns besides the offered skills. A nil *ListOptions is all
// zero values.
type ListOptions struct {
	Shadowed bool // also copies that another skill of the scope shadows
	Held     bool // also skills that are held back, see Policy; for the owner of the catalog
	Person   bool // a person reads the list: also skills that only the user starts, see Reserved; Held implies it
}

// List returns the skills that the agent sees, sorted by name, also those of sources that
// are away. o may be nil.
func (x *directory) List(ctx context.Context, a *Agent, o *ListOptions) (list []Entry, err error) {
	o = cmp.Or(o, new(ListOptions))
	err = x.scopes.readHeld(ctx, a, func(v *snapshot.View, h *held) error {
		all := v
		if o.Held && h != nil {
			sc, err := scopeOf(v, a, h.onlyPrivate)
			if err != nil {
				return err
			}
			all = v.In(sc)
		}
		show := v.Scope.Offered.Or(v.Scope.Away)
		switch {
		case o.Shadowed:
			show = all.Scope.In
		case o.Held && h != nil:
			show = show.Or(all.Scope.In.And(h.all))
		}
		list = nil // readHeld may call this function again
		if !o.Person && !o.Held {
			show = show.AndNot(v.Scope.Reserved)
		}
		for _, s := range all.Names().Sorted(show) {
			if h.has(s.I) {
				list = append(list, h.entry(v, s.I, s.Document))
				continue
			}
			s.ID = v.ID(s.I) // all has another skill of that name, perhaps
			e := entryOfDoc(v, s.I, s.Document)
			x.setAvailable(ctx, v, &e)
			h.setSwitches(&e, s.I)
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// Pinned returns the pinned skills that the agent sees, in its order.
func (x *directory) Pinned(ctx context.Context, a *Agent) (list []Entry, err error) {
	err = x.scopes.read(ctx, a, func(v *snapshot.View) error {
		list = make([]Entry, len(v.Scope.Pinned))
		for n, i := range v.Scope.Pinned {
			list[n] = entryOf(v, i)
			x.setAvailable(ctx, v, &list[n])
			list[n].Sealed = x.scopes.policy.Load().sealed(list[n].Source)
		}
		return nil
	})
	return list, err
}

// Count returns how many skills the agent is offered under their names, also those that are
// unavailable. It reads no skill.
func (x *directory) Count(ctx context.Context, a *Agent) (n int, err error) {
	err = x.scopes.read(ctx, a, func(v *snapshot.View) error {
		n = v.ForModel(nil).Visible
		return nil
	})
	return n, err
}

// Available returns how many skills the agent is offered that have what they need. It reads
// what all of them need, so that it takes longer than Count.
func (x *directory) Available(ctx context.Context, a *Agent) (n int, err error) {
	err = x.scopes.read(ctx, a, func(v *snapshot.View) error {
		n = 0 // read may call this function again
		for i := range v.ForModel(nil).Offered.All() {
			d := v.Doc(i)
			e := Entry{Meta: d.Meta}
			if !d.Needs.Empty() {
				x.setAvailable(ctx, v, &e)
			}
			if e.State == Offered {
				n++
			}
		}
		return v.Err()
	})
	return n, err
}

// Size returns how many skills are offered and how many SKILL.md files were found
// in all.
func (x *directory) Size(ctx context.Context) (offered, found int, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		offered, found = v.ForModel(nil).Visible, v.Set.Found
		return nil
	})
	return offered, found, err
}

// A SourceSize says how many skills a source has.
type SourceSize struct {
	Source string // its label
	Skills int    // that can be used, also those that are not offered
	Away   bool   // it cannot be read now
}

// SourceSizes returns the sizes of the sources of the catalog. It reads no skill.
func (x *directory) SourceSizes(ctx context.Context) (sizes []SourceSize, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		sizes = make([]SourceSize, len(v.Set.Sources)) // read may call this function again
		for i, s := range v.Set.Sources {
			sizes[i] = SourceSize{Source: s.Label, Skills: v.Source(s.Label).Count(), Away: s.Away}
		}
		return v.Err()
	})
	return sizes, err
}

// entryOf returns the entry of skill i.
func entryOf(v *snapshot.View, i int) Entry { return entryOfDoc(v, i, v.Doc(i)) }

func entryOfDoc(v *snapshot.View, i int, d snapshot.Document) Entry {
	e := Entry{Meta: d.Meta, Away: v.Scope.Away.Has(i)}
	if v.Scope.Reserved.Has(i) {
		e.State, e.Reason = Reserved, reasonReserved(e.Name)
	}
	e.setRequired(v, i)
	if !e.Away && !v.Scope.Offered.Has(i) {
		if winner, ok := v.Names().Winner(&d); ok {
			e.ShadowedBy, e.ShadowedFrom = v.ID(winner), v.Doc(winner).Source
		}
	}
	return e
}

// Filter returns the entries from the source with this label and with this tag,
// without regard to case; "" means any. A label or a tag that no entry has is an
// error that lists those that there are.
func Filter(entries []Entry, source, tag string) ([]Entry, error) {
	entries, err := keep(entries, "source", source, func(e Entry) []string { return []string{e.Source} })
	if err != nil {
		return nil, err
	}
	return keep(entries, "tag", tag, func(e Entry) []string { return e.Tags })
}

// keep returns the entries for which of returns a text like want.
func keep(entries []Entry, kind, want string, of func(Entry) []string) ([]Entry, error) {
	if want == "" {
		return entries, nil
	}
	var kept []Entry
	var known []string
	for _, e := range entries {
		known = append(known, of(e)...)
		if slices.ContainsFunc(of(e), func(s string) bool { return words.SameName(s, want) }) {
			kept = append(kept, e)
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if similar := words.Similar(want, known); len(similar) > 0 {
		known = similar
	}
	if len(known) == 0 {
		return nil, errors.New("no skill has a " + kind)
	}
	return nil, fmt.Errorf("no skill with %s %q; %s", kind, want, words.ThereAre(known))
}
