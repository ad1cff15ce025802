package repertoire_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	ranking "github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// TestSchedule runs the default schedule on a fake clock. A bubble of synctest
// also fails when Close leaves a goroutine behind.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		src, dir := folder(t, "team", docs("one"))
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Logger: j.logger(),
		})
		must.Do(t, err)
		want(t, "when Open returns", list(t, c, nil, false), "one")

		must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
		want(t, "before the next rescan", list(t, c, nil, false), "one")
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		want(t, "after the next rescan", list(t, c, nil, false), "one", "two")

		must.Do(t, os.RemoveAll(filepath.Join(dir, "one")))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want(t, "after one more", list(t, c, nil, false), "two")
		if got := j.lines("level=WARN"); len(got) > 0 {
			t.Errorf("logged %v", got)
		}
		if got := j.lines("skills changed"); len(got) != 3 {
			t.Errorf("changes logged: %v, want 3", got)
		}
		must.Do(t, c.Close())
	})
}

// TestRealSchedule is TestSchedule on a real clock.
func TestRealSchedule(t *testing.T) {
	t.Parallel()
	src, dir := folder(t, "team", docs("one"))
	changed := make(chan struct{}, 100)
	c := open(t, repertoire.Config{Sources: []source.Source{src}, Schedule: "@every 1s", Changed: func() { changed <- struct{}{} }})
	must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
	for len(list(t, c, nil, false)) < 2 {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("a new skill was not noticed in a minute")
		}
	}
}

// TestOpenOutlivesContext: the context of Open bounds Open, not the schedule.
func TestOpenOutlivesContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, dir := folder(t, "team", docs("one"))
		ctx, cancel := context.WithCancel(t.Context())
		c, err := repertoire.Open(ctx, repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")})
		must.Do(t, err)
		cancel()
		must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		want(t, "after a rescan", list(t, c, nil, false), "one", "two")
		must.Do(t, c.Close())
	})
}

// TestNever: without a schedule nothing is read unasked.
func TestNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := folder(t, "team", docs("one"))
		c := open(t, repertoire.Config{Sources: []source.Source{src}})
		time.Sleep(time.Hour)
		synctest.Wait()
		want(t, "before Rescan", list(t, c, nil, false))
		if indexed, err := c.Owner().Indexed(t.Context()); indexed || err != nil {
			t.Errorf("Indexed() = %t, %v before Rescan", indexed, err)
		}
		found := 0
		_, err := c.Owner().Rescan(t.Context(), func() { found++ })
		must.Do(t, err)
		want(t, "after Rescan", list(t, c, nil, false), "one")
		if indexed, err := c.Owner().Indexed(t.Context()); !indexed || err != nil || found != 1 {
			t.Errorf("Indexed() = %t, %v after Rescan that found %d", indexed, err, found)
		}
	})
}

