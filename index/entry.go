package index

import (
	"context"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// An Entry is what the catalog shows of a skill without reading it: level 1.
type Entry struct {
	skill.Meta        // as it was indexed
	ShadowedBy string // ID of the skill that has its name, or ""
}

// Lookup returns the skill of that ID: a name, "source/name" or
// "source/folder". One outside the agent's scope does not exist for it: the
// error is a *NotFoundError either way.
func (x *Index) Lookup(ctx context.Context, id string, a *Agent) (e Entry, err error) {
	err = x.read(ctx, a, func(in *reading, sc *scope) error {
		i, err := in.lookup(id, sc.allowed)
		if err == nil {
			e = in.entry(i)
		}
		return err
	})
	return e, err
}

// List returns the skills that the agent sees, by name; shadowed copies only
// when they are asked for.
func (x *Index) List(ctx context.Context, a *Agent, shadowed bool) (list []Entry, err error) {
	err = x.read(ctx, a, func(in *reading, sc *scope) error {
		list = nil // of an attempt before
		for _, s := range in.sorted(sc.allowed) {
			if offered := in.offered(s.i); offered || shadowed {
				list = append(list, in.entryOf(s.Document, offered))
			}
		}
		return nil
	})
	return list, err
}

// Pinned returns the skills that the agent always has, in its order.
func (x *Index) Pinned(ctx context.Context, a *Agent) (list []Entry, err error) {
	err = x.read(ctx, a, func(in *reading, sc *scope) error {
		list = make([]Entry, len(sc.pinned))
		for n, i := range sc.pinned {
			list[n] = in.entry(i)
		}
		return nil
	})
	return list, err
}

// Files returns the manifest of a skill as it was indexed.
func (x *Index) Files(ctx context.Context, e Entry) ([]skill.File, error) {
	row, ok, err := x.row(ctx, e)
	if err != nil || !ok {
		return nil, err
	}
	return x.db.Files(ctx, row)
}

// row returns the row ID of an entry; ok is false when it is gone.
func (x *Index) row(ctx context.Context, e Entry) (row int64, ok bool, err error) {
	err = x.read(ctx, nil, func(in *reading, sc *scope) error {
		i, err := in.lookup(e.ID, sc.allowed)
		if ok = err == nil; ok {
			row = in.facts(i).Row
		}
		return nil // gone is not a failure
	})
	return row, ok, err
}

// Problems returns what is wrong with the skills of the catalog, by source and
// path.
func (x *Index) Problems(ctx context.Context) ([]store.Reported, error) {
	return x.db.Problems(ctx)
}

// Size returns how many skills are offered and how many SKILL.md files were
// found in all.
func (x *Index) Size(ctx context.Context) (offered, found int, err error) {
	v, err := x.current(ctx)
	if err != nil {
		return 0, 0, err
	}
	for n := range v.segments {
		offered += v.segments[n].offered.Count()
	}
	return offered, v.Found, nil
}
