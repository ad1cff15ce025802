package repertoire_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

// half opens a catalog of a source that was read before, and of a new one that is held up.
func half(t *testing.T) (*repertoire.Catalog, *sourcetest.Held) {
	t.Helper()
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "old", 1, docs("bread", "cake"))}}
	held := catalogtest.Half(t, &cfg, memory(t, "new", 0, docs("pie", "tart")))
	c := open(t, cfg)
	t.Cleanup(held.Release) // before the catalog is closed
	return c, held
}

// TestUnread: while a new source is read for the first time, all answers say that they are
// about a part of the catalog, and a skill of it is waited for.
func TestUnread(t *testing.T) {
	c, held := half(t)
	unread := func(want int) {
		t.Helper()
		if n, err := c.Unread(t.Context()); n != want || err != nil {
			t.Errorf("%d sources are unread, %v; want %d", n, err, want)
		}
		a, err := c.Search(t.Context(), repertoire.Query{Text: "bake a pie"})
		if a.Unread != want || err != nil {
			t.Errorf("a search says %d, %v", a.Unread, err)
		}
	}
	unread(1)
	want(t, "skills", list(t, c, nil, false), "bread", "cake")

	// A caller in a hurry is not held up, and learns why there is no such skill.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ask := range map[string]func(context.Context) error{
		"Body":     func(ctx context.Context) error { _, err := c.Body(ctx, "pie", nil); return err },
		"File":     func(ctx context.Context) error { _, err := c.File(ctx, "pie", "SKILL.md", nil); return err },
		"Lookup":   func(ctx context.Context) error { _, err := c.Lookup(ctx, "pie", nil); return err },
		"Manifest": func(ctx context.Context) error { _, err := c.Manifest(ctx, "pie", nil); return err },
		"Why": func(ctx context.Context) error {
			_, err := c.Why(ctx, "pie", repertoire.Query{Text: "a pie"})
			return err
		},
	} {
		if err := ask(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- ask(t.Context()) }()
		defer func() {
			if err := <-waiting; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	_, err := c.Lookup(t.Context(), "bread", nil)
	must.Do(t, err)

	held.Release()
	if _, err := c.Body(t.Context(), "tart", nil); err != nil {
		t.Error(err)
	}
	_, err = c.Lookup(t.Context(), "pye", nil) // waits for all of the source
	if !errors.Is(err, repertoire.ErrNotFound) || strings.Contains(err.Error(), "part of") {
		t.Errorf("a skill that is nowhere: %v", err)
	}
	unread(0)
	want(t, "skills", list(t, c, nil, false), "bread", "cake", "pie", "tart")
}

// TestUnreadBound: a question about a skill waits for a source that does not end, but not for
// ever, and the error says what to do.
func TestUnreadBound(t *testing.T) {
	t.Parallel()
	c, _ := half(t)
	_, err := c.Body(t.Context(), "pie", nil)
	const want = `no skill "pie" among 2; so far this is part of the catalog: 1 folder has not been read yet, so try again in a moment`
	if !errors.Is(err, repertoire.ErrNotFound) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestUnreadAdded: a folder that a running catalog is told to add is unread from then on,
// also where it makes another file necessary.
func TestUnreadAdded(t *testing.T) {
	setHome(t, t.TempDir())
	t.Setenv("REPERTOIRE_CACHE", t.TempDir())
	for _, db := range []string{"", filepath.Join(t.TempDir(), "catalog.db")} {
		first, _ := folder(t, "old", docs("bread", "cake"))
		added, _ := folder(t, "new", docs("pie"))
		held := sourcetest.Hold(added)
		looked := make(chan struct{})
		sources := []source.Source{first}
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: sources, DB: db, Schedule: "@every 1s",
			Discover: func() ([]source.Source, error) {
				select {
				case <-looked:
					return []source.Source{first, held}, nil
				default:
					return sources, nil
				}
			}})
		must.Do(t, err)
		t.Cleanup(func() { held.Release(); c.Close() })
		close(looked)
		for n := 0; n == 0; {
			n, err = c.Unread(t.Context())
			must.Do(t, err)
		}
		want(t, "skills", list(t, c, nil, false), "bread", "cake")
		got := make(chan error, 1)
		go func() {
			_, err := c.Body(t.Context(), "pie", nil)
			got <- err
		}()
		held.Release()
		if err := <-got; err != nil {
			t.Errorf("file %q: %v", db, err)
		}
	}
}
