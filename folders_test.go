package repertoire_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
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
