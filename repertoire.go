// Package repertoire finds the agent skills that fit a prompt.
//
// A skill is a folder with a SKILL.md: a name, a description and instructions.
// Repertoire indexes the full text of every skill of its sources in one SQLite
// file and answers three questions, which are the levels of a skill:
//
//   - [Catalog.Block]: which skills does this prompt need? Names and
//     descriptions of the relevant ones, or nothing (level 1).
//   - [Catalog.Body]: what are the instructions of this skill? Read from the
//     source now, not from the index (level 2).
//   - [Catalog.File]: what is in this file of it? (level 3)
//
// [Open] opens a catalog of any sources, [OpenDefault] the one that the command
// "skills" would open, with the settings of the user and the project.
//
// The file is a cache: deleting it costs a rebuild. Nothing leaves the machine
// unless an embedder or a reranker is configured that is somewhere else. A
// catalog that stays open rescans its sources on a schedule.
//
// An [Agent] sees a part of the catalog. Its scope holds in every method, and
// what is outside of it does not exist for it.
package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// The types that the methods of a Catalog take and return.
type (
	Agent       = search.Agent            // a part of the catalog
	Rules       = search.Rules            // of an agent
	Query       = search.Query            // what to search for
	Answer      = search.Answer           // hits and the mode of ranking
	Hit         = search.Hit              // a skill with its score
	Snippet     = search.Snippet          // what matches in a body
	SyntaxError = search.SyntaxError      // what is wrong with a query
	Entry       = search.Entry            // a skill, level 1
	Twin        = search.Twin             // two skills that are hard to tell apart
	Explanation = search.Explanation      // why a skill is or is not offered
	Report      = index.Report            // what a rescan did with one source
	Coverage    = index.Coverage          // how much of the catalog has vectors
	Budget      = contextprovider.Budget  // of a block
	Block       = contextprovider.Block   // level 1
	Body        = contextprovider.Body    // level 2
	File        = contextprovider.File    // level 3
	Listing     = contextprovider.Listing // the files of a skill
	Manifest    = contextprovider.Manifest
	Problem     = skill.Problem  // what is wrong with a skill
	Reported    = store.Reported // a problem with where it is
)

// ErrNotFound says that there is no such skill, or none in the agent's scope.
var ErrNotFound = skill.ErrNotFound

// Never is the schedule of a catalog that is rescanned only by Rescan.
const Never = "never"

// Always is the threshold of a catalog, a Query or a Budget that every prompt
// reaches, so that skills are offered for each.
const Always = search.Always

// Config says what a catalog is made of. Only Sources is needed.
type Config struct {
	// Sources are where skills come from: folders (source.Dir, source.Discover),
	// file systems (source.New), memory (source.Files), or anything else that
	// implements source.Source. Their labels must differ.
	Sources []source.Source

	// DB is the catalog file; "" means one in the user's cache folder that
	// belongs to these sources.
	DB string

	// Embedder makes ranking hybrid. Nil means the built-in embedder,
	// embed.None{} that ranking is by text alone. After a change of embedder
	// the vectors of the built-in one rank, if the catalog has them, until
	// nearly every text has a new one. Programs that share a catalog file should
	// use the same embedder: vectors of others are removed from it.
	Embedder embed.Embedder

	// Deadline is how long a search waits for the embedding of its prompt; 0
	// means 250 ms. Then text alone answers.
	Deadline time.Duration
	// Threshold is the least probability that a prompt wants a skill for any to
	// be offered, up to 1; 0 means .6, Always that every prompt reaches it.
	Threshold float64

	// Reranker orders the best candidates of a search anew; nil means none. It
	// gets the prompt, and name, description and start of the instructions of
	// at most RerankCandidates skills; 0 means 20.
	Reranker         rerank.Reranker
	RerankCandidates int

	// RerankDeadline is how long a search waits for the reranker; 0 means 500
	// ms. Then the order of the search alone stands.
	RerankDeadline time.Duration

	// Agents are the agents that can be asked for by name.
	Agents []*Agent

	// Schedule is when the sources are rescanned, as a cron spec; "" means
	// "@every 5s". Never leaves it to the caller.
	Schedule string

	// Background makes Open return before the first scan of a schedule, which
	// then runs behind. What is asked meanwhile is answered from what an earlier
	// scan left; when none was ever completed, it waits for this one.
	Background bool

	// Changed is called after the skills of the catalog have changed, by a
	// scheduled rescan or by another process, as the schedule notices it; nil
	// for nobody. It is not called for the first scan of Open unless that ran in
	// the background.
	Changed func()

	// Defer opens the catalog file when something first needs it: see Glance.
	// Errors of it then show at that time.
	Defer bool

	// Logger hears of what happens in the background; nil means nobody.
	Logger *slog.Logger
}

