package memorytest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/store"
)

// A tx implements store.Tx on a copy of the catalog, which nobody else sees.
type tx struct {
	c       *catalog
	changed bool // a reader sees a difference
}

// note makes Changes report s from the next generation on.
func (t *tx) note(s subject) {
	t.c.changes[s] = t.c.generation.Number + 1
	t.changed = true
}

func (t *tx) State() (store.State, error) { return t.c.state(), nil }

func (t *tx) PutSource(s store.Source) (int64, error) {
	t.changed = true
	for row, old := range t.c.sources {
		if old.Label == s.Label {
			s.Row, s.Walked, s.Identity = row, old.Walked, ""
			if s.Origin == "" {
				s.Origin, s.Repository = old.Origin, old.Repository
			}
			if s.Root == old.Root {
				s.Identity = old.Identity
			}
			t.c.sources[row] = s
			return row, nil
		}
	}
	t.c.newestSource++
	s.Row, s.Walked, s.Identity = t.c.newestSource, 0, ""
	t.c.sources[s.Row] = s
	return s.Row, nil
}

func (t *tx) DeleteSource(source int64) error {
	for row, k := range t.c.skills {
		if k.source == source {
			t.deleteSkill(row)
		}
	}
	_, ok := t.c.sources[source]
	t.changed = t.changed || ok
	delete(t.c.sources, source)
	return nil
}

func (t *tx) Walked(source int64, at int64, identity string) error {
	if s, ok := t.c.sources[source]; ok {
		t.changed = t.changed || s.Walked <= 0
		s.Walked, s.Identity = at, identity
		t.c.sources[source] = s
	}
	return nil
}

func (t *tx) PutSkill(source int64, r *store.Record) (int64, error) {
	if _, ok := t.c.sources[source]; !ok {
		return 0, fmt.Errorf("%s: there is no source %d", r.Path, source)
	}
	if r.Body == nil {
		if err := r.Pack(); err != nil {
			return 0, fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	k := &kept{source: source, stamp: r.Stamp, problems: r.Problems}
	k.Meta, k.NameKey, k.Refused = r.Skill.Meta, r.NameKey, r.Refused
	k.Path = r.Path
	if !r.Refused {
		k.body, k.ranked = r.Body, r.Ranked
		for i, hash := range r.Ordinals() {
			k.texts = append(k.texts, store.Text{Ordinal: i, Hash: hash})
		}
	}
	for row, old := range t.c.skills {
		if old.source == source && old.Path == r.Path {
			k.Row = row
		}
	}
	if k.Row == 0 {
		t.c.newestSkill++
		k.Row = t.c.newestSkill
	}
	t.c.skills[k.Row] = k
	t.note(subject{row: k.Row})
	return k.Row, nil
}

// edit applies f to a copy of a skill.
func (t *tx) edit(row int64, f func(*kept)) {
	if old, ok := t.c.skills[row]; ok {
		k := *old
		f(&k)
		t.c.skills[row] = &k
	}
}

func (t *tx) PutStamp(row int64, stamp string) error {
	t.edit(row, func(k *kept) { k.stamp = stamp })
	return nil
}

func (t *tx) ForgetStamps(source int64) error {
	for row, k := range t.c.skills {
		if k.source == source {
			t.edit(row, func(k *kept) { k.stamp, k.Digest = "", "" })
			t.note(subject{row: row})
		}
	}
	return nil
}

func (t *tx) DeleteSkill(row int64) error {
	if _, ok := t.c.skills[row]; ok {
		t.deleteSkill(row)
	}
	return nil
}

func (t *tx) deleteSkill(row int64) {
	delete(t.c.skills, row)
	delete(t.c.files, row)
	t.note(subject{row: row})
}

// settleNames settles which skill of each name is offered.
func (t *tx) settleNames() {
	if !t.changed {
		return
	}
	type namespace struct {
		key   string
		apart int64 // row of the source, 0 for all that are not apart
	}
	type text struct{ key, digest string }
	first, copies := make(map[namespace]int64), make(map[text]int64)
	for _, k := range t.c.find(nil) {
		if k.Refused {
			continue
		}
		own := namespace{key: k.NameKey}
		if t.c.sources[k.source].Apart {
			own.apart = k.source
		}
		if first[own] == 0 {
			first[own] = k.Row
			if same := (text{k.NameKey, k.Digest}); k.Digest != "" {
				copies[same] = cmp.Or(copies[same], k.Row)
				first[own] = copies[same]
			}
		}
		by := first[own]
		if k.Row == by {
			by = 0
		}
		if k.ShadowedBy != by {
			t.edit(k.Row, func(k *kept) { k.ShadowedBy = by })
			t.note(subject{row: k.Row})
		}
	}
}

func (t *tx) PutVectors(model string, hashes, vectors [][]byte) error {
	if len(hashes) == 0 {
		return nil
	}
	t.changed = true
	if t.c.models[model] == nil {
		t.c.models[model] = make(map[string][]byte)
	}
	differ := make(map[string]bool)
	for i, hash := range hashes {
		packed := vectors[i]
		if old, ok := t.c.models[model][string(hash)]; !ok || !bytes.Equal(old, packed) {
			t.c.models[model][string(hash)], differ[string(hash)] = packed, true
		}
	}
	for row, k := range t.c.skills {
		if slices.ContainsFunc(k.texts, func(x store.Text) bool { return differ[string(x.Hash)] }) {
			t.note(subject{row, true, model})
		}
	}
	return nil
}

func (t *tx) PruneVectors() error {
	used := make(map[string]bool)
	for _, k := range t.c.skills {
		for _, x := range k.texts {
			used[string(x.Hash)] = true
		}
	}
	for _, vectors := range t.c.models {
		maps.DeleteFunc(vectors, func(hash string, _ []byte) bool { return !used[hash] })
	}
	return nil
}

func (t *tx) DropModel(name string) error {
	if _, ok := t.c.models[name]; ok {
		delete(t.c.models, name)
		clear(t.c.generations) // the vectors of all skills are gone
		t.changed = true
	}
	return nil
}

func (t *tx) Forget(until store.Generation) error {
	maps.DeleteFunc(t.c.changes, func(_ subject, generation int64) bool { return generation <= until.Number })
	maps.DeleteFunc(t.c.generations, func(number, _ int64) bool { return number < until.Number })
	return nil
}
