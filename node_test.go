package repertoire_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	engine "github.com/repertoire-skills/repertoire/store/memorytest"
)

// pushed brings a shared catalog in step with skills of these names.
func pushed(t testing.TB, st push.Store, names ...string) {
	t.Helper()
	e, err := static.Default()
	must.Do(t, err)
	_, err = push.Push(t.Context(), st, []source.Source{memory(t, "team", 0, docs(names...))}, &push.Options{Embedder: e, Inline: true})
	must.Do(t, err)
}

// A follower is a catalog over a shared store, with what its Config.Changed was called for.
type follower struct {
	*repertoire.Catalog
	store   *engine.Store
	changed chan struct{}
}

// node opens a catalog over another connection to a shared store. Its copy is in the folder
// dir.
func node(t testing.TB, st *engine.Store, dir string, cfg repertoire.Config) *follower {
	t.Helper()
	n := &follower{store: st.Another(true), changed: make(chan struct{}, 100)}
	cfg.Store, cfg.DB, cfg.Changed = n.store, filepath.Join(dir, "copy"), func() { n.changed <- struct{}{} }
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	n.Catalog = c
	return n
}

// until waits until the node is in a state.
func (n *follower) until(t testing.TB, state string) repertoire.Shared {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now := n.Shared(); now.State == state {
			return now
		}
	}
	t.Fatalf("the node is %+v, want %s", n.Shared(), state)
	return repertoire.Shared{}
}

// heard waits until the node has noticed a change.
func (n *follower) heard(t testing.TB) {
	t.Helper()
	select {
	case <-n.changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the node did not notice the change")
	}
}

var errGone = errors.New("the server is gone")

// TestNode: a node answers from the shared store, follows its changes, and goes on answering
// when the store is gone, also after a restart.
func TestNode(t *testing.T) {
	st, dir := engine.New(), t.TempDir()
	pushed(t, st, "bread", "cake")
	n := node(t, st, dir, repertoire.Config{})
	want(t, "skills at first", list(t, n.Catalog, nil, false), "bread", "cake")
	if now := n.Shared(); now.State != repertoire.Current || now.Err != nil || now.Heard.IsZero() {
		t.Errorf("at first: %+v", now)
	}
	want(t, "labels", n.Labels(), "team")
	body, err := n.Body(t.Context(), "bread", nil)
	if err != nil || !strings.Contains(body.Text, "bread") {
		t.Errorf("body %q, %v", body.Text, err)
	}

	pushed(t, st, "cake", "pie")
	n.heard(t)
	want(t, "skills after a change", list(t, n.Catalog, nil, false), "cake", "pie")
	if _, err := n.Body(t.Context(), "bread", nil); !errors.Is(err, repertoire.ErrNotFound) {
		t.Errorf("a skill that was removed: %v", err)
	}

	n.store.Break(errGone)
	stale := n.until(t, repertoire.Stale)
	if !errors.Is(stale.Err, errGone) || !errors.Is(stale.Err, store.ErrUnreachable) {
		t.Errorf("lost: %v", stale.Err)
	}
	asOf(t, n.Catalog, stale.Heard)
	if _, err := n.Body(t.Context(), "pie", nil); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("a skill that was never read, without the store: %v", err)
	}
	pushed(t, st, "pie", "tart")
	want(t, "skills without the store", list(t, n.Catalog, nil, false), "cake", "pie")

	again := st.Another(true)
	again.Break(errGone)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Store: again, DB: filepath.Join(dir, "copy")})
	must.Do(t, err)
	want(t, "skills after a restart without the store", list(t, c, nil, false), "cake", "pie")
	asOf(t, c, stale.Heard)
	must.Do(t, c.Close())

	n.store.Break(nil)
	n.heard(t)
	want(t, "skills with the store again", list(t, n.Catalog, nil, false), "pie", "tart")
	n.until(t, repertoire.Current)
	if answer, err := n.Search(t.Context(), repertoire.Query{Text: "pie"}); err != nil || !answer.AsOf.IsZero() {
		t.Errorf("an answer is as of %v, %v", answer.AsOf, err)
	}
}

