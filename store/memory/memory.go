// Package memory is an engine without files: a store.Store for tests. Its one rule: a
// catalog is copied to be changed, so readers never wait. It does not rank by text, and
// its catalogs are lost when the process ends.
package memory

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.Store = (*Store)(nil)

// A Store is a catalog in memory. New makes one.
type Store struct {
	reader
	present atomic.Pointer[catalog]
	writer  chan struct{} // holds a value while an Update runs
}

// New returns an empty catalog.
func New() *Store {
	s := &Store{writer: make(chan struct{}, 1)}
	s.reader = s.present.Load
	s.present.Store(&catalog{
		name:        strconv.FormatUint(rand.Uint64(), 16),
		generations: map[int64]int64{0: 0},
		sources:     make(map[int64]store.Source),
		skills:      make(map[int64]*kept),
		models:      make(map[string]map[string][]byte),
		changes:     make(map[subject]int64),
	})
	return s
}

// Ready implements store.Store: there is nothing to open.
func (s *Store) Ready(context.Context) error { return nil }

// Look implements store.Store.
func (s *Store) Look() string {
	c := s.present.Load()
	return fmt.Sprint(c.name, c.generation)
}

// Settle implements store.Store: there is nothing to do.
func (s *Store) Settle(ctx context.Context) (store.State, string, error) {
	look := s.Look()
	state, err := s.State(ctx)
	if s.Look() != look {
		look = ""
	}
	return state, look, err
}

// ReadOnly implements store.Store.
func (s *Store) ReadOnly() bool { return false }

// Close implements store.Store. It does nothing: a test may open its catalog again.
func (s *Store) Close() error { return nil }

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Reader) error) error {
	c, err := s.at(ctx)
	if err != nil {
		return err
	}
	return f(reader(func() *catalog { return c }))
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writer }()
	t := &tx{c: s.present.Load().clone()}
	if err := f(t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.settleNames()
	if t.changed {
		t.c.generation = store.Generation{Number: t.c.generation.Number + 1, Token: rand.Int64()}
		t.c.generations[t.c.generation.Number] = t.c.generation.Token
	}
	s.present.Store(t.c)
	return nil
}

// A catalog is one state of a Store. Once readers can see it, neither the catalog nor
// anything that its maps point to changes.
type catalog struct {
	name       string
	generation store.Generation
	sources    map[int64]store.Source
	skills     map[int64]*kept
	models     map[string]map[string][]byte // packed vectors by model and hash

	// generations are the tokens of the generations that Changes knows, by number;
	// changes maps each changed subject to the last generation that changed it.
	generations map[int64]int64
	changes     map[subject]int64

	newestSource, newestSkill int64 // the highest rows ever used
}

// A subject is something that changes: a skill, or its vectors by one model.
type subject struct {
	row     int64
	vectors bool
	model   string
}

// kept is what a catalog keeps about one SKILL.md.
type kept struct {
	store.Entry // without ID and Source
	source      int64
	stamp       string
	ranked      store.Ranked
	texts       [][]byte

	body, problems []byte // packed by store.Record.Pack
}

func (c *catalog) clone() *catalog {
	d := *c
	d.sources, d.skills, d.models = maps.Clone(c.sources), maps.Clone(c.skills), maps.Clone(c.models)
	d.generations, d.changes = maps.Clone(c.generations), maps.Clone(c.changes)
	for model, vectors := range c.models {
		d.models[model] = maps.Clone(vectors)
	}
	return &d
}