// A Catalog is an open catalog. It may be used from several goroutines.
type Catalog struct {
	cfg    Config
	log    *slog.Logger
	reader reader
	agents map[string]*Agent

	embedder embed.Embedder // nil for none
	fallback embed.Embedder // the built-in one when another is configured
	fast     bool           // embedder is the built-in one: rescans embed

	state atomic.Pointer[state] // replaced when the file was found damaged

	rescan sync.Mutex // held by a rescan: one at a time
	closed bool       // guarded by rescan

	// The schedule, nil without one.
	cron   *cron.Cron
	ctx    context.Context // of scheduled rescans; ended by cancel
	cancel context.CancelFunc
	first  sync.WaitGroup  // the job that Open began
	fresh  bool            // Open has just scanned: the first job only embeds
	told   map[string]bool // what the log was told of the last rescan
	last   store.State     // of the catalog, when Changed was last called

	ready chan struct{} // closed when questions need not wait for the first scan
}

// state is what hangs on one open database file.
type state struct {
	store    *sqlite.DB
	index    *index.Index
	search   *search.Searcher
	scanner  *index.Scanner // guarded by Catalog.rescan, except for Glance
	provider *contextprovider.Provider

	replaced atomic.Bool // the file was damaged: db is closed, or about to be
}

// close gives up the files.
func (s *state) close() error {
	s.scanner.Close()
	return errors.Join(s.index.Close(), s.store.Close())
}

// isDamaged reports whether err says that the file is damaged, or comes from a
// file that was closed because it is.
func (s *state) isDamaged(err error) bool {
	return errors.Is(err, store.ErrDamaged) || err != nil && s.replaced.Load()
}