// TestNodeLog: a node logs once why it has no skills to answer with, and later that the shared
// catalog is lost.
func TestNodeLog(t *testing.T) {
	var j journal
	st := engine.New()
	st.Break(errGone)
	reports := func(message string) bool {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if len(j.lines(message)) > 0 {
				return true
			}
		}
		return false
	}
	c, err := repertoire.Open(t.Context(), repertoire.Config{Store: st, DB: filepath.Join(t.TempDir(), "copy"), Background: true, Logger: j.logger()})
	must.Do(t, err)
	n := &follower{Catalog: c}
	if !reports("no skills to answer with yet") {
		t.Error("nothing says that there are no skills")
	}
	st.Break(nil)
	pushed(t, st, "bread")
	n.until(t, repertoire.Current)
	st.Break(errGone)
	if !reports("answers may be old") {
		t.Error("nothing says that the shared catalog is lost")
	}
	st.Break(nil)
	if !reports("is again") {
		t.Error("nothing says that the shared catalog is found")
	}
	must.Do(t, c.Close())
	for _, message := range []string{"no skills to answer with yet", "answers may be old"} {
		if got := j.lines(message); len(got) != 1 || !strings.Contains(got[0], "level=WARN") || !strings.Contains(got[0], errGone.Error()) {
			t.Errorf("logged %q", got)
		}
	}
}

// asOf checks what answers say of their age.
func asOf(t *testing.T, c *repertoire.Catalog, want time.Time) {
	t.Helper()
	const prompt = "Please bake a pie for the guests"
	answer, err := c.Search(t.Context(), repertoire.Query{Text: prompt})
	if err != nil || answer.AsOf.Sub(want).Abs() > time.Second {
		t.Errorf("the answer is as of %v, %v; want %v", answer.AsOf, err, want)
	}
	block, err := c.Block(t.Context(), prompt, repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil)
	if err != nil || !strings.Contains(block.Text, "This is as of 20") {
		t.Errorf("the block does not say as of when it is: %s, %v", block.Text, err)
	}
	if _, err := c.Snippets(t.Context(), repertoire.Query{Text: prompt}, entriesOf(answer), 0); err != nil {
		t.Errorf("snippets: %v", err)
	}
}

// TestNodeRefusals: what cannot be a catalog over a shared store is an error that says why.
func TestNodeRefusals(t *testing.T) {
	st := engine.New()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "catalog.db"), "of folders")
	gone := st.Another(true)
	gone.Break(errGone)
	for _, test := range []struct {
		what string
		cfg  repertoire.Config
		want string
	}{
		{"no engine for several machines", repertoire.Config{Store: struct{ store.Store }{st}, DB: filepath.Join(dir, "a")}, "lacks store.Files"},
		{"sources too", repertoire.Config{Store: st, DB: filepath.Join(dir, "b"), Sources: []source.Source{memory(t, "a", 0, docs("bread"))}}, "no Sources of its own"},
		{"no place", repertoire.Config{Store: st}, "Config.DB is needed"},
		{"the file of another catalog", repertoire.Config{Store: st, DB: filepath.Join(dir, "catalog.db")}, "name another file"},
		{"no copy and no store", repertoire.Config{Store: gone, DB: filepath.Join(dir, "c")}, errGone.Error()},
	} {
		c, err := repertoire.Open(t.Context(), test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.what, err, test.want)
		}
		if err == nil {
			must.Do(t, c.Close())
		}
	}
}

