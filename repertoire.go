package repertoire

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/commands"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A Catalog is an open catalog: what every program asks. What is for its owner is in
// Catalog.Owner. It may be used from several goroutines.
type Catalog struct {
	*opening
	agents map[string]*Agent // by name
	keeper keeper
}

// opening is what a catalog was opened with, and when it began to answer.
type opening struct {
	cfg Config // with the sources and the file of the time when Open was called
	log *slog.Logger

	embedder embed.Embedder // nil for none
	fallback embed.Embedder // the built-in one when another is configured
	fast     bool           // embedder is the built-in one: rescans embed

	missing func(context.Context, skill.Needs) []string // see search.Options; nil if cfg ignores needs

	ready    chan struct{} // closed when questions need not wait for the first scan
	setReady func()        // closes ready, unless it is closed
}

// A keeper keeps what a catalog answers from in step with where its skills come from: local
// for the sources of this machine, mirror for a store that several machines share.
type keeper interface {
	// start brings it in step as Open must, and follows from then on what changes.
	start(ctx context.Context) error
	close() error

	// ask calls f with what answers now, and once more if that turns out to be lost.
	ask(ctx context.Context, f func(*state) error) error
	// awaitScan waits for a scan that may find more skills, as long as patience allows, and
	// reports whether one has ended.
	awaitScan(ctx context.Context) bool
	path() string
	sources() []source.Source
	shared() Shared

	freshen(ctx context.Context, o *FreshenOptions) (Freshness, error)
	upkeep
}

// upkeep is what an Owner can ask of a keeper.
type upkeep interface {
	glance(ctx context.Context, limit time.Duration) Freshness
	rescan(ctx context.Context, found func(), all bool) ([]Report, error)
	embed(ctx context.Context, progress func(done, all int)) error
	calibrate(ctx context.Context) error
	forget(ctx context.Context, label string) error
	indexed(ctx context.Context) (bool, error)
	usable(ctx context.Context) (bool, error)
	recovered() string
}

// state is what questions ask: what hangs on one store, and on one list of sources.
type state struct {
	path     string // of the catalog file
	store    store.Store
	search   *search.Searcher
	reader   reader // of the files of skills
	provider *contextprovider.Provider
	policy   *Policy
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
	o := &opening{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), ready: make(chan struct{})}
	o.setReady = sync.OnceFunc(func() { close(o.ready) })
	_, err := newReader(cfg.Sources)
	if err = cmp.Or(err, search.CheckLevels(cfg.Threshold, cfg.Disturb), cfg.Policy.Check()); err != nil {
		return nil, err
	}
	c := &Catalog{opening: o}
	if c.agents, err = agentsByName(cfg.Agents); err != nil {
		return nil, err
	}
	e, err := config.EmbeddingBy(cfg.Embedder)
	if err != nil {
		return nil, err
	}
	o.embedder, o.fast, o.fallback = e.Embedder, e.Inline, e.Fallback
	if !cfg.IgnoreNeeds {
		o.missing = commands.New(cfg.Assume).Missing
	}
	if c.keeper, err = o.openKeeper(ctx); err != nil {
		return nil, err
	}
	if err := c.keeper.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openKeeper opens what the configuration names.
func (o *opening) openKeeper(ctx context.Context) (keeper, error) {
	if o.cfg.Store != nil || o.cfg.StoreURL != "" {
		return newMirror(o)
	}
	return newLocal(ctx, o)
}

func (o *opening) searchOptions() *search.Options {
	return &search.Options{
		Deadline: o.cfg.Deadline, Inline: o.fast, Fallback: o.fallback, Threshold: o.cfg.Threshold, Disturb: o.cfg.Disturb,
		Reranker: o.cfg.Reranker, RerankDeadline: o.cfg.RerankDeadline, RerankCandidates: o.cfg.RerankCandidates, Missing: o.missing,
		CertainTriggers: o.cfg.CertainTriggers,
	}
}

// Close stops the schedule, waits for a rescan that is under way, and closes
// the file. Closing again does nothing.
func (c *Catalog) Close() error {
	err := c.keeper.close()
	c.setReady() // questions that waited fail: the catalog is closed
	return err
}

// Config returns what the catalog was opened with, its sources as they are now, and
// the name of the catalog file in DB. What it refers to must not be changed.
func (c *Catalog) Config() Config {
	cfg := c.cfg
	cfg.DB, cfg.Sources = c.keeper.path(), c.keeper.sources()
	return cfg
}

// Path returns the name of the catalog file.
func (c *Catalog) Path() string { return c.keeper.path() }

// Labels returns the labels of the sources, the one that wins first.
func (c *Catalog) Labels() []string { return labelsOf(c.keeper.sources()) }

// labelsOf returns the labels of sources, the one that wins first.
func labelsOf(sources []source.Source) []string {
	list := slices.Clone(sources)
	slices.SortStableFunc(list, func(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) })
	labels := make([]string, len(list))
	for i, s := range list {
		labels[i] = s.Info().Label
	}
	return labels
}

// asked answers a question, which waits for the first scan of a catalog that has never been
// scanned.
func asked[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (v T, err error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return v, ctx.Err()
	}
	err = c.keeper.ask(ctx, func(s *state) (err error) {
		v, err = f(s)
		return err
	})
	return v, err
}

// named is asked for a question about the skill of a name. If there is none, but sources have not
// been read yet, it waits for the rescan that is under way, as long as patience allows, and
// asks again.
func named[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (T, error) {
	v, err := asked(ctx, c, f)
	if missing, ok := errors.AsType[*search.NotFoundError](err); !ok || missing.Unread == 0 || !c.keeper.awaitScan(ctx) {
		return v, err
	}
	return asked(ctx, c, f)
}
