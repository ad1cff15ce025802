package evals_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// library opens a catalog of n skills on disk; the first is named like an invented one.
func library(t *testing.T, n int) *repertoire.Catalog {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("boat-%d", i)
		if i == 0 {
			name = "invoice-writer"
		}
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: Mends the hull of boat %d. Use when it leaks.\n---\n", name, i))
	}
	src, err := source.Dir(dir, &source.Options{Label: "boats"})
	must.Do(t, err)
	return catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Contextual: embed.None{}})
}

// opened opens a room until the test ends.
func opened(t *testing.T, c *repertoire.Catalog, o evals.Options) *evals.Room {
	t.Helper()
	r, err := evals.Open(t.Context(), c, o)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, r.Close()) })
	return r
}

// TestRoom: a small catalog is asked among invented skills, which never hide one of its own, a large one as it is,
// and with folders their skills are there. The catalog itself stays as it is.
func TestRoom(t *testing.T) {
	small, large := library(t, 2), library(t, 100)
	other := t.TempDir()
	must.Write(t, filepath.Join(other, "kite", "SKILL.md"), "---\nname: kite\ndescription: Flies a kite.\n---\n")
	for _, x := range []struct {
		name  string
		c     *repertoire.Catalog
		o     evals.Options
		among evals.Among
	}{
		{"small", small, evals.Options{}, evals.Among{Catalog: 2, Invented: 299}},
		{"again", small, evals.Options{}, evals.Among{Catalog: 2, Invented: 299}},
		{"with a folder", small, evals.Options{Folders: []string{other}}, evals.Among{Catalog: 2, Folders: 1}},
		{"by text", small, evals.Options{Embedder: embed.None{}, Contextual: embed.None{}}, evals.Among{Catalog: 2, Invented: 299}},
		{"of an agent", small, evals.Options{Agent: &repertoire.Agent{Exclude: repertoire.Rules{Names: []string{"boat-1"}}}}, evals.Among{Catalog: 1, Invented: 299}},
		{"large", large, evals.Options{}, evals.Among{Catalog: 100}},
	} {
		before, err := x.c.Count(t.Context(), nil)
		must.Do(t, err)
		r := opened(t, x.c, x.o)
		if r.Among != x.among {
			t.Errorf("%s: %+v, want %+v", x.name, r.Among, x.among)
		}
		if e, err := r.Lookup(t.Context(), "invoice-writer", nil); err != nil || e.Source != "boats" {
			t.Errorf("%s: %+v, %v", x.name, e.Meta, err)
		}
		answer, err := r.Search(t.Context(), repertoire.Query{Text: "boat"})
		must.Do(t, err)
		if answer.Background.Needless.Prompts == 0 {
			t.Errorf("%s: the threshold is not measured", x.name)
		}
		list, err := r.Try(t.Context(), "invoice-writer", []evals.Prompt{
			{ID: "1", Eval: skill.Eval{Prompt: "mend the hull of boat 0, it leaks", Trigger: true}},
			{ID: "2", Eval: skill.Eval{Prompt: "write tests for a function with edge cases", Trigger: true}},
		}, evals.Levels{Threshold: repertoire.Always})
		must.Do(t, err)
		if i := slices.IndexFunc(list, func(o evals.Outcome) bool { return o.ID == "2" }); x.among.Invented > 0 && !list[i].ToInvented {
			t.Errorf("%s: %+v", x.name, list[i])
		}
		if after, err := x.c.Count(t.Context(), nil); err != nil || after != before {
			t.Errorf("%s: the catalog has %d skills, and had %d (%v)", x.name, after, before, err)
		}
	}
	if _, err := evals.Open(t.Context(), small, evals.Options{Folders: []string{filepath.Join(other, "none")}}); err == nil {
		t.Error("a folder that is not there is taken")
	}
}

// TestRoomLeavesLittle: only the catalog with the invented skills stays.
func TestRoomLeavesLittle(t *testing.T) {
	c := library(t, 2)
	for _, o := range []evals.Options{{}, {Folders: []string{t.TempDir()}}} {
		r, err := evals.Open(t.Context(), c, o)
		must.Do(t, err)
		must.Do(t, r.Close())
	}
	entries, err := os.ReadDir(c.Path() + ".checks")
	must.Do(t, err)
	for _, e := range entries {
		if e.IsDir() {
			t.Errorf("%s is left", e.Name())
		}
	}
}
