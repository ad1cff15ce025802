package snapshot_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

const catalogName = "c0ffee" // the catalog in tests of a directory

// A place is a directory in which a test publishes.
type place struct {
	*snapshot.Directory
	path string // of the catalog
}

func newPlace(t *testing.T, key string) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.db")
	return place{snapshot.NewDirectory(path, key, weights), path}
}

// base writes the base of a generation that holds these names.
func (p place) base(t *testing.T, g store.Generation, names ...string) string {
	t.Helper()
	path := p.BasePath(catalogName, g)
	p.write(t, path, g, snapshot.Info{Catalog: catalogName, Generation: g}, nil, names...)
	return path
}

// delta writes what a generation adds to a base.
func (p place) delta(t *testing.T, g, base store.Generation, replaced []int64, names ...string) string {
	t.Helper()
	path := p.DeltaPath(catalogName, g)
	p.write(t, path, g, snapshot.Info{Catalog: catalogName, Generation: g, Base: base, Replaced: replaced}, nil, names...)
	return path
}

// write writes a snapshot. rows are the rows of the names; nil means 1, 2, and so on.
func (p place) write(t *testing.T, path string, g store.Generation, info snapshot.Info, rows []int64, names ...string) {
	t.Helper()
	must.Do(t, snapshot.Write(atomicfile.OS{}, path, metaOf(t, g, info), each(named(rows, names...))))
}

func metaOf(t testing.TB, g store.Generation, info snapshot.Info) snapshot.Meta {
	t.Helper()
	extra, err := json.Marshal(info)
	must.Do(t, err)
	return snapshot.Meta{Generation: g, Weights: weights, Extra: extra}
}

// named returns documents of these names, which rise.
func named(rows []int64, names ...string) []document {
	docs := make([]document, len(names))
	for i, name := range names {
		d := &docs[i]
		d.Key, d.Name, d.ID, d.Row, d.Source = name, name, name, int64(i+1), "home"
		if rows != nil {
			d.Row = rows[i]
		}
		d.Fields = skill.Fields{Name: []string{name}, Body: []string{"common", "body" + name}}
	}
	return docs
}

// publish names files in the manifest.
func (p place) publish(t *testing.T, g store.Generation, base, delta string) {
	t.Helper()
	f := snapshot.Files{Base: filepath.Base(base)}
	if delta != "" {
		f.Delta = filepath.Base(delta)
	}
	must.Do(t, p.Publish(g, f))
}

// openSet opens the published set; nil means that it cannot be used.
func (p place) openSet(t *testing.T) *snapshot.Set {
	t.Helper()
	s, err := p.Open(nil)
	must.Do(t, err)
	if s != nil {
		t.Cleanup(func() { s.Close(nil) })
	}
	return s
}

var (
	first  = store.Generation{Number: 7, Token: 11}
	second = store.Generation{Number: 8, Token: -12}
)

func TestDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	if p.openSet(t) != nil {
		t.Error("there is a set, although nothing is published")
	}
	base := p.base(t, first, "csv", "pdf")
	p.publish(t, first, base, "")
	old := p.openSet(t)
	if old == nil || !p.IsCurrent(old) || !old.Compiled || old.Size() != 2 || old.Generation != first {
		t.Fatalf("the set is %+v", old)
	}
	p.publish(t, second, base, p.delta(t, second, first, []int64{2}, "doc"))
	if p.IsCurrent(old) {
		t.Error("a set of the manifest before is current")
	}
	now, err := p.Open(old)
	if err != nil || now == nil || !now.Shares(old) || now.Size() != 2 || now.Generation != second {
		t.Fatalf("the set is %+v, %v", now, err)
	}
	old.Close(now)
	if err := now.Read(func(*snapshot.View) error { return nil }); err != nil {
		t.Errorf("what both sets have was closed with the old one: %v", err)
	}
	now.Close(nil)
	if err := p.Withdraw(); err != nil || p.IsCurrent(now) || p.openSet(t) != nil {
		t.Errorf("withdrawn: %v, and still current", err)
	}
	if err := p.Withdraw(); err != nil {
		t.Errorf("withdrawing nothing: %v", err)
	}
}