// Open opens the catalog of cfg and makes its file if it is not there. With a
// schedule it also scans the sources once before it returns; a source that
// cannot be read is then logged, not an error. What lacks a vector is then
// embedded in the background, except that the built-in embedder, which is fast,
// has done so before Open returns.
func Open(ctx context.Context, cfg Config) (*Catalog, error) {
	c := &Catalog{cfg: cfg, log: cfg.Logger, ready: make(chan struct{})}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.reader, err = newReader(cfg.Sources); err != nil {
		return nil, err
	}
	if c.agents, err = agentsByName(cfg.Agents); err != nil {
		return nil, err
	}
	if err := c.chooseEmbedder(); err != nil {
		return nil, err
	}
	if c.cfg.DB == "" {
		if c.cfg.DB, err = config.DefaultDB(cfg.Sources); err != nil {
			return nil, err
		}
	}
	// The file may be opened again, from another working folder.
	if c.cfg.DB, err = filepath.Abs(c.cfg.DB); err != nil {
		return nil, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	c.state.Store(s)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// chooseEmbedder decides between the configured and the built-in embedder.
func (c *Catalog) chooseEmbedder() error {
	if _, none := c.cfg.Embedder.(embed.None); none {
		return nil
	}
	own, err := config.Embedder{}.New() // the built-in one
	if err != nil {
		return err
	}
	if c.embedder = c.cfg.Embedder; c.embedder == nil {
		c.embedder = own
	}
	if c.fast = c.embedder.Model() == own.Model(); !c.fast {
		c.fallback = own
	}
	return nil
}

// open opens the database file; the store replaces one that it found damaged.
func (c *Catalog) open(ctx context.Context) (*state, error) {
	db := sqlite.Defer(c.cfg.DB, &sqlite.Options{BeforeChange: func() error { return snapshot.Withdraw(c.cfg.DB) }})
	if !c.cfg.Defer {
		if err := db.Ready(ctx); err != nil {
			return nil, err
		}
	}
	if aside := db.Recovered(); aside != "" {
		c.log.Warn("catalog was damaged and is rebuilt", "kept", aside)
	}
	x := index.New(db, c.embedder, &index.Options{Path: c.cfg.DB, Inline: c.fast, Fallback: c.fallback})
	found := search.New(x, db, c.embedder, &search.Options{
		Deadline: c.cfg.Deadline, Inline: c.fast, Fallback: c.fallback, Threshold: c.cfg.Threshold,
		Reranker: c.cfg.Reranker, RerankDeadline: c.cfg.RerankDeadline, RerankCandidates: c.cfg.RerankCandidates,
	})
	return &state{store: db, index: x, search: found, scanner: index.NewScanner(x, c.cfg.Sources), provider: contextprovider.New(found, c.reader)}, nil
}

// Close stops the schedule, waits for a rescan that is under way, and closes
// the file. Closing again does nothing.
func (c *Catalog) Close() error {
	if c.cron != nil {
		c.cancel()
		<-c.cron.Stop().Done()
		c.first.Wait()
	}
	c.rescan.Lock()
	defer c.rescan.Unlock()
	c.closed = true
	err := c.state.Load().close()
	c.answer() // who waited learns that it is closed
	return err
}

// Config returns what the catalog was opened with, and the name of the catalog
// file in DB. What it refers to must not be changed.
func (c *Catalog) Config() Config { return c.cfg }

// Path returns the name of the catalog file.
func (c *Catalog) Path() string { return c.cfg.DB }

// Recovered returns the name under which a damaged catalog file was kept, or
// "" when there was none.
func (c *Catalog) Recovered() string { return c.state.Load().store.Recovered() }

// Agent returns the agent of that name, nil for "". A name that the
// configuration does not have is an error: it must not mean everything.
func (c *Catalog) Agent(name string) (*Agent, error) {
	if name == "" {
		return nil, nil
	}
	if a, ok := c.agents[name]; ok {
		return a, nil
	}
	return nil, unknownAgent(name, c.agents)
}

// Search returns the skills that fit a text, best first; with Query.Syntax those
// that match a query.
func (c *Catalog) Search(ctx context.Context, q Query) (Answer, error) {
	return asked(ctx, c, func(s *state) (Answer, error) { return s.search.Search(ctx, q) })
}

// Snippets returns for each entry an excerpt of its body, of at most length
// characters, around what the query matches there; see search.Searcher.Snippets.
func (c *Catalog) Snippets(ctx context.Context, q Query, entries []Entry, length int) ([]Snippet, error) {
	return asked(ctx, c, func(s *state) ([]Snippet, error) { return s.search.Snippets(ctx, q, entries, length) })
}

// Block returns the text that tells a model which skills fit a prompt, empty
// when none does.
func (c *Catalog) Block(ctx context.Context, prompt string, b Budget, a *Agent) (Block, error) {
	return asked(ctx, c, func(s *state) (Block, error) { return s.provider.Block(ctx, prompt, b, a) })
}

// Body returns the instructions of a skill as they are in its source now.
func (c *Catalog) Body(ctx context.Context, id string, a *Agent) (Body, error) {
	return asked(ctx, c, func(s *state) (Body, error) { return s.provider.Body(ctx, id, a) })
}

// File returns a file of a skill as it is in its source now.
func (c *Catalog) File(ctx context.Context, id, name string, a *Agent) (File, error) {
	return asked(ctx, c, func(s *state) (File, error) { return s.provider.File(ctx, id, name, a) })
}

// Lookup returns a skill as it is indexed: level 1. See search.Searcher.Lookup.
func (c *Catalog) Lookup(ctx context.Context, id string, a *Agent) (Entry, error) {
	return asked(ctx, c, func(s *state) (Entry, error) { return s.search.Lookup(ctx, id, a) })
}

// Manifest returns what other programs must know of a skill to read it file by
// file, as it is in its source now. A skill that they could not read, or would
// read differently, is an error that wraps contextprovider.ErrUnpublishable.
func (c *Catalog) Manifest(ctx context.Context, id string, a *Agent) (Manifest, error) {
	return asked(ctx, c, func(s *state) (Manifest, error) { return s.provider.Manifest(ctx, id, a) })
}

// Outline is Manifest without the digests: it opens no file but SKILL.md.
func (c *Catalog) Outline(ctx context.Context, id string, a *Agent) (Manifest, error) {
	return asked(ctx, c, func(s *state) (Manifest, error) { return s.provider.Outline(ctx, id, a) })
}

// Listing lists the files of a skill as they are in its source now. It reads all
// of them if their digests are asked for, and else none but SKILL.md.
func (c *Catalog) Listing(ctx context.Context, id string, a *Agent, digests bool) (Listing, error) {
	return asked(ctx, c, func(s *state) (Listing, error) { return s.provider.Listing(ctx, id, a, digests) })
}

// Labels returns the labels of the sources, the one that wins first.
func (c *Catalog) Labels() []string {
	list := slices.Clone(c.cfg.Sources)
	slices.SortStableFunc(list, func(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) })
	labels := make([]string, len(list))
	for i, s := range list {
		labels[i] = s.Info().Label
	}
	return labels
}

// List returns all skills by name; shadowed copies only when asked for.
func (c *Catalog) List(ctx context.Context, a *Agent, shadowed bool) ([]Entry, error) {
	return asked(ctx, c, func(s *state) ([]Entry, error) { return s.search.List(ctx, a, shadowed) })
}

// Why explains why a skill is or is not offered for a query.
func (c *Catalog) Why(ctx context.Context, id string, q Query) (Explanation, error) {
	return asked(ctx, c, func(s *state) (Explanation, error) { return s.search.Why(ctx, id, q) })
}

// Files returns the files of a skill as they were indexed.
func (c *Catalog) Files(ctx context.Context, e Entry) ([]skill.File, error) {
	return asked(ctx, c, func(s *state) ([]skill.File, error) { return s.search.Files(ctx, e) })
}

// Problems returns what is wrong with the skills that were indexed.
func (c *Catalog) Problems(ctx context.Context) ([]Reported, error) {
	return asked(ctx, c, func(s *state) ([]Reported, error) { return s.index.Problems(ctx) })
}

// Twins returns pairs of skills whose descriptions are nearly the same.
func (c *Catalog) Twins(ctx context.Context) ([]Twin, error) {
	return asked(ctx, c, func(s *state) ([]Twin, error) { return s.search.Twins(ctx) })
}

// Coverage returns how many texts of the catalog have a vector of a model, see
// embed.Embedder.
func (c *Catalog) Coverage(ctx context.Context, model string) (Coverage, error) {
	return asked(ctx, c, func(s *state) (Coverage, error) { return s.index.Coverage(ctx, model) })
}

// Located returns a problem of a source with a path that can be opened, when
// the source is on disk.
func (c *Catalog) Located(label string, p Problem) Problem {
	if src := c.reader[label]; src != nil && src.Info().Root != "" && !filepath.IsAbs(p.Path) {
		p.Path = filepath.Join(src.Info().Root, filepath.FromSlash(p.Path))
	}
	return p
}

// Size returns how many skills are offered and how many SKILL.md files there
// are in all.
func (c *Catalog) Size(ctx context.Context) (offered, found int, err error) {
	n, err := asked(ctx, c, func(s *state) ([2]int, error) {
		offered, found, err := s.search.Size(ctx)
		return [2]int{offered, found}, err
	})
	return n[0], n[1], err
}

// Count returns how many skills an agent sees; nil means all agents.
func (c *Catalog) Count(ctx context.Context, a *Agent) (int, error) {
	if a == nil {
		offered, _, err := c.Size(ctx)
		return offered, err
	}
	entries, err := c.List(ctx, a, false)
	return len(entries), err
}

// Mode returns what ranking is based on now, see Answer.
func (c *Catalog) Mode(ctx context.Context) (string, error) {
	// Only an answer tells: an embedder that is slow shows when it is asked.
	answer, err := c.Search(ctx, Query{Text: "mode", Limit: 1})
	return answer.Mode, err
}

// asked is repaired for a question, which waits for the first scan of a catalog
// that has never been scanned.
func asked[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (v T, err error) {
	select {
	case <-c.ready:
		return repaired(ctx, c, f)
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// repaired runs f. When f says that the file is damaged, the file is moved
// aside and rebuilt, and f runs once more.
func repaired[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (T, error) {
	s := c.state.Load()
	v, err := f(s)
	if !s.isDamaged(err) {
		return v, err
	}
	if err := c.repair(ctx, s); err != nil {
		return v, err
	}
	return f(c.state.Load())
}

// repair rebuilds a damaged catalog, unless somebody else just did.
func (c *Catalog) repair(ctx context.Context, damaged *state) error {
	c.rescan.Lock()
	defer c.rescan.Unlock()
	if c.state.Load() != damaged {
		return nil
	}
	_, err := c.rebuild(ctx, nil)
	return err
}

// rebuild moves the damaged file aside and fills a new one; the caller holds
// the lock. When it fails, the next call tries again.
func (c *Catalog) rebuild(ctx context.Context, found func()) ([]Report, error) {
	if c.closed {
		return nil, errors.New("catalog is closed")
	}
	damaged := c.state.Load()
	damaged.replaced.Store(true)
	if err := damaged.close(); err != nil {
		c.log.Warn("closing damaged catalog", "error", err)
	}
	// A search that is in a hurry must not leave the catalog without a file.
	s, err := c.open(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("replacing damaged catalog: %w", err)
	}
	reports, err := c.sync(ctx, s, found)
	c.state.Store(s) // not before: nobody should find it empty
	return reports, err
}
