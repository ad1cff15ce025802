package index

import (
	"context"
	"path"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// An Entry is what the catalog shows of a skill without reading it: level 1.
type Entry struct {
	ID          string // the name, or "source/folder" of a shadowed copy
	Source      string // label
	Dir         string // its folder in the source, slash-separated
	File        string // base name of its instructions
	Location    string // where the instructions can be opened
	Name        string
	Description string
	Tags        []string
	Requires    []string
	Tokens      int    // of the body, estimated
	Digest      string // when it was indexed
	ShadowedBy  string // ID of the skill that has its name, or ""
}

// entry returns entry i as the outside sees it.
func (s *snapshot) entry(i int) Entry {
	e := &s.entries[i]
	out := Entry{
		ID: e.Ref(), Source: e.Source, Dir: path.Dir(e.Path), File: path.Base(e.Path), Location: e.Location,
		Name: e.Name, Description: e.Description, Tags: e.Tags, Requires: e.Requires,
		Tokens: e.Tokens, Digest: e.Digest,
	}
	if winner, ok := s.byRow[e.ShadowedBy]; ok && e.ShadowedBy != 0 {
		out.ShadowedBy = s.entries[winner].Ref()
	}
	return out
}

// Lookup returns the skill of that ID: a name, "source/name" or
// "source/folder". One outside the agent's scope does not exist for it: the
// error is a *NotFoundError either way.
func (x *Index) Lookup(ctx context.Context, id string, a *Agent) (Entry, error) {
	snap, sc, err := x.view(ctx, a)
	if err != nil {
		return Entry{}, err
	}
	i, err := snap.lookup(id, sc.allowed)
	if err != nil {
		return Entry{}, err
	}
	return snap.entry(i), nil
}

// List returns the skills that the agent sees, by name; shadowed copies only
// when they are asked for.
func (x *Index) List(ctx context.Context, a *Agent, shadowed bool) ([]Entry, error) {
	snap, sc, err := x.view(ctx, a)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for i := range snap.entries {
		e := &snap.entries[i]
		if sc.allowed(i) && !e.Refused && (e.Offered() || shadowed) {
			list = append(list, snap.entry(i))
		}
	}
	return list, nil
}

// Pinned returns the skills that the agent always has, in its order.
func (x *Index) Pinned(ctx context.Context, a *Agent) ([]Entry, error) {
	snap, sc, err := x.view(ctx, a)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(sc.pinned))
	for n, i := range sc.pinned {
		list[n] = snap.entry(i)
	}
	return list, nil
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
func (x *Index) row(ctx context.Context, e Entry) (int64, bool, error) {
	snap, err := x.snapshot(ctx)
	if err != nil {
		return 0, false, err
	}
	i, err := snap.lookup(e.ID, func(int) bool { return true })
	if err != nil {
		return 0, false, nil // gone is not a failure
	}
	return snap.entries[i].ID, true, nil
}

// Problems returns what is wrong with the skills of the catalog, by source and
// path.
func (x *Index) Problems(ctx context.Context) ([]store.Reported, error) {
	return x.db.Problems(ctx)
}

// Size returns how many skills are offered and how many SKILL.md files were
// found in all.
func (x *Index) Size(ctx context.Context) (offered, found int, err error) {
	snap, err := x.snapshot(ctx)
	if err != nil {
		return 0, 0, err
	}
	return len(snap.byName), len(snap.entries), nil
}