// TestDirectoryRefuses: a manifest and files that do not belong together are not used,
// whether the manifest or a file is foreign.
func TestDirectoryRefuses(t *testing.T) {
	t.Parallel()
	other := store.Generation{Number: first.Number, Token: first.Token + 1} // of another life
	for name, publish := range map[string]func(t *testing.T, p place){
		"a manifest of another number": func(t *testing.T, p place) {
			p.publish(t, second, p.base(t, first, "pdf"), "")
		},
		"a manifest of another token": func(t *testing.T, p place) {
			p.publish(t, other, p.base(t, first, "pdf"), "")
		},
		"a base of another token": func(t *testing.T, p place) {
			must.Do(t, os.Rename(p.base(t, other, "pdf"), p.BasePath(catalogName, first)))
			p.publish(t, first, p.BasePath(catalogName, first), "")
		},
		"a base of another catalog": func(t *testing.T, p place) {
			path := p.BasePath(catalogName, first)
			p.write(t, path, first, snapshot.Info{Catalog: "other", Generation: first}, nil, "pdf")
			p.publish(t, first, path, "")
		},
		"a delta of a base of another token": func(t *testing.T, p place) {
			p.publish(t, second, p.base(t, first, "pdf"), p.delta(t, second, other, nil, "doc"))
		},
		"a delta without its base": func(t *testing.T, p place) {
			delta := p.delta(t, second, first, nil, "doc")
			p.publish(t, second, delta, "")
		},
		"a base that is gone": func(t *testing.T, p place) {
			p.publish(t, first, p.BasePath(catalogName, first), "")
		},
		"another key": func(t *testing.T, p place) {
			q := place{snapshot.NewDirectory(p.path, "ffffffff", weights), p.path}
			q.publish(t, first, q.base(t, first, "pdf"), "")
		},
		"other weights": func(t *testing.T, p place) {
			q := place{snapshot.NewDirectory(p.path, "0011aabb", skill.Weights{Body: 1}), p.path}
			q.publish(t, first, p.base(t, first, "pdf"), "")
			if q.openSet(t) != nil {
				t.Error("scores of other weights are used")
			}
		},
		"no manifest of ours": func(t *testing.T, p place) {
			p.publish(t, first, p.base(t, first, "pdf"), "")
			must.Do(t, os.WriteFile(snapshot.ManifestPath(p.path), []byte("{"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "0011aabb")
			publish(t, p)
			if s := p.openSet(t); s != nil {
				t.Errorf("it is used: generation %v, %d skills", s.Generation, s.Size())
			}
		})
	}
}

// TestDeltaOfOtherModels: a delta whose vectors another model made is not used with a base,
// whichever space the model is of.
func TestDeltaOfOtherModels(t *testing.T) {
	t.Parallel()
	for space := range snapshot.Spaces {
		for _, m := range []snapshot.Model{{}, {Name: "other"}, {Dim: 4}} {
			p := newPlace(t, "0011aabb")
			meta := metaOf(t, second, snapshot.Info{Catalog: catalogName, Generation: second, Base: first})
			meta.Models[space] = m
			delta := p.DeltaPath(catalogName, second)
			must.Do(t, snapshot.Write(atomicfile.OS{}, delta, meta, each(named([]int64{2}, "doc"))))
			p.publish(t, second, p.base(t, first, "pdf"), delta)
			if used, same := p.openSet(t) != nil, m == (snapshot.Model{}); used != same {
				t.Errorf("space %d: a delta of %+v is used: %v", space, m, used)
			}
		}
	}
}

// TestManifestPath: files named by a manifest are always looked for next to the catalog.
func TestManifestPath(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	elsewhere := filepath.Join(t.TempDir(), filepath.Base(p.BasePath(catalogName, first)))
	must.Do(t, os.Rename(p.base(t, first, "pdf"), elsewhere))
	must.Do(t, p.Publish(first, snapshot.Files{Base: elsewhere}))
	if p.openSet(t) != nil {
		t.Error("a file of another folder is used")
	}
}

// TestDirectorySpoiled: a damaged file is removed, and a file that replaces it is used.
// Package index tests a damaged file that cannot be removed, because it has a test that
// runs without privileges.
func TestDirectorySpoiled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	path := p.base(t, first, "pdf")
	p.publish(t, first, path, "")
	must.Do(t, os.Truncate(path, 100))
	if p.openSet(t) != nil {
		t.Error("a file that was cut is used")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was not removed")
	}
	if p.base(t, first, "pdf"); p.openSet(t) == nil {
		t.Error("the file that replaced it is not used")
	}
}

