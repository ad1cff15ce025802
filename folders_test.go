package repertoire_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestOpenDir: exactly these folders, whatever the user has configured; the earlier one wins;
// and nothing lies beside the skills afterwards.
func TestOpenDir(t *testing.T) {
	project := setMachine(t)
	home := filepath.Dir(project)
	must.Write(t, filepath.Join(home, "config.yaml"), "disabled: [wine]\nembedder: none\n")
	team, own := filepath.Join(home, "team", "skills"), filepath.Join(home, "own", "skills")
	must.Files(t, team, map[string]string{"bread/SKILL.md": doc("bread", "Bakes bread of the team."), "wine/SKILL.md": doc("wine", "Chooses wine.")})
	must.Files(t, own, map[string]string{"bread/SKILL.md": doc("bread", "Bakes own bread.")})
	var paths []string
	for _, tt := range []struct {
		folders []string
		source  string // of the skill bread
	}{
		{[]string{own, team}, "own/skills"},
		{[]string{team, own, team}, "team/skills"},
		{[]string{team}, "skills"},
	} {
		c, err := repertoire.OpenDir(t.Context(), tt.folders...)
		must.Do(t, err)
		want(t, "skills", list(t, c, nil, false), "bread", "wine")
		e, err := c.Lookup(t.Context(), "bread", nil)
		if err != nil || e.Source != tt.source {
			t.Errorf("of %v bread is of %s, %v, want %s", tt.folders, e.Source, err, tt.source)
		}
		if got := c.Labels()[0]; got != tt.source {
			t.Errorf("of %v the first label is %s", tt.folders, got)
		}
		paths = append(paths, c.Path())
		must.Do(t, c.Close())
	}
	for i, path := range paths {
		if !strings.HasPrefix(path, filepath.Join(home, "cache")) || i > 0 && path == paths[i-1] {
			t.Errorf("catalog files %v", paths)
		}
	}
	if entries, err := os.ReadDir(team); len(entries) != 2 || err != nil {
		t.Errorf("beside the skills lie %v, %v", entries, err)
	}
}

// TestOpenFS: the catalog file belongs to what the skills say.
func TestOpenFS(t *testing.T) {
	setMachine(t)
	system := func(description string) fs.FS {
		return fstest.MapFS{"bread/SKILL.md": {Data: []byte(doc("bread", description)), ModTime: time.Unix(1, 0)}}
	}
	seen := make(map[string]string)
	for _, description := range []string{"Bakes bread.", "Bakes rye.", "Bakes bread."} {
		c, err := repertoire.OpenFS(t.Context(), system(description))
		must.Do(t, err)
		e, err := c.Lookup(t.Context(), "bread", nil)
		if err != nil || e.Description != description || e.Source != "fs" {
			t.Errorf("%+v, %v", e, err)
		}
		if before, ok := seen[c.Path()]; ok && before != description {
			t.Errorf("%q and %q share a file", before, description)
		}
		seen[c.Path()] = description
		must.Do(t, c.Close())
	}
	if len(seen) != 2 {
		t.Errorf("files %v, want two", seen)
	}
	c, err := repertoire.OpenFS(t.Context(), system("One."), system("Two."))
	must.Do(t, err)
	defer c.Close()
	e, err := c.Lookup(t.Context(), "bread", nil)
	if err != nil || e.Source != "fs1" {
		t.Errorf("of two systems bread is of %s, %v", e.Source, err)
	}
}

