package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// asked is a store that counts how often its state is asked for.
type asked struct {
	store.Store
	times int
}

func (a *asked) State(ctx context.Context) (store.State, error) {
	a.times++
	return a.Store.State(ctx)
}

// questions returns how often a new process asks the store before it ranks from what is
// published, and what the best skill for a text is. The process closes the store.
func questions(t *testing.T, path, text string, sources []store.Source) (times int, best string) {
	t.Helper()
	db := sqlite.Defer(path, nil)
	st := &asked{Store: db}
	x := searchtest.Join(st, path, nil, nil)
	if !x.Published(t.Context(), sources) {
		t.Error("what is published cannot be used")
	}
	best = searchtest.Ask(t, x, search.Query{Text: text}).Hits[0].ID
	times = st.times
	must.Do(t, errors.Join(x.Close(), db.Close()))
	return times, best
}

// unseen changes the store in a way that readers do not see.
func unseen(t *testing.T, x *searchtest.Catalog) {
	t.Helper()
	err := x.Store.Update(t.Context(), func(tx store.Tx) error { return tx.Walked(1, time.Now().UnixNano(), "") })
	must.Do(t, err)
}

// TestSealed: a process opens no store as long as nobody touches its files, whatever
// else the last processes wrote: after a change, after writes that readers do not see,
// after a second process, and after a process that ended without closing anything.
func TestSealed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	src := []store.Source{{Label: "a", Root: "/a"}}
	check := func(when string, want int) {
		t.Helper()
		if times, best := questions(t, path, "bisect the history", src); times != want || best != "git" {
			t.Errorf("%s: asked %d times, want %d; best %s", when, times, want, best)
		}
	}
	use := func(f func(x *searchtest.Catalog)) {
		db, err := sqlite.Open(t.Context(), path, nil)
		must.Do(t, err)
		x := searchtest.Join(db, path, nil, nil)
		f(x)
		must.Do(t, errors.Join(x.Close(), db.Close()))
	}
	use(func(x *searchtest.Catalog) {
		searchtest.SyncSource(t, x, src[0], searchtest.Three().Refs())
		searchtest.Publish(t, x, false)
		check("while a process has the store open", 0)
		unseen(t, x)
		searchtest.Publish(t, x, false)
		check("after a rescan without a change", 0)
	})
	check("after it was closed", 0)
	use(func(x *searchtest.Catalog) {
		unseen(t, x)
	})
	check("after writes that readers do not see", 0)
	unseen(t, searchtest.Open(t, path, nil, nil))
	check("after a process that was killed", 1)
	check("once more", 0)
	must.Do(t, os.Remove(path+".seal"))
	check("without the seal", 1)
	check("with a new seal", 0)
}

// TestPutBack: somebody puts an older copy of the database back, and nothing else: the
// newer files beside it are not used, by new processes and by one that is running.
func TestPutBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	src := store.Source{Label: "a", Root: "/a"}
	write := func(tree searchtest.Tree) {
		x := searchtest.Open(t, path, nil, nil)
		searchtest.SyncSource(t, x, src, tree.Refs())
		searchtest.Publish(t, x, false)
		must.Do(t, errors.Join(x.Close(), x.Store.Close()))
	}
	write(searchtest.Three())
	old, err := os.ReadFile(path)
	must.Do(t, err)
	info, err := os.Stat(path)
	must.Do(t, err)
	write(searchtest.TreeOf(searchtest.Skill("svg", "Draw pictures", "draw")))
	running := sqlite.Defer(path, nil)
	x := searchtest.Over(t, running, path, nil, nil)
	if hits := searchtest.Ask(t, x, search.Query{Text: "draw"}).Hits; len(hits) != 1 {
		t.Errorf("before: %v", hits)
	}
	// A copy that keeps the time, as of a backup.
	must.Do(t, errors.Join(os.WriteFile(path, old, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())))
	defer running.Close()
	fresh := searchtest.Open(t, path, nil, nil)
	for when, x := range map[string]*searchtest.Catalog{"a new process": fresh, "a running process": x} {
		if x.Published(t.Context(), []store.Source{src}) {
			t.Errorf("%s uses what was published of a newer generation", when)
		}
		answer := searchtest.Ask(t, x, search.Query{Text: "draw"})
		if len(answer.Hits) != 0 {
			t.Errorf("%s finds %s, which the catalog does not have", when, answer.Hits[0].ID)
		}
		if hits := searchtest.Ask(t, x, search.Query{Text: "bisect the history"}).Hits; len(hits) == 0 || hits[0].ID != "git" {
			t.Errorf("%s: hits %v", when, hits)
		}
	}
}
