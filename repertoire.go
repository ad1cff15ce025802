package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/commands"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A Catalog is an open catalog: what every program asks. What is for its owner is in
// Catalog.Owner. It may be used from several goroutines.
type Catalog struct {
	*opening
	keeper keeper
}

// Open opens the catalog of cfg and makes its file if it is not there. A folder that does not
// exist is an error, see Config.Away. With a schedule it also scans the sources once before it
// returns; what else cannot be read is then logged, not an error. What lacks a vector is then
// embedded in the background, except that the built-in embedder, which is fast, has done so before
// Open returns; the encoder, which is slower, follows in steps. With Config.Store it has heard of
// the store's state before it returns, or answers from an old copy; see Shared.
func Open(ctx context.Context, cfg Config) (*Catalog, error) {
	c, err := newCatalog(ctx, cfg)
	if err != nil && cfg.Store != nil {
		err = errors.Join(err, cfg.Store.Close()) // which is a catalog's own from here on
	}
	return c, err
}

// OpenDefault opens the catalog that the command would open in folder dir; ""
// means the working folder. Unlike most runs of the command it keeps the catalog
// up to date on the configured schedule, until Close; after a configured schedule
// of Never, call Freshen or Owner.Rescan.
func OpenDefault(ctx context.Context, dir string) (*Catalog, error) {
	cfg, err := ReadConfig(dir, nil)
	if err != nil {
		return nil, err
	}
	return Open(ctx, cfg)
}

func newCatalog(ctx context.Context, cfg Config) (*Catalog, error) {
	if err := cfg.openDirs(); err != nil {
		return nil, err
	}
	o := &opening{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), ready: make(chan struct{})}
	o.setReady = sync.OnceFunc(func() { close(o.ready) })
	o.rules.Store(&rules{cfg.Policy, cfg.Agents})
	_, err := newReader(cfg.Sources)
	if err = cmp.Or(err, (&search.Query{Threshold: cfg.Threshold, Disturb: cfg.Disturb, Unfit: cfg.Unfit}).CheckLevels(), cfg.Policy.Check(), checkAgents(cfg.Agents)); err != nil {
		return nil, err
	}
	c := &Catalog{opening: o}
	if err := cfg.checkSources(); err != nil {
		return nil, err
	}
	if o.by, err = config.EmbeddingBy(cfg.Embedder, cfg.Contextual); err != nil {
		return nil, err
	}
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

// Close stops the schedule, waits for a rescan that is under way, and closes
// the file. Closing again does nothing.
func (c *Catalog) Close() error {
	err := c.keeper.close()
	c.setReady() // questions that waited fail: the catalog is closed
	return err
}

// Config returns what the catalog was opened with, its sources, policy and agents as they are now, and
// the name of the catalog file in DB. What it refers to must not be changed.
func (c *Catalog) Config() Config {
	cfg, now := c.cfg, c.rules.Load()
	cfg.DB, cfg.Sources, cfg.Policy, cfg.Agents = c.keeper.path(), c.keeper.sources(), now.policy, now.agents
	return cfg
}

// Path returns the name of the catalog file.
func (c *Catalog) Path() string { return c.keeper.path() }

// Labels returns the labels of the sources, the one that wins first.
func (c *Catalog) Labels() []string { return labelsOf(c.keeper.sources()) }

// Shared returns how the catalog stands to its Config.Store.
func (c *Catalog) Shared() Shared { return c.keeper.shared() }

// Agent returns the agent of that name, nil for "". A name that the
// configuration does not have is an error: it must not mean everything.
func (c *Catalog) Agent(name string) (*Agent, error) {
	if name == "" {
		return nil, nil
	}
	var known []string
	for _, a := range c.rules.Load().agents {
		if a.Name == name {
			return a, nil
		}
		known = append(known, a.Name)
	}
	if slices.Sort(known); len(known) == 0 {
		return nil, fmt.Errorf("no agent %q: the configuration names none", name)
	}
	return nil, fmt.Errorf("no agent %q%s", name, words.Suggest(name, known))
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