func TestOpenErrors(t *testing.T) {
	a, b := memory(t, "a", 0, docs("one")), memory(t, "b", 0, docs("two"))
	agent := &repertoire.Agent{Name: "x"}
	ban := ranking.Ban{Rules: repertoire.Rules{Names: []string{"[x"}}, Place: repertoire.Place{File: "c.yaml", Line: 2}}
	tests := []struct {
		name string
		cfg  repertoire.Config
		want string
	}{
		{"labels", repertoire.Config{Sources: []source.Source{a, b, memory(t, "a", 1, nil)}}, `two sources have the label "a"; name one of them differently`},
		{"agents", repertoire.Config{Sources: []source.Source{a}, Agents: []*repertoire.Agent{agent, {Name: "x"}}}, `two agents are named "x"`},
		{"agent", repertoire.Config{Sources: []source.Source{a}, Agents: []*repertoire.Agent{{}}}, "an agent has no name"},
		{"ban", repertoire.Config{Policy: &repertoire.Policy{Disabled: []ranking.Ban{ban}}}, `c.yaml:2: disabled: "[x" is not a pattern (* ? [a-z] and \ are special)`},
		{"schedule", repertoire.Config{Sources: []source.Source{a}, Schedule: "TZ=0"}, `schedule "TZ=0" is malformed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no goroutine is left either
				tt.cfg.DB = filepath.Join(t.TempDir(), "catalog.db")
				c, err := repertoire.Open(t.Context(), tt.cfg)
				if c != nil || err == nil || err.Error() != tt.want {
					t.Errorf("Open = %v, %v; want %s", c, err, tt.want)
				}
			})
		})
	}
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := repertoire.Open(ctx, repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("one"))}, DB: filepath.Join(t.TempDir(), "catalog.db")})
	if c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, %v; want %v", c, err, context.Canceled)
	}
}

// A gate is a file system whose top folder can be listed only while it is open.
type gate struct {
	fs.FS
	mu   sync.Mutex
	shut bool
	open chan struct{} // closed when the gate opens
}

func (g *gate) ReadDir(name string) ([]fs.DirEntry, error) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut {
		<-g.open
	}
	return fs.ReadDir(g.FS, name)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// TestCloseWaits: Close waits for the rescan that is under way; a second Close
// and what comes after are harmless.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{FS: fstest.MapFS{"one/SKILL.md": {Data: []byte(doc("one", "Does one."))}}, open: make(chan struct{})}
		src, err := source.New(g, &source.Options{Label: "gate"})
		must.Do(t, err)
		var j journal
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: "@every 1s", Logger: j.logger(),
		})
		must.Do(t, err)
		g.close()
		time.Sleep(5 * time.Second) // one rescan starts, and the next do not wait behind it
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Fatalf("Close returned %v while a rescan was under way", err)
		default:
		}
		close(g.open)
		must.Do(t, <-closed)
		if got := j.lines("level=WARN"); len(got) > 0 {
			t.Errorf("Close made the rescan complain: %v", got)
		}
		must.Do(t, c.Close())
		if _, err := c.Search(t.Context(), repertoire.Query{Text: "one"}); err == nil {
			t.Error("a closed catalog answers")
		}
		if _, err := c.Owner().Rescan(t.Context(), nil); err == nil {
			t.Error("a closed catalog rescans")
		}
	})
}

// TestTellOnce: what is wrong is logged when it begins, not at every rescan.
func TestTellOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		src, dir := folder(t, "team", docs("one"))
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Logger: j.logger(),
		})
		must.Do(t, err)
		for round := range 2 {
			must.Do(t, os.Rename(dir, dir+"-away"))
			time.Sleep(21 * time.Second)
			synctest.Wait()
			if got := j.lines("source cannot be read completely"); len(got) != round+1 || !strings.Contains(got[0], "source=team") {
				t.Errorf("round %d: logged %v", round, got)
			}
			want(t, "while the folder is away", list(t, c, nil, false), "one")
			must.Do(t, os.Rename(dir+"-away", dir))
			time.Sleep(6 * time.Second)
			synctest.Wait()
		}
		must.Do(t, c.Close())
	})
}

// TestOpenLogs: a source that cannot be read at first is logged, too.
func TestOpenLogs(t *testing.T) {
	var j journal
	src, dir := folder(t, "team", docs("one"))
	must.Do(t, os.RemoveAll(dir))
	open(t, repertoire.Config{Sources: []source.Source{src}, Away: true, Schedule: "@daily", Logger: j.logger()})
	if got := j.lines("source cannot be read completely"); len(got) != 1 {
		t.Errorf("logged %v", got)
	}
}

// TestBackground: a catalog that was never scanned is asked while its first scan
// runs, and answers when that is done; one that was, at once.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"one/SKILL.md": {Data: []byte(doc("one", "Does one."))}}
		g := &gate{FS: files, shut: true, open: make(chan struct{})}
		src, err := source.New(g, &source.Options{Label: "gate"})
		must.Do(t, err)
		var changes atomic.Int32
		cfg := repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"),
			Background: true, Changed: func() { changes.Add(1) },
		}
		c, err := repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		answered := make(chan []string, 1)
		go func() { answered <- list(t, c, nil, false) }()
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Block(hurried, "one", repertoire.Budget{Offer: contextprovider.Relevant}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked for a second while the first scan runs: error %v, want %v", err, context.DeadlineExceeded)
		}
		if len(answered) > 0 {
			t.Fatalf("answered %v before the first scan", <-answered)
		}
		close(g.open)
		want(t, "after the first scan", <-answered, "one")
		synctest.Wait()
		if n := changes.Load(); n != 1 {
			t.Errorf("the first scan was told %d times, want once", n)
		}
		must.Do(t, c.Close())

		g.open = make(chan struct{})
		files["two/SKILL.md"] = &fstest.MapFile{Data: []byte(doc("two", "Does two."))}
		c, err = repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		want(t, "before the scan of this process", list(t, c, nil, false), "one")
		close(g.open)
		synctest.Wait()
		want(t, "after it", list(t, c, nil, false), "one", "two")
		if n := changes.Load(); n != 2 {
			t.Errorf("told %d times, want twice", n)
		}
		must.Do(t, c.Close())
	})
}

// TestBackgroundClosed: who waits for the first scan is not left waiting.
func TestBackgroundClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{FS: fstest.MapFS{"one/SKILL.md": {Data: []byte(doc("one", "Does one."))}}, shut: true, open: make(chan struct{})}
		src, err := source.New(g, &source.Options{Label: "gate"})
		must.Do(t, err)
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Background: true})
		must.Do(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := c.Search(t.Context(), repertoire.Query{Text: "one"})
			failed <- err
		}()
		synctest.Wait()
		go func() { time.Sleep(time.Second); close(g.open) }()
		must.Do(t, c.Close())
		if err := <-failed; err == nil {
			t.Error("a catalog that was closed before its first scan answers")
		}
	})
}

// TestChanged: changes are told, whoever made them, and only they.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, dir := folder(t, "team", docs("one"))
		var changes atomic.Int32
		cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Changed: func() { changes.Add(1) }}
		c, err := repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		told := func(when string, want int32) {
			t.Helper()
			time.Sleep(6 * time.Second)
			synctest.Wait()
			if n := changes.Swap(0); n != want {
				t.Errorf("%s: told %d times, want %d", when, n, want)
			}
		}
		told("nothing changed", 0)
		must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
		told("a new skill", 1)
		told("no other", 0)
		must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two otherwise."))
		cfg.Schedule, cfg.Changed = repertoire.Never, nil
		other := open(t, cfg)
		rescan(t, other)
		told("another process read a change", 1)
		told("nothing more", 0)
		must.Do(t, c.Close())
	})
}
