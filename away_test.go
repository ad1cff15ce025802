package repertoire_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// longAgo is a time at which changes can be told.
var longAgo = time.Now().Add(-time.Hour)

// link makes a symbolic link, or skips the test where there are none.
func link(t testing.TB, target, name string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// onDisk returns a configuration with one folder of skills, whose files are old enough
// for a stamp.
func onDisk(t testing.TB, files map[string]string) (cfg repertoire.Config, dir string) {
	t.Helper()
	src, dir := folder(t, "team", files)
	aged(t, dir)
	return repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}, dir
}

// TestUnreadableSkill: a SKILL.md that cannot be read is a problem of that skill. What is
// known of it stays, skills that are gone are removed, and the next process needs no
// rescan until the file changes.
func TestUnreadableSkill(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, file string){
		"loop":     func(t *testing.T, file string) { link(t, filepath.Base(file), file) },
		"dangling": func(t *testing.T, file string) { link(t, "nowhere.md", file) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, dir := onDisk(t, docs("bad", "gone", "kept"))
			c := scanned(t, cfg)
			must.Do(t, os.RemoveAll(filepath.Join(dir, "gone")))
			file := filepath.Join(dir, "bad", "SKILL.md")
			must.Do(t, os.Remove(file))
			damage(t, file)
			dated(t, dir, longAgo)
			r := rescan(t, c)[0]
			if r.Removed != 1 || r.Unreadable != 1 || !r.Complete || len(r.Problems) != 1 || r.Problems[0].Path != file {
				t.Errorf("report %+v", r)
			}
			want(t, "skills", list(t, c, nil, false), "bad", "kept")
			if r := rescan(t, c)[0]; r.Unreadable != 1 || len(r.Problems) != 1 {
				t.Errorf("a second report %+v, want the same problem", r)
			}
			if g := glanceAt(t, cfg); !g.Current || !g.All {
				t.Errorf("the next process finds %+v, want nothing changed", g)
			}
			must.Do(t, os.Remove(file))
			must.Write(t, file, doc("bad", "Is good again."))
			if g := glanceAt(t, cfg); g.Current {
				t.Error("the next process does not notice that the file can be read again")
			}
			if r := rescan(t, c)[0]; r.Changed != 1 || r.Unreadable != 0 {
				t.Errorf("repaired: %+v", r)
			}
		})
	}
}

// TestUnreadableFolder: what lies below a folder that cannot be searched stays, and all
// else that is gone is removed.
func TestUnreadableFolder(t *testing.T) {
	files := docs("gone", "kept", "locked/one", "locked/two")
	broken := &lockable{files: files}
	src, err := source.New(broken, &source.Options{Label: "team"})
	must.Do(t, err)
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	want(t, "at first", list(t, c, nil, false), "gone", "kept", "locked/one", "locked/two")
	delete(files, "gone/SKILL.md")
	delete(files, "locked/two/SKILL.md")
	broken.locked = "locked"
	r := rescan(t, c)[0]
	if r.Removed != 1 || r.Complete || r.Away {
		t.Errorf("report %+v", r)
	}
	want(t, "while a folder is locked", list(t, c, nil, false), "kept", "locked/one", "locked/two")
	broken.locked = ""
	rescan(t, c)
	want(t, "afterwards", list(t, c, nil, false), "kept", "locked/one")
}

// TestLinkTarget: a link that leads nowhere yet is watched like a file, by the same
// process and by the next one.
func TestLinkTarget(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, vol string){
		"dangling": func(t *testing.T, vol string) {},
		"file":     func(t *testing.T, vol string) { must.Write(t, filepath.Join(vol, "skill"), "a file") },
		"loop":     func(t *testing.T, vol string) { link(t, "skill", filepath.Join(vol, "skill")) },
	} {
		t.Run(name, func(t *testing.T) {
			vol := t.TempDir()
			target := filepath.Join(vol, "skill")
			cfg, dir := onDisk(t, docs("a"))
			link(t, target, filepath.Join(dir, "b"))
			prepare(t, vol)
			dated(t, dir, longAgo)
			c := scanned(t, cfg)
			for round := range 2 { // the target comes, and goes again
				if g := glanceAt(t, cfg); !g.Current {
					t.Errorf("round %d: before the target is there: %+v", round, g)
				}
				must.Do(t, os.RemoveAll(target))
				must.Write(t, filepath.Join(target, "SKILL.md"), doc("b", "Is behind a link."))
				aged(t, target)
				if g := glanceAt(t, cfg); g.Current {
					t.Errorf("round %d: the next process does not notice the target", round)
				}
				rescan(t, c)
				want(t, "with the target", list(t, c, nil, false), "a", "b")
				must.Do(t, os.RemoveAll(target))
				rescan(t, c)
				want(t, "without it", list(t, c, nil, false), "a")
			}
		})
	}
}

