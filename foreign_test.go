package repertoire_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

// TestForeignSource: a source that is no file system is as good as a folder.
func TestForeignSource(t *testing.T) {
	table := sourcetest.NewTable("table", docs("bread", "cheese"))
	table.Put("bread/scripts/bake.py", "bake()\n")
	c := scanned(t, repertoire.Config{Sources: []source.Source{table, memory(t, "b", 1, docs("wine"))}})
	want(t, "skills", list(t, c, nil, false), "bread", "cheese", "wine")
	body, err := c.Body(t.Context(), "bread", nil)
	must.Do(t, err)
	if body.Text != docs("bread")["bread/SKILL.md"] || body.Stale || body.Location != "table:bread/SKILL.md" || len(body.Resources) != 1 {
		t.Errorf("%+v", body)
	}
	f, err := c.File(t.Context(), "bread", "scripts/bake.py", nil)
	if err != nil || f.Text != "bake()\n" {
		t.Errorf("%+v, %v", f, err)
	}
	if r := rescan(t, c)[0]; r.Unchanged != 2 {
		t.Errorf("nothing changed: %+v", r)
	}
	table.Put("bread/SKILL.md", doc("bread", "Bakes bread."))
	if body, err := c.Body(t.Context(), "bread", nil); err != nil || !body.Stale {
		t.Errorf("before the rescan: %+v, %v", body, err)
	}
	if r := rescan(t, c)[0]; r.Changed != 1 || r.Unchanged != 1 {
		t.Errorf("one skill changed: %+v", r)
	}
	table.Remove("cheese/SKILL.md")
	table.Put("salt/SKILL.md", doc("salt", "Does salt."))
	rescan(t, c)
	want(t, "skills", list(t, c, nil, false), "bread", "salt", "wine")
}
