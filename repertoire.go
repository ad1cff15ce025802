package repertoire

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/commands"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A Catalog is an open catalog. It may be used from several goroutines.
type Catalog struct {
	cfg    Config // with the sources and the file of the time when Open was called
	log    *slog.Logger
	agents map[string]*Agent // by name

	embedder embed.Embedder // nil for none
	fallback embed.Embedder // the built-in one when another is configured
	fast     bool           // embedder is the built-in one: rescans embed

	missing func(context.Context, skill.Needs) []string // see search.Options; nil if cfg ignores needs

	node  *node                 // of a catalog over Config.Store; nil for all others
	state atomic.Pointer[state] // replaced when the file was lost, see isLost, and when sources come or go

	rescan sync.Mutex // held by a rescan: one at a time
	closed bool       // guarded by rescan

	// The schedule, nil without one.
	cron   *cron.Cron
	ctx    context.Context // of scheduled rescans; ended by cancel
	cancel context.CancelFunc
	first  sync.WaitGroup  // the job that Open began
	fresh  bool            // Open has just scanned: the first job only embeds
	warned map[string]bool // warnings of the last rescan
	last   store.State     // of the catalog, when Changed was last called

	background sync.WaitGroup // the call of Config.Fetch, and what follows Config.Store
	fetching   sync.Mutex     // held during that call; guards unfetched
	unfetched  string         // the error of the last call; "" means none

	scans    scans
	endFirst func() // ends the first scan behind, which counts from the start

	ready    chan struct{} // closed when questions need not wait for the first scan
	setReady func()        // closes ready, unless it is closed
}

// state is what hangs on one open database file, and on one list of sources.
type state struct {
	path   string // of the file
	store  store.Store
	file   *sqlite.DB    // store, if that is a catalog file; nil in a node
	index  *index.Index  // nil in a node
	mirror *index.Mirror // of a node; nil for all others
	search *search.Searcher

	sources  []source.Source
	reader   reader         // of their files
	scanner  *index.Scanner // guarded by Catalog.rescan, except for Glance
	provider *contextprovider.Provider

	policy   *Policy
	replaced *atomic.Bool // another file took the place of this one: store is closed, or about to be
}

// with returns a state of the same file with other sources.
func (s *state) with(sources []source.Source) (*state, error) {
	r, err := newReader(sources)
	if err != nil {
		return nil, err
	}
	t := *s
	t.sources, t.reader = sources, r
	t.scanner, t.provider = index.NewScanner(s.index, sources), contextprovider.New(s.search, r)
	t.search.SetPolicy(s.policy, r.kinds()) // before a rescan adds the skills of new sources
	t.search.SetSources(t.labels())
	return &t, nil
}

// close closes the files.
func (s *state) close() error {
	if s.mirror != nil {
		return errors.Join(s.mirror.Close(), s.store.Close())
	}
	return errors.Join(s.index.Close(), s.store.Close())
}

// isLost reports whether err says that the open file is damaged or no longer the
// catalog, or comes from a file that was closed because of that.
func (s *state) isLost(err error) bool {
	if s.file == nil {
		return false
	}
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrStale) || err != nil && s.replaced.Load()
}

// Open opens the catalog of cfg and makes its file if it is not there. With a
// schedule it also scans the sources once before it returns; a source that
// cannot be read is then logged, not an error. What lacks a vector is then
// embedded in the background, except that the built-in embedder, which is fast,
// has done so before Open returns. With Config.Store it has heard of the store's state
// before it returns, or answers from an old copy; see Shared.
func Open(ctx context.Context, cfg Config) (*Catalog, error) {
	c, err := open(ctx, cfg)
	if err != nil && cfg.Store != nil {
		err = errors.Join(err, cfg.Store.Close()) // which is a catalog's own from here on
	}
	return c, err
}

