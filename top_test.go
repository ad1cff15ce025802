package repertoire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// known returns what a catalog knows of its skills: names, places and digests.
func known(t *testing.T, c *repertoire.Catalog) (list []string) {
	t.Helper()
	entries, err := c.List(t.Context(), nil, nil)
	must.Do(t, err)
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s at %s: %s", e.ID, e.Path, e.Digest))
	}
	return list
}

// TestSkillAtTop: whatever happens at the top of a folder of skills, a catalog that looks only
// at what has changed, a process that gives one answer and a new catalog know the same.
func TestSkillAtTop(t *testing.T) {
	src, dir := folder(t, "team", docs("group/cake", "bread"))
	must.Write(t, filepath.Join(dir, "group", "notes.md"), "Notes.")
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	now := time.Now().Add(-2 * time.Hour)
	age := func() {
		now = now.Add(time.Minute)
		dated(t, dir, now)
	}
	age()
	long := scanned(t, cfg)
	alone := cfg // which only processes that give one answer keep up to date
	alone.DB = filepath.Join(t.TempDir(), "catalog.db")
	closedCatalog(t, alone)
	put := func(name, text string) func() { return func() { must.Write(t, at(name), text) } }
	for _, step := range []struct {
		name   string
		change func()
		skills int
	}{
		{"a skill at the top", put("SKILL.md", doc("stray", "Strays.")), 3},
		{"it changes", put("SKILL.md", doc("stray", "Strays far.")), 3},
		{"one more file of it", put("more.md", "More."), 3},
		{"a file of another skill", put("bread/more.md", "More."), 3},
		{"a new skill", put("pie/SKILL.md", doc("pie", "Does pie.")), 4},
		{"a folder of it becomes a skill", put("group/SKILL.md", doc("group", "Groups.")), 4}, // and hides group/cake
		{"and is none again", func() { must.Do(t, os.Remove(at("group/SKILL.md"))) }, 4},
		{"a skill becomes a folder of it", func() { must.Do(t, os.Remove(at("pie/SKILL.md"))); must.Write(t, at("pie/x.md"), "x") }, 3},
		{"material of it", put("assets/template/SKILL.md", doc("template", "Is no skill.")), 3},
		{"it is empty", put("SKILL.md", ""), 2},
		{"it is a skill again", put("SKILL.md", doc("stray", "Strays.")), 3},
		{"it is gone", func() { must.Do(t, os.Remove(at("SKILL.md"))) }, 3}, // its template is now a skill
		{"it is a folder", put("SKILL.md/x/SKILL.md", doc("x", "Does x.")), 4},
	} {
		step.change()
		age()
		rescan(t, long)
		fresh := cfg
		fresh.DB = ""
		want := known(t, scanned(t, fresh))
		if len(want) != step.skills {
			t.Errorf("%s: %d skills, want %d: %q", step.name, len(want), step.skills, want)
		}
		if diff := cmp.Diff(want, known(t, long)); diff != "" {
			t.Errorf("%s: after a rescan (-want +got):\n%s", step.name, diff)
		}
		for who, cfg := range map[string]repertoire.Config{"of a catalog that was rescanned": cfg, "that notices it": alone} {
			once := deferred(t, cfg)
			_, err := once.Freshen(t.Context(), nil)
			must.Do(t, err)
			if diff := cmp.Diff(want, known(t, once)); diff != "" {
				t.Errorf("%s: in a process %s (-want +got):\n%s", step.name, who, diff)
			}
			if g := glanceAt(t, cfg); !g.Current || !g.All {
				t.Errorf("%s: after a process %s: %+v", step.name, who, g)
			}
		}
	}
}
