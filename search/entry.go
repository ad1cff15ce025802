package search

import (
	"context"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Entry is what the catalog shows of a skill without reading it: level 1.
type Entry struct {
	skill.Meta        // as it was indexed
	ShadowedBy string // ID of the skill of the scope that has this name instead; "" means none
	Away       bool   // the source cannot be read now: the skill is listed, but not offered
	State      State  // why it is not offered to anybody; Offered for most
	Reason     string // what State follows from, such as "needs the command gh, which is not in PATH"; "" if it is Offered

	Requires []string // IDs of the skills of the scope that it requires
	Lacking  []string // names of the skills that it requires and the scope does not have
}

// Lookup returns the skill with an ID: a name, "source/name" or "source/folder". For
// a skill outside the agent's scope it returns a *NotFoundError, as for a skill that
// does not exist.
func (x *Searcher) Lookup(ctx context.Context, id string, a *Agent) (e Entry, err error) {
	err = x.read(ctx, a, func(v *snapshot.View, _ *snapshot.Scope) error {
		i, err := lookup(v, id)
		if err == nil {
			e = entryOf(v, i)
			x.setAvailable(ctx, v, &e)
		}
		return err
	})
	return e, err
}

// List returns the skills that the agent sees, sorted by name, also those of sources that
// are away. It includes copies that another skill of the scope shadows only if shadowed is
// set.
func (x *Searcher) List(ctx context.Context, a *Agent, shadowed bool) (list []Entry, err error) {
	err = x.read(ctx, a, func(v *snapshot.View, _ *snapshot.Scope) error {
		list = nil // read may call this function again
		for _, s := range v.Sorted(func(i int) bool { return shadowed || v.IsOffered(i) || v.IsAway(i) }) {
			e := entryOfDoc(v, s.I, s.Document)
			x.setAvailable(ctx, v, &e)
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// Pinned returns the pinned skills that the agent sees, in its order.
func (x *Searcher) Pinned(ctx context.Context, a *Agent) (list []Entry, err error) {
	err = x.read(ctx, a, func(v *snapshot.View, sc *snapshot.Scope) error {
		list = make([]Entry, len(sc.Pinned))
		for n, i := range sc.Pinned {
			list[n] = entryOf(v, i)
			x.setAvailable(ctx, v, &list[n])
		}
		return nil
	})
	return list, err
}

// Size returns how many skills are offered and how many SKILL.md files were found
// in all.
func (x *Searcher) Size(ctx context.Context) (offered, found int, err error) {
	s, err := x.sets.Current(ctx)
	if err != nil {
		return 0, 0, err
	}
	return s.Offered(), s.Found, nil
}

// entryOf returns the entry of skill i.
func entryOf(v *snapshot.View, i int) Entry { return entryOfDoc(v, i, v.Doc(i)) }

func entryOfDoc(v *snapshot.View, i int, d snapshot.Document) Entry {
	e := Entry{Meta: d.Meta, Away: v.IsAway(i)}
	e.setRequired(v, i)
	if !e.Away && !v.IsOffered(i) {
		if winner, ok := v.First(d.Key); ok {
			e.ShadowedBy = v.ID(winner)
		}
	}
	return e
}