// TestNodeOnce: a process that answers once pulls within a bound, and needs no store if there
// is a copy.
func TestNodeOnce(t *testing.T) {
	st, dir := engine.New(), t.TempDir()
	pushed(t, st, "bread")
	once := func(broken error) (repertoire.Freshness, []string) {
		t.Helper()
		n := st.Another(true)
		n.Break(broken)
		c, err := repertoire.Open(t.Context(), repertoire.Config{Store: n, DB: filepath.Join(dir, "copy"), Schedule: repertoire.Never, Defer: true})
		must.Do(t, err)
		defer c.Close()
		f, err := c.Freshen(t.Context(), nil)
		must.Do(t, err)
		return f, list(t, c, nil, false)
	}
	f, skills := once(nil)
	if want(t, "skills", skills, "bread"); !f.Current || f.Stale != nil {
		t.Errorf("the first time: %+v", f)
	}
	f, skills = once(errGone)
	if want(t, "skills without the store", skills, "bread"); f.Current || !errors.Is(f.Stale, store.ErrUnreachable) {
		t.Errorf("without the store: %+v", f)
	}
	pushed(t, st, "cake")
	_, skills = once(nil)
	want(t, "skills after a change", skills, "cake")
}

// TestNodeUnwritable: where the copy cannot be written, what was removed does not come back
// with the next process.
func TestNodeUnwritable(t *testing.T) {
	st, dir := engine.New(), t.TempDir()
	pushed(t, st, "bread", "cake")
	n := node(t, st, dir, repertoire.Config{})
	// Folders in the place of the next files make writing them fail, for root too.
	manifest := filepath.Join(dir, "copy.current.repertoire.tmp")
	must.Do(t, os.MkdirAll(filepath.Join(manifest, "x"), 0o700))
	pushed(t, st, "cake")
	n.heard(t)
	want(t, "skills", list(t, n.Catalog, nil, false), "cake")
	if _, err := os.Stat(filepath.Join(dir, "copy.current")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy of before is still there: %v", err)
	}
	must.Do(t, os.RemoveAll(manifest))
	pushed(t, st, "cake", "pie")
	n.heard(t)
	want(t, "skills when files can be written again", list(t, n.Catalog, nil, false), "cake", "pie")
	if _, err := os.Stat(filepath.Join(dir, "copy.current")); err != nil {
		t.Error(err)
	}
}

// A counting store counts how often it is asked for files.
type countingStore struct {
	*engine.Store
	asked atomic.Int32
}

func (s *countingStore) SkillFiles(ctx context.Context, label, dir string) ([]skill.File, error) {
	s.asked.Add(1)
	return s.Store.SkillFiles(ctx, label, dir)
}

func (s *countingStore) Content(ctx context.Context, sha256 string) ([]byte, error) {
	s.asked.Add(1)
	return s.Store.Content(ctx, sha256)
}

// TestNodeReadsItsOwn: what a node has read once and still has, it reads without the store,
// which may hang; what has changed is read from there.
func TestNodeReadsItsOwn(t *testing.T) {
	st := engine.New()
	write := func(note string) {
		e, err := static.Default()
		must.Do(t, err)
		files := docs("bread", "cake")
		files["bread/note.md"] = note
		_, err = push.Push(t.Context(), st, []source.Source{memory(t, "team", 0, files)}, &push.Options{Embedder: e, Inline: true})
		must.Do(t, err)
	}
	write("Knead.")
	counted := &countingStore{Store: st.Another(true)}
	changed := make(chan struct{}, 100)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Store: counted, DB: filepath.Join(t.TempDir(), "copy"), Changed: func() { changed <- struct{}{} }})
	must.Do(t, err)
	defer c.Close()
	read := func(want string) (asked int32) {
		t.Helper()
		counted.asked.Store(0)
		f, err := c.File(t.Context(), "bread", "note.md", nil)
		must.Do(t, err)
		if f.Text != want {
			t.Errorf("read %q, want %q", f.Text, want)
		}
		_, err = c.Body(t.Context(), "bread", nil)
		must.Do(t, err)
		return counted.asked.Load()
	}
	if first, second := read("Knead."), read("Knead."); first == 0 || second != 0 {
		t.Errorf("asked %d times, and then %d times", first, second)
	}
	write("Knead twice.")
	<-changed
	if first, second := read("Knead twice."), read("Knead twice."); first == 0 || second != 0 {
		t.Errorf("after a change asked %d times, and then %d times", first, second)
	}
}

func entriesOf(a repertoire.Answer) (list []repertoire.Entry) {
	for _, h := range a.Hits {
		list = append(list, h.Entry)
	}
	return list
}
