package repertoire_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// onSmallDisk makes a catalog of the skills in dir on a small disk, and closes it.
func onSmallDisk(t *testing.T) (cfg repertoire.Config, dir, disk string) {
	t.Helper()
	src, dir := folder(t, "team", docs(many()...))
	aged(t, dir)
	disk = crashtest.SmallDisk(t, "4m")
	cfg = repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(disk, "catalog.db")}
	closedCatalog(t, cfg)
	return cfg, dir, disk
}

// TestFullDisk: while the disk of the catalog is full, processes that are new and one that
// stays answer as before and say that they are stale; when there is room, all is noticed.
func TestFullDisk(t *testing.T) {
	cfg, dir, disk := onSmallDisk(t)
	resident := scanned(t, cfg)
	empty := crashtest.Fill(t, filepath.Join(disk, "ballast"))
	text := doc("skill-new", "Waters plants. "+strings.Repeat("It takes very long to say how. ", 30))
	must.Write(t, filepath.Join(dir, "skill-new", "SKILL.md"), text)
	if _, err := resident.Owner().Rescan(t.Context(), nil); err == nil {
		t.Error("a rescan on a full disk succeeds")
	}
	n := len(many())
	for round := range 2 {
		for name, c := range map[string]*repertoire.Catalog{"resident": resident, "new": deferred(t, cfg)} {
			f, err := c.Freshen(t.Context(), nil)
			if err != nil || f.Stale == nil {
				t.Errorf("round %d: %s: %+v, %v; want stale answers", round, name, f, err)
			}
			if got := len(list(t, c, nil, false)); got != n {
				t.Errorf("round %d: %s: %d skills, want %d", round, name, got, n)
			}
			if hits, _ := search(t, c, repertoire.Query{Text: "skill-07"}); len(hits) == 0 || hits[0] != "skill-07" {
				t.Errorf("round %d: %s: found %v", round, name, hits)
			}
			if name == "new" {
				must.Do(t, c.Close())
			}
		}
		must.Do(t, resident.Close()) // the second round finds no process that has the catalog open
		resident = deferred(t, cfg)
	}
	empty()
	c := deferred(t, cfg)
	f, err := c.Freshen(t.Context(), nil)
	if err != nil || f.Stale != nil {
		t.Errorf("with room again: %+v, %v", f, err)
	}
	want(t, "plants", first(search(t, c, repertoire.Query{Text: "plants", Limit: 1})), "skill-new")
}

// TestRoomAgain: a process that started on a full disk follows changes as soon as there is
// room, by itself.
func TestRoomAgain(t *testing.T) {
	cfg, dir, disk := onSmallDisk(t)
	empty := crashtest.Fill(t, filepath.Join(disk, "ballast"))
	resident := open(t, cfg)
	now := toggle(t, dir, many(), "skill-05")
	if _, err := resident.Owner().Rescan(t.Context(), nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("on a full disk: %v, want %v", err, store.ErrReadOnly)
	}
	want(t, "on a full disk", list(t, resident, nil, false), many()...)
	empty()
	rescan(t, resident)
	want(t, "with room again", list(t, resident, nil, false), now...)
	rescan(t, resident)
	want(t, "in a new process", list(t, deferred(t, cfg), nil, false), now...)
}

// TestReadOnlyFollows: a process that can only read a catalog follows what another process
// writes.
func TestReadOnlyFollows(t *testing.T) {
	src, dir := folder(t, "team", docs(many()...))
	aged(t, dir)
	disk, view := crashtest.SmallDisk(t, "4m"), crashtest.SmallDisk(t, "4m")
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(disk, "catalog.db")}
	closedCatalog(t, cfg)
	must.Do(t, syscall.Mount(disk, view, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { must.Do(t, syscall.Unmount(view, syscall.MNT_DETACH)) })
	must.Do(t, syscall.Mount("", view, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	reader := cfg
	reader.DB = filepath.Join(view, "catalog.db")
	c := open(t, reader)
	now := many()
	for _, skill := range []string{"skill-05", "skill-07", "skill-05"} {
		want(t, "before a change", list(t, c, nil, false), now...)
		now = toggle(t, dir, now, skill)
		closedCatalog(t, cfg)
		want(t, "after a change", list(t, c, nil, false), now...)
		if n, found, err := c.Size(t.Context()); n != len(now) || found != len(now) || err != nil {
			t.Errorf("Size() = %d, %d, %v; want %d", n, found, err, len(now))
		}
		hits, _ := search(t, c, repertoire.Query{Text: skill})
		if slices.Contains(hits, skill) != slices.Contains(now, skill) {
			t.Errorf("%s: hits %v", skill, hits)
		}
	}
}

// TestUnmounted: while a root is not mounted, and its mount point is there, all that is
// known of it stays.
func TestUnmounted(t *testing.T) {
	root := t.TempDir()
	mount := func() {
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("nothing can be mounted here: %v", err)
		}
		for name, text := range docs("one", "two") {
			must.Write(t, filepath.Join(root, name), text)
		}
		aged(t, root)
	}
	src, err := source.Dir(root, &source.Options{Label: "share", Kind: source.KindRoot})
	must.Do(t, err)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never}
	mount()
	c := scanned(t, cfg)
	for round := range 2 {
		must.Do(t, syscall.Unmount(root, 0))
		if r := rescan(t, c)[0]; !r.Away || r.Removed != 0 {
			t.Errorf("round %d: not mounted: %+v", round, r)
		}
		want(t, "not mounted", list(t, c, nil, false), "one", "two")
		mount()
		if r := rescan(t, c)[0]; r.Away || r.Found != 2 || r.Added+r.Removed != 0 {
			t.Errorf("round %d: mounted again: %+v", round, r)
		}
	}
	must.Do(t, syscall.Unmount(root, 0))
}

func first(hits []string, _ string) []string { return hits }

// TestReadOnlyMount: a catalog on a file system that is mounted read-only answers, and says
// that it is stale if something has changed.
func TestReadOnlyMount(t *testing.T) {
	src, dir := folder(t, "team", docs("one"))
	aged(t, dir)
	disk := crashtest.SmallDisk(t, "4m")
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(disk, "catalog.db")}
	closedCatalog(t, cfg)
	must.Do(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	c := deferred(t, cfg)
	if f, err := c.Freshen(t.Context(), nil); err != nil || !f.Current || f.Stale != nil {
		t.Errorf("nothing changed: %+v, %v", f, err)
	}
	must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
	if f, err := c.Freshen(t.Context(), nil); err != nil || !errors.Is(f.Stale, store.ErrReadOnly) {
		t.Errorf("after a change: %+v, %v; want stale answers", f, err)
	}
	want(t, "skills", list(t, c, nil, false), "one")
	if _, err := c.Owner().RescanAll(t.Context(), nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("error %v, want %v", err, store.ErrReadOnly)
	}
}
