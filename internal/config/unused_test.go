package config

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// touch makes a file, last written at a time.
func touch(t *testing.T, name string, at time.Time) {
	t.Helper()
	must.Write(t, name, "x")
	must.Do(t, os.Chtimes(name, at, at))
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// TestRemoveUnused: only old catalogs are removed, and only their own files.
// REPERTOIRE_CACHE may name somebody's home.
func TestRemoveUnused(t *testing.T) {
	now := time.Now()
	old, young := now.Add(-100*time.Hour), now.Add(-time.Hour)
	tests := []struct {
		name string
		at   time.Time
		gone bool
	}{
		{"0123456789ab/catalog.db", old, true},
		{"0123456789ab/catalog.db-wal", young, true},
		{"0123456789ab/catalog.db.lock", young, true},
		{"0123456789ab/catalog.db.damaged-20260101T000000.000000000", young, true},
		{"ffffffffffff/catalog.db", young, false},
		{"888888888888/catalog.db", old, false},                                 // opened lately
		{"eeeeeeeeeeee/catalog.db", now.Add(100 * 365 * 24 * time.Hour), false}, // the clock is wrong now
		{"999999999999/catalog.db", time.Unix(0, 0), true},
		{"ffffffffffff/catalog.db-wal", old, false},
		{"aaaaaaaaaaaa/catalog.db", old, true}, // but the folder stays
		{"aaaaaaaaaaaa/thesis.tex", old, false},
		{"aaaaaaaaaaaa/catalog.db.d/x", old, false},
		{"aaaaaaaaaaaa/catalog.db.checks/1/held", old, true},
		{"777777777777/catalog.db.new", old, true}, // whoever made it was stopped
		{"bbbbbbbbbbbb/thesis.tex", old, false},
		{"my-documents/catalog.db", old, false}, // twelve characters, too
		{"0123456789AB/catalog.db", old, false},
		{"0123456789abc/catalog.db", old, false},
		{"cccccccccccc/catalog.db/x", old, false},
		{"catalog.db", old, false},
	}
	dir := filepath.Join(t.TempDir(), "[a-z]*") // no pattern, but a name
	beside := filepath.Join(filepath.Dir(dir), "beside", "0123456789ab", "catalog.db")
	touch(t, beside, old)
	for _, tt := range tests {
		touch(t, filepath.Join(dir, tt.name), tt.at)
	}
	folders, err := os.ReadDir(dir)
	must.Do(t, err)
	for _, f := range folders {
		if f.Name() != "888888888888" {
			must.Do(t, os.Chtimes(filepath.Join(dir, f.Name()), old, old))
		}
	}
	linked := os.Symlink(filepath.Dir(beside), filepath.Join(dir, "dddddddddddd")) == nil
	removeUnused(dir, now.Add(-10*time.Hour))
	for _, tt := range tests {
		if gone := !exists(filepath.Join(dir, tt.name)); gone != tt.gone {
			t.Errorf("%s: gone %t, want %t", tt.name, gone, tt.gone)
		}
	}
	if exists(filepath.Join(dir, "0123456789ab")) {
		t.Error("the empty folder of a removed catalog is still there")
	}
	if !exists(beside) {
		t.Errorf("a catalog elsewhere was removed (with a link to it: %t)", linked)
	}
	removeUnused(filepath.Join(dir, "none"), now) // must not fail
}

func TestDefaultDB(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("REPERTOIRE_CACHE", cache)
	disk := func(dir, label string) *source.FS {
		s, err := source.Dir(dir, &source.Options{Label: label})
		must.Do(t, err)
		return s
	}
	one, two := t.TempDir(), t.TempDir()
	embedded, err := source.New(fstest.MapFS{}, &source.Options{Label: "bundled"})
	must.Do(t, err)
	seen := make(map[string]string)
	for name, sources := range map[string][]source.Source{
		"none": nil, "one": {disk(one, "a")}, "other label": {disk(one, "b")}, "other folder": {disk(two, "a")},
		"both": {disk(one, "a"), disk(two, "b")}, "both the other way": {disk(two, "b"), disk(one, "a")}, "embedded": {embedded},
	} {
		db, err := DefaultDB(sources)
		must.Do(t, err)
		if other, ok := seen[db]; ok {
			t.Errorf("%q and %q share %s", name, other, db)
		}
		seen[db] = name
		if again, err := DefaultDB(sources); again != db || err != nil {
			t.Errorf("%q: %s, then %s, %v", name, db, again, err)
		}
		folder := filepath.Dir(db)
		if filepath.Base(db) != "catalog.db" || filepath.Dir(folder) != cache || !catalogFolder().MatchString(filepath.Base(folder)) {
			t.Errorf("%q: %s is not a catalog in %s", name, db, cache)
		}
	}
}

// TestUsedIsKept: a catalog that is opened now and then is in use, although it
// is never written; another one that nobody opens makes room.
func TestUsedIsKept(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("REPERTOIRE_CACHE", cache)
	src, err := source.New(fstest.MapFS{}, &source.Options{Label: "a"})
	must.Do(t, err)
	other, err := source.New(fstest.MapFS{}, &source.Options{Label: "b"})
	must.Do(t, err)
	used, err := DefaultDB([]source.Source{src})
	must.Do(t, err)
	old := time.Now().Add(-31 * 24 * time.Hour)
	unused := filepath.Join(cache, "0123456789ab", "catalog.db")
	for _, name := range []string{used, unused} {
		touch(t, name, old)
		must.Do(t, os.Chtimes(filepath.Dir(name), old, old))
	}
	_, err = DefaultDB([]source.Source{src}) // opened again
	must.Do(t, err)
	if !exists(unused) {
		t.Error("opening a catalog that is there removed another one")
	}
	if info, err := os.Stat(used); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the file looks changed because it was opened: %v, %v", info.ModTime(), err)
	}
	_, err = DefaultDB([]source.Source{other}) // a new one
	must.Do(t, err)
	if !exists(used) || exists(unused) {
		t.Errorf("used is there: %t, unused is there: %t; want true, false", exists(used), exists(unused))
	}
}

func TestCacheDir(t *testing.T) {
	wd, err := os.Getwd()
	must.Do(t, err)
	user, err := os.UserCacheDir()
	must.Do(t, err)
	for env, want := range map[string]string{"rel/x": filepath.Join(wd, "rel", "x"), wd: wd, "": filepath.Join(user, "repertoire")} {
		t.Setenv("REPERTOIRE_CACHE", env)
		if got, err := CacheDir(); got != want || err != nil {
			t.Errorf("REPERTOIRE_CACHE=%s: %s, %v; want %s", env, got, err, want)
		}
	}
}
