package repertoire_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// kinds are the files of a catalog, each with what its names end in.
var kinds = [][]string{{"catalog.db"}, {".current"}, {".seal"}, {".stamps"}, {".base", ".delta"}}

// copyKind copies the files of a kind from one folder to another.
func copyKind(from, to string, kind []string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if slices.ContainsFunc(kind, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) {
			data, readErr := os.ReadFile(filepath.Join(from, e.Name()))
			err = errors.Join(err, readErr, os.WriteFile(filepath.Join(to, e.Name()), data, 0o600))
		}
	}
	return err
}

// TestMixtures: each of the files of a catalog is of an older or a newer time, or
// missing. Whatever is there, the catalog answers as the sources are, at once and after
// one more change.
func TestMixtures(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	src, dir := folder(t, "team", docs(many()...))
	aged(t, dir)
	cache := func() string { return filepath.Join(t.TempDir(), "catalog.db") }
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: cache()}
	closedCatalog(t, cfg)
	old := t.TempDir()
	for _, kind := range kinds {
		must.Do(t, copyKind(filepath.Dir(cfg.DB), old, kind))
	}
	must.Do(t, os.RemoveAll(filepath.Join(dir, "skill-05")))
	must.Write(t, filepath.Join(dir, "skill-20", "SKILL.md"), doc("skill-20", "Does skill-20."))
	aged(t, dir)
	closedCatalog(t, cfg)
	folders := []string{old, filepath.Dir(cfg.DB), ""} // "" means that the files are missing
	now := append(slices.DeleteFunc(many(), func(s string) bool { return s == "skill-05" }), "skill-20")
	for state := 0; state < 243; state += testsize.Rounds(31, 1) {
		one := cfg
		one.DB = cache()
		name := ""
		for i, rest := 0, state; i < len(kinds); i, rest = i+1, rest/3 {
			name += fmt.Sprintf("%v %s ", kinds[i], []string{"old", "new", "missing"}[rest%3])
			if from := folders[rest%3]; from != "" {
				must.Do(t, copyKind(from, filepath.Dir(one.DB), kinds[i]))
			}
		}
		for _, when := range []string{"at once", "after a change"} {
			if when == "after a change" {
				now = toggle(t, dir, now, "skill-11")
			}
			c := deferred(t, one)
			_, err := c.Freshen(t.Context(), nil)
			must.Do(t, err)
			want(t, name+when, list(t, c, nil, false), now...)
			for _, skill := range []string{"skill-05", "skill-07", "skill-11", "skill-20"} {
				hits, _ := search(t, c, repertoire.Query{Text: skill})
				if slices.Contains(hits, skill) != slices.Contains(now, skill) {
					t.Errorf("%s%s: %s: hits %v", name, when, skill, hits)
				}
			}
			must.Do(t, c.Close())
		}
	}
}

// toggle removes a skill that is there, or else adds it, and returns the names of all.
func toggle(t *testing.T, dir string, now []string, skill string) []string {
	t.Helper()
	if slices.Contains(now, skill) {
		must.Do(t, os.RemoveAll(filepath.Join(dir, skill)))
		return slices.DeleteFunc(slices.Clone(now), func(s string) bool { return s == skill })
	}
	must.Write(t, filepath.Join(dir, skill, "SKILL.md"), doc(skill, "Does "+skill+"."))
	return slices.Sorted(slices.Values(append(slices.Clone(now), skill)))
}