func open(ctx context.Context, cfg Config) (*Catalog, error) {
	c := &Catalog{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), ready: make(chan struct{})}
	c.setReady = sync.OnceFunc(func() { close(c.ready) })
	c.endFirst = func() {}
	_, err := newReader(cfg.Sources)
	if err = cmp.Or(err, search.CheckLevels(cfg.Threshold, cfg.Disturb), cfg.Policy.Check()); err != nil {
		return nil, err
	}
	if c.agents, err = agentsByName(cfg.Agents); err != nil {
		return nil, err
	}
	e, err := config.EmbeddingBy(c.cfg.Embedder)
	if err != nil {
		return nil, err
	}
	c.embedder, c.fast, c.fallback = e.Embedder, e.Inline, e.Fallback
	if !cfg.IgnoreNeeds {
		c.missing = commands.New(cfg.Assume).Missing
	}
	s, err := c.openFirst(ctx)
	if err != nil {
		return nil, err
	}
	c.state.Store(s)
	if c.node != nil {
		err = c.startShared(ctx)
	} else {
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openFirst opens what the configuration names.
func (c *Catalog) openFirst(ctx context.Context) (s *state, err error) {
	if c.node, err = newNode(&c.cfg); err != nil {
		return nil, err
	}
	if c.node != nil {
		return c.openShared(), nil
	}
	path, err := c.file(c.cfg.Sources)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, path, c.cfg.Sources)
}

// file returns the absolute path of the catalog of these sources: the file may be opened
// again, from another working folder.
func (c *Catalog) file(sources []source.Source) (string, error) {
	path := c.cfg.DB
	if path == "" {
		var err error
		if path, err = config.DefaultDB(sources); err != nil {
			return "", err
		}
	}
	return filepath.Abs(path)
}

// open opens the database file; the store replaces one that it found damaged.
func (c *Catalog) open(ctx context.Context, path string, sources []source.Source) (*state, error) {
	db := sqlite.Defer(path, &sqlite.Options{
		Seeds: func() []sqlite.Seed { return seeds(path, sources) },
	})
	x := index.New(db, c.embedder, &index.Options{Path: path, Inline: c.fast, Fallback: c.fallback})
	if !c.cfg.Defer {
		if err := db.Ready(ctx); err != nil {
			return nil, err
		}
	}
	if aside := db.Recovered(); aside != "" {
		c.log.Warn("catalog was damaged and is rebuilt", "kept", aside)
	}
	found := search.New(x, db, c.embedder, c.searchOptions())
	s := &state{path: path, store: db, file: db, index: x, search: found, policy: c.cfg.Policy, replaced: new(atomic.Bool)}
	s, err := s.with(sources)
	if err != nil {
		return nil, errors.Join(err, x.Close(), db.Close())
	}
	return s, nil
}

func (c *Catalog) searchOptions() *search.Options {
	return &search.Options{
		Deadline: c.cfg.Deadline, Inline: c.fast, Fallback: c.fallback, Threshold: c.cfg.Threshold, Disturb: c.cfg.Disturb,
		Reranker: c.cfg.Reranker, RerankDeadline: c.cfg.RerankDeadline, RerankCandidates: c.cfg.RerankCandidates, Missing: c.missing,
		CertainTriggers: c.cfg.CertainTriggers,
	}
}

// Close stops the schedule, waits for a rescan that is under way, and closes
// the file. Closing again does nothing.
func (c *Catalog) Close() error {
	if c.cancel != nil {
		c.cancel()
	}
	if c.cron != nil {
		<-c.cron.Stop().Done()
		c.first.Wait()
	}
	c.background.Wait()
	c.rescan.Lock()
	defer c.rescan.Unlock()
	c.closed = true
	err := c.state.Load().close()
	c.setReady() // questions that waited fail: the catalog is closed
	return err
}

// Config returns what the catalog was opened with, its sources as they are now, and
// the name of the catalog file in DB. What it refers to must not be changed.
func (c *Catalog) Config() Config {
	cfg, s := c.cfg, c.state.Load()
	cfg.DB, cfg.Sources = s.path, s.list()
	return cfg
}

// Path returns the name of the catalog file.
func (c *Catalog) Path() string { return c.state.Load().path }

// Recovered returns the name under which a damaged catalog file was kept, or
// "" when there was none.
func (c *Catalog) Recovered() string {
	if f := c.state.Load().file; f != nil {
		return f.Recovered()
	}
	return ""
}

// Labels returns the labels of the sources, the one that wins first.
func (c *Catalog) Labels() []string { return c.state.Load().labels() }

func (s *state) labels() []string {
	list := s.list()
	slices.SortStableFunc(list, func(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) })
	labels := make([]string, len(list))
	for i, s := range list {
		labels[i] = s.Info().Label
	}
	return labels
}

// list returns the sources.
func (s *state) list() []source.Source {
	if s.file == nil {
		return s.sharedSources()
	}
	return slices.Clone(s.sources)
}
