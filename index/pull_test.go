package index_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// A sharing is a shared store, with one index that writes it.
type sharing struct {
	*searchtest.Catalog
	st *memorytest.Store
}

func newSharing(t *testing.T) sharing {
	st := memorytest.New()
	return sharing{searchtest.Over(t, st, "", &searchtest.Embedder{}, nil), st}
}

// puts makes skills the only ones, and gives them vectors.
func (s sharing) puts(t *testing.T, names ...string) {
	t.Helper()
	var skills []*skill.Skill
	for _, name := range names {
		skills = append(skills, searchtest.Skill(name, "Does "+name+".", "Body of "+name+"."))
	}
	searchtest.Sync(t, s.Catalog, "team", searchtest.TreeOf(skills...).Refs())
	searchtest.Embed(t, s.Catalog)
}

func (s sharing) shares(t *testing.T, want bool) {
	t.Helper()
	if got, err := s.Share(t.Context()); got != want || err != nil {
		t.Errorf("shared %t, %v; want %t", got, err, want)
	}
}

// A mirrored is the copy of a shared store, and what answers from it.
type mirrored struct {
	*index.Mirror
	*search.Searcher
}

// copyOf opens the copy at path, over a connection of its own.
func copyOf(t *testing.T, st store.Store, path string) mirrored {
	t.Helper()
	e := &searchtest.Embedder{}
	m := index.NewMirror(st, e, &index.Options{Path: path})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return mirrored{m, search.New(m, st, e, &search.Options{Deadline: time.Hour})}
}

func pulls(t *testing.T, c mirrored) index.Pulled {
	t.Helper()
	p, err := c.Pull(t.Context())
	must.Do(t, err)
	return p
}

func holds(t *testing.T, what string, c mirrored, want ...string) {
	t.Helper()
	list, err := c.List(t.Context(), nil, nil)
	var got []string
	for _, e := range list {
		got = append(got, e.ID)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v, %v; want %v", what, got, err, want)
	}
}

// TestPull: a machine downloads the base, adds what has changed since, and takes over newer
// bases. It needs the store for none of its answers.
func TestPull(t *testing.T) {
	s, path := newSharing(t), filepath.Join(t.TempDir(), "new", "copy")
	s.puts(t, "bread", "cake")
	s.shares(t, true)
	s.shares(t, false)
	own := s.st.Another(true)
	c := copyOf(t, own, path)
	if p := pulls(t, c); p.Downloaded == 0 || p.Base != nil {
		t.Errorf("at first %+v", p)
	}
	holds(t, "at first", c, "bread", "cake")
	s.puts(t, "cake", "pie")
	if p := pulls(t, c); p.Downloaded != 0 {
		t.Errorf("a change: %+v", p)
	}
	holds(t, "after a change", c, "cake", "pie")
	if deltas := beside(t, path, ".delta"); len(deltas) != 1 {
		t.Errorf("deltas %v", deltas)
	}
	other := copyOf(t, s.st.Another(true), path)
	if p := pulls(t, other); p.Downloaded != 0 {
		t.Errorf("another process: %+v", p)
	}
	holds(t, "another process", other, "cake", "pie")

	if done, err := c.Rebase(t.Context()); done || err != nil {
		t.Errorf("without a newer base: %t, %v", done, err)
	}
	s.shares(t, true)
	if done, err := c.Rebase(t.Context()); !done || err != nil {
		t.Errorf("with a newer base: %t, %v", done, err)
	}
	holds(t, "after a newer base", c, "cake", "pie")
	holds(t, "another process after a newer base", other, "cake", "pie")
	if deltas, bases := beside(t, path, ".delta"), beside(t, path, ".base"); len(deltas) != 0 || len(bases) != 1 {
		t.Errorf("deltas %v, bases %v", deltas, bases)
	}

	own.Break(errors.New("gone"))
	if _, err := c.Pull(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without the store: %v", err)
	}
	holds(t, "without the store", c, "cake", "pie")
	holds(t, "without the store in a new process", copyOf(t, own, path), "cake", "pie")
	if _, err := copyOf(t, own, path+"2").Current(t.Context()); !errors.Is(err, index.ErrNotPulled) {
		t.Errorf("without the store and a copy: %v", err)
	}
}

// A damager is a store whose bases arrive damaged.
type damager struct{ *memorytest.Store }

func (s damager) GetBase(ctx context.Context, b store.Base, w io.Writer) error {
	_, err := io.CopyN(w, zeros{}, b.Size)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestPullCompiles: without a base, or with one that cannot be used, a machine compiles all
// skills itself.
func TestPullCompiles(t *testing.T) {
	s := newSharing(t)
	s.puts(t, "bread", "cake")
	c := copyOf(t, s.st.Another(true), filepath.Join(t.TempDir(), "copy"))
	if p := pulls(t, c); p.Downloaded != 0 || p.Base != nil {
		t.Errorf("without a base: %+v", p)
	}
	holds(t, "without a base", c, "bread", "cake")
	s.shares(t, true)
	path := filepath.Join(t.TempDir(), "copy")
	c = copyOf(t, damager{s.st}, path)
	if p := pulls(t, c); p.Base == nil || p.Downloaded != 0 {
		t.Errorf("a damaged base: %+v", p)
	}
	holds(t, "a damaged base", c, "bread", "cake")
}

// TestPullOther: a database that was made anew has other skills, and nothing of the copy of
// the old one stays.
func TestPullOther(t *testing.T) {
	old, path := newSharing(t), filepath.Join(t.TempDir(), "copy")
	old.puts(t, "bread", "cake")
	old.shares(t, true)
	pulls(t, copyOf(t, old.st, path))
	s := newSharing(t)
	s.puts(t, "pie")
	c := copyOf(t, s.st, path)
	holds(t, "before the first pull", c, "bread", "cake")
	pulls(t, c)
	holds(t, "after it", c, "pie")
	if bases := beside(t, path, ".base"); len(bases) != 1 {
		t.Errorf("bases %v", bases)
	}
}