// TestSweep: Sweep removes files of other generations and other catalogs, and files named
// by older versions. It keeps files of another key and temporary files for a day, and
// never removes a file that is not a snapshot of this catalog.
func TestSweep(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	keep, drop := p.base(t, first, "pdf"), p.base(t, second, "pdf")
	leave := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, p.path+"."+name)
			must.Do(t, os.WriteFile(p.path+"."+name, nil, 0o600))
		}
		return paths
	}
	gone := append(leave("c0ffee-0011aabb-3.base", "c0ffee-0011aabb-4.delta", "former-0011aabb-3-b.base", "former-ffffffff-3-b.delta"), drop)
	later := leave("c0ffee-ffffffff-3-b.base", "c0ffee-0011aabb-3-b.base.123.tmp")
	kept := append(leave("old.1234-0011aabb-3-b.base", "mine", "a-b.base", "a-b-c.base", "a-b-c-d.base", "c0ffee-0011aabb-3-b-c.base"), keep)
	check := func(when string, there, notThere []string) {
		t.Helper()
		for _, path := range slices.Concat(there, notThere) {
			if _, err := os.Stat(path); (err == nil) != slices.Contains(there, path) {
				t.Errorf("%s: %s is there: %v", when, filepath.Base(path), err == nil)
			}
		}
	}
	f := snapshot.Files{Base: filepath.Base(keep)}
	now := time.Now()
	p.Sweep(catalogName, f, now)
	check("at once", slices.Concat(kept, later), gone)
	p.Sweep(catalogName, f, now.Add(-time.Hour)) // the clock was put back
	check("an hour earlier", slices.Concat(kept, later), gone)
	p.Sweep(catalogName, f, now.Add(24*time.Hour+time.Minute))
	check("after a day", kept, slices.Concat(gone, later))
	for _, path := range later {
		future := now.Add(365 * 24 * time.Hour)
		must.Do(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, future, future)))
	}
	p.Sweep(catalogName, f, now)
	check("of the next year", kept, slices.Concat(gone, later))
}

// TestBases: Bases returns the bases of this key, the newest first; Oldest returns the
// oldest generation that a delta may still need.
func TestBases(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	q := place{snapshot.NewDirectory(p.path, "ffffffff", weights), p.path}
	one, two := p.base(t, first, "pdf"), p.base(t, second, "pdf")
	if got := p.Bases(catalogName); !slices.Equal(got, []string{two, one}) {
		t.Errorf("bases %q", got)
	}
	if got := p.Bases("other"); len(got) != 0 {
		t.Errorf("bases of another catalog: %q", got)
	}
	own := store.Generation{Number: 9, Token: 1}
	if got := p.Oldest(catalogName, own); got != own {
		t.Errorf("oldest %v, want the generation of our own newest base", got)
	}
	q.base(t, first, "pdf")
	if got := p.Oldest(catalogName, own); got != first {
		t.Errorf("oldest %v, want the generation of the other key", got)
	}
}

// TestForeignName: whatever an engine on another machine calls its catalog, its files are
// beside the catalog.
func TestForeignName(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "0011aabb")
	for _, name := range []string{"/../../x", `\..\x`, "c:x", ".", "a-b", "", strings.Repeat("a", 5000)} {
		for _, path := range []string{p.BasePath(name, first), p.DeltaPath(name, first)} {
			if filepath.Dir(path) != filepath.Dir(p.path) || len(filepath.Base(path)) > 200 {
				t.Errorf("%.20q: %.200q", name, path)
			}
		}
		if err := p.WriteCalibration(&snapshot.Calibration{Catalog: name}); err != nil {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(p.path)); err != nil || len(entries) == 0 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
