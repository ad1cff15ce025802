// Package memorytest is an engine for tests, which keeps a catalog in memory. Its Stores of one
// catalog stand for the processes of several machines. Its one rule: a catalog is copied to
// be changed, so readers never wait. It does not rank by text.
package memorytest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

var (
	_ store.Store    = (*Store)(nil)
	_ store.Joiner   = (*Store)(nil)
	_ store.Files    = (*Store)(nil)
	_ store.Bases    = (*Store)(nil)
	_ store.Watcher  = (*Store)(nil)
	_ store.Tokens   = (*Store)(nil)
	_ store.UsageLog = (*Store)(nil)
	_ store.FileTx   = (*tx)(nil)

	_ store.Proposals = (*Store)(nil)
)

// A Store is a catalog in memory, as one process has it open. New makes one.
type Store struct {
	reader
	*shared
	readOnly bool
	broken   atomic.Pointer[error] // what Break was called with
	breaks   *pulse                // beats when Break is called
}

// shared is what all Stores of a catalog share.
type shared struct {
	present atomic.Pointer[catalog]
	writer  chan struct{} // holds a value while somebody writes
	commits *pulse        // beats after each commit
	joined  bool          // it belongs to a transaction, whose commit makes the generation
}

// New returns an empty catalog.
func New() *Store {
	return open(&catalog{
		name:        strconv.FormatUint(rand.Uint64(), 16),
		generations: map[int64]int64{0: 0},
		sources:     make(map[int64]store.Source),
		skills:      make(map[int64]*kept),
		models:      make(map[string]map[string][]byte),
		changes:     make(map[subject]int64),
		files:       make(map[int64][]skill.File),
		contents:    make(map[string][]byte),
		bases:       make(map[string]base),
		tokens:      make(map[string]store.Token),
		proposals:   make(map[string]store.Proposal),
	}, false)
}

func open(c *catalog, joined bool) *Store {
	sh := &shared{writer: make(chan struct{}, 1), commits: newPulse(), joined: joined}
	sh.present.Store(c)
	return sh.store(false)
}

func (sh *shared) store(readOnly bool) *Store {
	s := &Store{shared: sh, readOnly: readOnly, breaks: newPulse()}
	s.reader = s.load
	return s
}

// Another returns a Store of the same catalog, as another process has it open.
func (s *Store) Another(readOnly bool) *Store { return s.store(readOnly) }

// Break makes every call of this Store fail with err, as if the server of its catalog were
// gone, until Break is called with nil.
func (s *Store) Break(err error) {
	s.broken.Store(&err)
	s.breaks.beat()
}

// load returns the present state of the catalog, or an error if it cannot be reached.
func (s *Store) load() (*catalog, error) {
	c := s.present.Load()
	if broken := s.broken.Load(); broken != nil && *broken != nil {
		return c, *broken
	}
	return c, nil
}

// Ready implements store.Store: there is nothing to open.
func (s *Store) Ready(context.Context) error { return nil }

// Look implements store.Store.
func (s *Store) Look() string {
	c, err := s.load()
	if err != nil {
		return ""
	}
	return fmt.Sprint(c.name, c.generation, c.commit)
}

// Settle implements store.Store: there is nothing to do.
func (s *Store) Settle(ctx context.Context) (store.State, string, error) {
	look := s.Look()
	state, err := s.State(ctx)
	if s.Look() != look || s.readOnly {
		look = ""
	}
	return state, look, err
}

// ReadOnly implements store.Store.
func (s *Store) ReadOnly() bool { return s.readOnly }

// Close implements store.Store. It does nothing: a test may open its catalog again.
func (s *Store) Close() error { return nil }

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Reader) error) error {
	c, err := s.at(ctx)
	if err != nil {
		return err
	}
	return f(reader(func() (*catalog, error) { return c, nil }))
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		t := &tx{c: c}
		if err := f(t); err != nil {
			return false, err
		}
		t.settleNames()
		return t.changed, nil
	})
}

// Join implements store.Joiner.
func (s *Store) Join(ctx context.Context, f func(store.Store) error) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		inner := open(c.clone(), true)
		if err := f(inner); err != nil {
			return false, err
		}
		*c = *inner.present.Load()
		return c.changed, nil
	})
}

// write lets f change a copy of the catalog, and commits it. f reports whether it changed
// anything that readers see.
func (s *Store) write(ctx context.Context, f func(*catalog) (bool, error)) error {
	if s.readOnly {
		return store.ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writer }()
	c, err := s.load()
	if err != nil {
		return err
	}
	c = c.clone()
	changed, err := f(c)
	if err != nil {
		return err
	}
	if _, err := s.load(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.commit++
	c.changed = c.changed || changed
	if !s.joined {
		if err := c.finish(); err != nil {
			return err
		}
	}
	s.present.Store(c)
	s.commits.beat()
	return nil
}

// finish ends a transaction: all content must be there that skills refer to, and no other.
// It makes the next generation if readers see a difference.
func (c *catalog) finish() error {
	if err := c.settleContents(); err != nil {
		return err
	}
	if c.changed {
		c.changed = false
		c.generation = store.Generation{Number: c.generation.Number + 1, Token: rand.Int64()}
		c.generations[c.generation.Number] = c.generation.Token
	}
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

	files     map[int64][]skill.File    // by row of the skill
	contents  map[string][]byte         // by digest
	bases     map[string]base           // by key
	tokens    map[string]store.Token    // by name
	hadToken  bool                      // see HadToken
	usage     []store.UsageLine         // the oldest first
	proposals map[string]store.Proposal // by ID

	commit  int64 // number of commits
	changed bool  // the transaction that made this state has changed what readers see
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
	texts       []store.Text // without Row

	body, problems []byte // packed by store.Record.Pack
}

func (c *catalog) clone() *catalog {
	d := *c
	d.sources, d.skills, d.models = maps.Clone(c.sources), maps.Clone(c.skills), maps.Clone(c.models)
	d.generations, d.changes = maps.Clone(c.generations), maps.Clone(c.changes)
	d.files, d.contents = maps.Clone(c.files), maps.Clone(c.contents)
	d.bases, d.tokens, d.proposals = maps.Clone(c.bases), maps.Clone(c.tokens), maps.Clone(c.proposals)
	for model, vectors := range c.models {
		d.models[model] = maps.Clone(vectors)
	}
	return &d
}
