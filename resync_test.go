package repertoire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// counts is what a rescan of one source reports.
func counts(r repertoire.Report) string {
	return fmt.Sprintf("%d found: %d added, %d changed, %d removed, %d unchanged, %d refused, complete %v",
		r.Found, r.Added, r.Changed, r.Removed, r.Unchanged, r.Refused, r.Complete)
}

// TestRescanAgain: later rescans of one process, which look only at what the
// first saw, report and do the same as one that walks.
func TestRescanAgain(t *testing.T) {
	src, dir := folder(t, "team", docs(many()...))
	must.Write(t, filepath.Join(dir, "Wrong", "skill.MD"), "not found by this name") // a problem of each walk
	aged(t, dir)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	c := scanned(t, cfg)
	n := len(many())
	at := func(name string) string { return filepath.Join(dir, name, "SKILL.md") }
	before := time.Now().Add(-30 * time.Minute)
	for _, step := range []struct {
		name   string
		change func()
		want   string
		find   string // a text that finds the skill of that name
		found  string
	}{
		{"nothing", func() {}, fmt.Sprintf("%d found: 0 added, 0 changed, 0 removed, %d unchanged, 0 refused, complete true", n, n), "", ""},
		{"edited", func() { must.Write(t, at("skill-07"), doc("skill-07", "Mends umbrellas.")) },
			fmt.Sprintf("%d found: 0 added, 1 changed, 0 removed, %d unchanged, 0 refused, complete true", n, n-1), "umbrellas", "skill-07"},
		{"edited again", func() { must.Write(t, at("skill-07"), doc("skill-07", "Mends bicycles.")) },
			fmt.Sprintf("%d found: 0 added, 1 changed, 0 removed, %d unchanged, 0 refused, complete true", n, n-1), "bicycles", "skill-07"},
		{"touched", func() { must.Do(t, os.Chtimes(at("skill-07"), before, before)) },
			fmt.Sprintf("%d found: 0 added, 0 changed, 0 removed, %d unchanged, 0 refused, complete true", n, n), "bicycles", "skill-07"},
		{"SKILL.md in another case", func() {
			must.Do(t, os.Rename(at("skill-09"), filepath.Join(dir, "skill-09", "skill.md")))
			aged(t, filepath.Join(dir, "skill-09"))
		}, fmt.Sprintf("%d found: 1 added, 0 changed, 1 removed, %d unchanged, 0 refused, complete true", n, n-1), "", ""},
		{"refused", func() {
			must.Write(t, at("skill-03"), "no frontmatter at all")
			aged(t, filepath.Join(dir, "skill-03")) // or it would be read and refused each time
		},
			fmt.Sprintf("%d found: 0 added, 0 changed, 0 removed, %d unchanged, 1 refused, complete true", n, n-1), "skill-03", ""},
		{"added", func() { must.Write(t, at("skill-new"), doc("skill-new", "Waters plants.")) },
			fmt.Sprintf("%d found: 1 added, 0 changed, 0 removed, %d unchanged, 0 refused, complete true", n+1, n), "plants", "skill-new"},
		{"removed", func() { must.Do(t, os.RemoveAll(filepath.Join(dir, "skill-07"))) },
			fmt.Sprintf("%d found: 0 added, 0 changed, 1 removed, %d unchanged, 0 refused, complete true", n, n), "skill-07", ""},
		{"another process", func() {
			must.Write(t, at("skill-05"), doc("skill-05", "Bakes bread."))
			other := scanned(t, cfg)
			must.Do(t, other.Close())
		}, fmt.Sprintf("%d found: 0 added, 0 changed, 0 removed, %d unchanged, 0 refused, complete true", n, n), "bread", "skill-05"},
	} {
		step.change()
		reports := rescan(t, c)
		got := counts(reports[0])
		// What changed within the last seconds is read again, and is then the same.
		if got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		if len(reports[0].Problems) == 0 {
			t.Errorf("%s: the problem of the walk is not reported", step.name)
		}
		if step.find == "" {
			continue
		}
		hits, _ := search(t, c, repertoire.Query{Text: step.find})
		if best := append(hits, "")[0]; step.found != "" && best != step.found || step.found == "" && slices.Contains(hits, step.find) {
			t.Errorf("%s: %q finds %v, want %q", step.name, step.find, hits, step.found)
		}
		// Times that are older than a few seconds can be trusted.
		old := step.name == "touched" || step.name == "refused"
		if g := glanceAt(t, cfg); g.Current != old {
			t.Errorf("%s: the next process finds %+v, want current: %t", step.name, g, old)
		}
	}
}
