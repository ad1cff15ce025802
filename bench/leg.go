package bench

import (
	"context"
	"errors"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A catalog is what legs are measured with.
type catalog interface {
	Block(ctx context.Context, prompt string, b repertoire.Budget, a *repertoire.Agent) (repertoire.Block, error)
	Search(ctx context.Context, q repertoire.Query) (repertoire.Answer, error)
	Rescan(ctx context.Context, found func()) ([]repertoire.Report, error)
	Indexed(ctx context.Context) (bool, error)
	Close() error
}

// open opens the catalog of the skills under root for the leg. Nil functions do
// nothing.
func (l leg) open(ctx context.Context, root, db string, configure ...func(*repertoire.Config)) (catalog, error) {
	cfg, err := configOf(root, db, configure)
	if err != nil {
		return nil, err
	}
	if l.Compiled {
		c, err := repertoire.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return compiled{c, c.Owner()}, nil
	}
	return openFTS5(ctx, &cfg)
}

// compiled is a catalog as programs open it.
type compiled struct {
	*repertoire.Catalog
	repertoire.Owner
}

// An fts5 is a catalog that ranks text by SQLite, also when a compiled file could.
type fts5 struct {
	*contextprovider.Provider
	search  *search.Searcher
	store   store.Store
	index   *index.Index
	scanner *index.Scanner
}

func openFTS5(ctx context.Context, cfg *repertoire.Config) (*fts5, error) {
	embedder := cfg.Embedder
	if _, none := embedder.(embed.None); none {
		embedder = nil
	} else if embedder == nil {
		var err error
		if embedder, err = static.Default(); err != nil {
			return nil, err
		}
	}
	st, err := sqlite.Open(ctx, cfg.DB, nil)
	if err != nil {
		return nil, err
	}
	x := index.New(st, embedder, &index.Options{Path: cfg.DB, Inline: true, FTS5: true})
	s := search.New(x, st, embedder, &search.Options{Inline: true})
	return &fts5{contextprovider.New(s, nil), s, st, x, index.NewScanner(x, cfg.Sources)}, nil
}

func (c *fts5) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	return c.search.Search(ctx, q)
}

func (c *fts5) Rescan(ctx context.Context, found func()) ([]index.Report, error) {
	return c.scanner.Rescan(ctx, found, func(ctx context.Context) error {
		return errors.Join(c.index.Embed(ctx, nil), c.index.Publish(ctx, false))
	})
}

func (c *fts5) Indexed(ctx context.Context) (bool, error) { return c.index.Embedded(ctx) }

func (c *fts5) Close() error {
	return errors.Join(c.index.Close(), c.store.Close())
}