// TestOpenNothing: what is not there is an error that says what to do, unless it may come later.
func TestOpenNothing(t *testing.T) {
	setMachine(t)
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "file"), "no folder")
	absent := filepath.Join(dir, "skills")
	openDir := func(folders ...string) error {
		c, err := repertoire.OpenDir(t.Context(), folders...)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	for want, err := range map[string]error{
		"a catalog of nothing: name folders":                        openDir(),
		"there is no folder " + absent + ": correct its path":       openDir(dir, absent),
		"there is no folder " + filepath.Join(dir, "file"):          openDir(filepath.Join(dir, "file")),
		`the path of a folder is ""`:                                openDir(""),
		"or call OpenDefault for the skills of the user":            func() error { _, err := repertoire.OpenFS(t.Context()); return err }(),
		"there is no folder fs:.: correct its path, or set Config.": func() error { _, err := repertoire.OpenFS(t.Context(), os.DirFS(absent)); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	c := open(t, repertoire.Config{Dirs: []string{absent}, Away: true})
	if r := rescan(t, c); !r[0].Away {
		t.Errorf("reports %+v, want one that is away", r)
	}
	must.Files(t, absent, docs("bread"))
	rescan(t, c)
	want(t, "later", list(t, c, nil, false), "bread")
}

// TestPlaceless: sources that are not on disk have an index of their own, whatever their labels
// are, which goes when the catalog is closed, and when its process was killed.
func TestPlaceless(t *testing.T) {
	setMachine(t)
	t.Setenv("TMPDIR", t.TempDir()) // elsewhere than on Unix the usual one stays
	cache := t.TempDir()
	t.Setenv("REPERTOIRE_CACHE", cache)
	left := filepath.Join(cache, "own", "1")
	must.Files(t, left, map[string]string{"held": "", "locked": "", "catalog.db": ""})
	files := map[string]string{"bread/SKILL.md": doc("bread", "Bakes rye bread.")}
	inMemory := memory(t, "app", 0, map[string]string{"bread/SKILL.md": doc("bread", "Bakes flat bread.")})
	asked, err := source.Func(func(context.Context) (map[string]string, error) { return files, nil }, &source.Options{Label: "app"})
	must.Do(t, err)
	open := func(s source.Source) *repertoire.Catalog {
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{s}, Schedule: repertoire.Never})
		must.Do(t, err)
		return c
	}
	flat, rye := open(inMemory), open(asked)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed process has left is there: %v", err)
	}
	rescan(t, flat)
	rescan(t, rye)
	for c, want := range map[*repertoire.Catalog]string{flat: "Bakes flat bread.", rye: "Bakes rye bread."} {
		e, err := c.Lookup(t.Context(), "bread", nil)
		if err != nil || e.Description != want {
			t.Errorf("%q, %v; want %q", e.Description, err, want)
		}
	}
	for _, c := range []*repertoire.Catalog{flat, rye} {
		folder := filepath.Dir(c.Path())
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
		must.Do(t, c.Close())
		must.Do(t, c.Close())
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("after Close there is %s: %v", folder, err)
		}
	}
}

// TestPlacelessLater: a source that is not on disk and comes later moves the catalog to a
// temporary file, and back when it goes.
func TestPlacelessLater(t *testing.T) {
	setMachine(t)
	t.Setenv("TMPDIR", t.TempDir())
	onDisk, _ := folder(t, "disk", docs("bread"))
	both := []source.Source{onDisk, memory(t, "app", 1, docs("wine"))}
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		n.Store(1)
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: both[:1], Discover: func() ([]source.Source, error) { return both[:n.Load()], nil },
		})
		must.Do(t, err)
		first := c.Path()
		next := func(sources int32, names ...string) {
			n.Store(sources)
			time.Sleep(5*time.Second + time.Millisecond)
			synctest.Wait()
			want(t, "skills", list(t, c, nil, false), names...)
		}
		next(2, "bread", "wine")
		own := c.Path()
		next(1, "bread")
		if own == first || c.Path() != first {
			t.Errorf("the catalog is %s, then %s, then %s", first, own, c.Path())
		}
		next(2, "bread", "wine")
		must.Do(t, c.Close())
		if _, err := os.Stat(filepath.Dir(own)); !os.IsNotExist(err) {
			t.Errorf("after Close there is %s: %v", own, err)
		}
	})
}
