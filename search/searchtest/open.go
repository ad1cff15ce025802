package searchtest

import (
	"cmp"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A Catalog is both sides of a catalog: the Index writes, and the Searcher answers.
type Catalog struct {
	*index.Index
	*search.Searcher
	Store store.Store
	Path  string // snapshots lie beside it; "" means that they stay in memory
}

// Options of Open; nil means all defaults. Open copies Fallback, Inline and Contextual from the
// options of the Index to the options of the Searcher.
type Options struct {
	Index  index.Options
	Search search.Options
}

// Open returns the catalog in the SQLite file at path, and closes it when the test
// ends. By default a search waits an hour for the vector of its prompt, so that no
// search falls back to text on a busy machine.
func Open(t testing.TB, path string, e embed.Embedder, opts *Options) *Catalog {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	return Over(t, db, path, e, opts)
}

// New returns a new catalog in a folder of the test.
func New(t testing.TB, e embed.Embedder) *Catalog {
	t.Helper()
	return Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, nil)
}

// Over returns an Index and a Searcher over an open store. It closes the Index when
// the test ends.
func Over(t testing.TB, st store.Store, path string, e embed.Embedder, opts *Options) *Catalog {
	t.Helper()
	c := Join(st, path, e, opts)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

// Join is Over without a test, for a process that a test starts.
func Join(st store.Store, path string, e embed.Embedder, opts *Options) *Catalog {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Index.Path = path
	o.Search.Fallback, o.Search.Inline = o.Index.Fallback, o.Search.Inline || o.Index.Inline
	o.Search.Contextual = cmp.Or(o.Search.Contextual, o.Index.Contextual)
	o.Search.Deadline, o.Search.ContextualDeadline = cmp.Or(o.Search.Deadline, time.Hour), cmp.Or(o.Search.ContextualDeadline, time.Hour)
	x := index.New(st, e, &o.Index)
	return &Catalog{Index: x, Searcher: search.New(x, st, e, &o.Search), Store: st, Path: path}
}

// Another returns another Index and Searcher over the same store, as another
// part of a program would have them.
func (c *Catalog) Another(t testing.TB, e embed.Embedder, opts *Options) *Catalog {
	t.Helper()
	return Over(t, c.Store, c.Path, e, opts)
}