// TestRenames: changed settings of a source change its skills, in the next process.
func TestRenames(t *testing.T) {
	cfg, dir := onDisk(t, docs("a", "b"))
	closedCatalog(t, cfg)
	named := func(names map[string]string) repertoire.Config {
		src, err := source.Dir(dir, &source.Options{Label: "team", Names: names})
		must.Do(t, err)
		cfg := cfg
		cfg.Sources = []source.Source{src}
		return cfg
	}
	other := named(map[string]string{"a": "first"})
	if g := glanceAt(t, other); g.Current {
		t.Error("a new name goes unnoticed")
	}
	c := scanned(t, other)
	want(t, "renamed", list(t, c, nil, false), "b", "first")
	if got, _ := search(t, c, repertoire.Query{Text: "first"}); !slices.Contains(got, "first") {
		t.Errorf("the new name finds %v", got)
	}
	want(t, "named as before", list(t, scanned(t, named(nil)), nil, false), "a", "b")
}

// lockable is a file system of which one folder can be locked.
type lockable struct {
	files  map[string]string
	locked string
}

func (l *lockable) now() fstest.MapFS {
	m := make(fstest.MapFS)
	for name, text := range l.files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func (l *lockable) Open(name string) (fs.File, error) { return l.now().Open(name) }

func (l *lockable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.locked {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.now().ReadDir(name)
}

// TestAway: while a root cannot be read its skills are listed as away and not offered; a
// copy of lower precedence is offered instead. Nothing of it is lost, no process scans
// again and again, and when the root is back all is as before.
func TestAway(t *testing.T) {
	_, dir := folder(t, "share", docs("one", "two"))
	own, ownDir := folder(t, "own", docs("two", "three"))
	aged(t, dir)
	aged(t, ownDir)
	first, err := source.Dir(dir, &source.Options{Label: "share", Priority: 2})
	must.Do(t, err)
	cfg := repertoire.Config{Sources: []source.Source{first, own}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	c := scanned(t, cfg)
	want(t, "at first", list(t, c, nil, false), "one", "three", "two")
	for round := range 2 {
		must.Do(t, os.Rename(dir, dir+"-away"))
		if g := glanceAt(t, cfg); g.Current {
			t.Fatal("nobody notices that the root is away")
		}
		r := rescan(t, c)[0]
		if !r.Away || r.Complete || r.Removed != 0 || len(r.Problems) != 1 || r.Problems[0].Rule != "away" {
			t.Errorf("round %d: report %+v", round, r)
		}
		if r := rescan(t, c)[0]; !r.Away || len(r.Problems) != 1 {
			t.Errorf("round %d: a second report %+v", round, r)
		}
		next := deferred(t, cfg)
		if g := next.Owner().Glance(t.Context(), time.Minute); !g.Current {
			t.Errorf("round %d: the next process finds %+v, want nothing changed", round, g)
		}
		for _, c := range []*repertoire.Catalog{c, next} {
			entries, err := c.List(t.Context(), nil, nil)
			must.Do(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprint(e.ID, " ", e.Source, " ", e.Away))
			}
			want(t, "listed", got, "one share true", "three own false", "two own false")
			if hits, _ := search(t, c, repertoire.Query{Text: "one"}); slices.Contains(hits, "one") {
				t.Errorf("round %d: found %v", round, hits)
			}
			if b, err := c.Block(t.Context(), "one", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil); err != nil || slices.ContainsFunc(b.Skills, func(h repertoire.Hit) bool { return h.ID == "one" }) {
				t.Errorf("round %d: block %v, %v", round, b.Text, err)
			}
			for _, a := range []*repertoire.Agent{nil, {Name: "a"}} {
				if n, err := c.Count(t.Context(), a); n != 2 || err != nil {
					t.Errorf("round %d: %d skills offered, %v; want 2", round, n, err)
				}
			}
		}
		must.Do(t, next.Close())
		must.Do(t, os.Rename(dir+"-away", dir))
		if g := glanceAt(t, cfg); g.Current {
			t.Error("nobody notices that the root is back")
		}
		if r := rescan(t, c)[0]; r.Away || r.Unchanged != 2 || r.Added+r.Changed+r.Removed != 0 {
			t.Errorf("back again: %+v, want all unchanged", r)
		}
		if hits, _ := search(t, c, repertoire.Query{Text: "one"}); len(hits) == 0 || hits[0] != "one" {
			t.Errorf("back again: found %v", hits)
		}
		if e, err := c.Lookup(t.Context(), "two", nil); e.Source != "share" || err != nil {
			t.Errorf("back again: two is of %q, %v", e.Source, err)
		}
	}
}

// TestAwayFirst: a root that was never there keeps nobody waiting.
func TestAwayFirst(t *testing.T) {
	away, dir := folder(t, "away", nil)
	must.Do(t, os.RemoveAll(dir))
	cfg, _ := onDisk(t, docs("a"))
	cfg.Sources = append(cfg.Sources, away)
	c := scanned(t, cfg)
	if indexed, err := c.Owner().Indexed(t.Context()); !indexed || err != nil {
		t.Errorf("indexed %t, %v", indexed, err)
	}
	if g := glanceAt(t, cfg); !g.Current {
		t.Errorf("%+v, want nothing changed", g)
	}
	must.Write(t, filepath.Join(dir, "b", "SKILL.md"), doc("b", "Comes later."))
	if g := glanceAt(t, cfg); g.Current {
		t.Error("nobody notices that the root is there")
	}
	rescan(t, c)
	want(t, "skills", list(t, c, nil, false), "a", "b")
}

// TestEmptyInPlace: where the folder of a root is another one than before, and empty, as
// where a disk is not mounted, the root is away. Who deletes all skills sees them gone.
func TestEmptyInPlace(t *testing.T) {
	cfg, dir := onDisk(t, docs("one", "two"))
	c := scanned(t, cfg)
	empty := func() {
		must.Do(t, os.Rename(dir, dir+"-away"))
		must.Do(t, os.Mkdir(dir, 0o700))
		aged(t, dir)
	}
	for round := range 2 {
		empty()
		for range 2 {
			if r := rescan(t, c)[0]; !r.Away || r.Complete || r.Removed != 0 || len(r.Problems) != 1 || r.Problems[0].Rule != "away" || r.Problems[0].Path != dir {
				t.Errorf("round %d: report %+v", round, r)
			}
		}
		if g := glanceAt(t, cfg); !g.Current {
			t.Errorf("round %d: the next process finds %+v, want nothing changed", round, g)
		}
		if n, err := c.Count(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("round %d: %d skills offered, %v", round, n, err)
		}
		want(t, "listed while it is away", list(t, c, nil, false), "one", "two")
		must.Do(t, os.Remove(dir))
		must.Do(t, os.Rename(dir+"-away", dir))
		if r := rescan(t, c)[0]; r.Away || r.Unchanged != 2 || r.Removed != 0 {
			t.Errorf("round %d: back again: %+v", round, r)
		}
	}
	must.Do(t, os.RemoveAll(filepath.Join(dir, "one")))
	must.Do(t, os.RemoveAll(filepath.Join(dir, "two")))
	if r := rescan(t, c)[0]; r.Away || r.Removed != 2 {
		t.Errorf("deleted: %+v, want 2 removed", r)
	}
	must.Write(t, filepath.Join(dir, "one", "SKILL.md"), doc("one", "Is made again."))
	rescan(t, c)
	empty()
	rescan(t, c)
	must.Do(t, c.Owner().Forget(t.Context(), "team"))
	if r := rescan(t, c)[0]; r.Away || !r.Complete {
		t.Errorf("forgotten: %+v, want an empty root", r)
	}
	want(t, "forgotten", list(t, c, nil, true))
}

// TestMovedRoot: a label that now stands for another folder, which is empty, has no skills.
func TestMovedRoot(t *testing.T) {
	cfg, _ := onDisk(t, docs("one", "two"))
	closedCatalog(t, cfg)
	src, _ := folder(t, "team", nil)
	cfg.Sources = []source.Source{src}
	c := deferred(t, cfg)
	if r := rescan(t, c)[0]; r.Away || !r.Complete || r.Removed != 2 {
		t.Errorf("report %+v, want 2 removed", r)
	}
	want(t, "skills", list(t, c, nil, true))
}

// TestUsualPlaceGone: a usual place that does not exist is empty.
func TestUsualPlaceGone(t *testing.T) {
	_, dir := folder(t, "", docs("a"))
	src, err := source.Dir(dir, &source.Options{Label: "user:.agents", Kind: source.KindUser})
	must.Do(t, err)
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	must.Do(t, os.RemoveAll(dir))
	for range 2 {
		if r := rescan(t, c)[0]; r.Removed != 1 || r.Away || !r.Complete {
			t.Errorf("report %+v", r)
		}
		must.Write(t, filepath.Join(dir, "a", "SKILL.md"), doc("a", "Is back."))
		rescan(t, c)
		want(t, "skills", list(t, c, nil, false), "a")
		must.Do(t, os.RemoveAll(dir))
		must.Do(t, os.Mkdir(dir, 0o700)) // another folder, empty
	}
}

// TestForget: what is away for good can be removed; it stays configured, and comes back if
// it is there again.
func TestForget(t *testing.T) {
	cfg, dir := onDisk(t, docs("one", "two"))
	cfg.Sources = append(cfg.Sources, memory(t, "b", 1, docs("three")))
	c := scanned(t, cfg)
	must.Do(t, os.Rename(dir, dir+"-away"))
	rescan(t, c)
	want(t, "away", list(t, c, nil, true), "one", "three", "two")
	must.Do(t, c.Owner().Forget(t.Context(), "team"))
	want(t, "forgotten", list(t, c, nil, true), "three")
	if r := rescan(t, c); !r[0].Away || r[0].Removed != 0 || r[1].Unchanged != 1 {
		t.Errorf("reports %+v", r)
	}
	want(t, "after a rescan", list(t, c, nil, true), "three")
	must.Do(t, os.Rename(dir+"-away", dir))
	rescan(t, c)
	want(t, "back again", list(t, c, nil, true), "one", "three", "two")
}

// TestRescanAll: every skill is read again, and meanwhile, and after an interruption,
// no reader finds fewer skills.
func TestRescanAll(t *testing.T) {
	var names []string
	for i := range 450 { // more than two transactions
		names = append(names, fmt.Sprintf("skill-%03d", i))
	}
	cfg, dir := onDisk(t, docs(names...))
	c := scanned(t, cfg)
	reader := deferred(t, cfg)
	count := func(when string) {
		t.Helper()
		for _, c := range []*repertoire.Catalog{c, reader} {
			if n := len(list(t, c, nil, false)); n != len(names) {
				t.Fatalf("%s: %d skills, want %d", when, n, len(names))
			}
		}
	}
	file := filepath.Join(dir, "skill-007", "SKILL.md")
	must.Write(t, file, strings.Replace(doc("skill-007", "Does skill-007."), "Body", "Beds", 1))
	aged(t, dir)
	must.Do(t, os.Chtimes(file, longAgo, longAgo))
	must.Do(t, os.Chtimes(filepath.Dir(file), longAgo, longAgo))
	found := 0
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Owner().RescanAll(ctx, func() {
		if found++; found == 300 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	count("after an interruption")
	found = 0
	reports, err := c.Owner().RescanAll(t.Context(), func() {
		if found++; found%150 == 0 {
			count(fmt.Sprintf("after %d skills", found))
		}
	})
	must.Do(t, err)
	count("afterwards")
	if r := reports[0]; r.Found != len(names) || r.Unchanged+r.Changed != len(names) || r.Removed != 0 {
		t.Errorf("report %+v", r)
	}
	if b, err := c.Search(t.Context(), repertoire.Query{Text: "beds", Syntax: true}); err != nil || len(b.Hits) != 1 {
		t.Errorf("an edit that keeps size and time: %v, %v", b.Hits, err)
	}
}
