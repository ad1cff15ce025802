package repertoire_test

import (
	stdcmp "cmp"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A walked source counts the walks.
type walked struct {
	source.Source
	walks int
}

func (w *walked) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	w.walks++
	return w.Source.Skills(ctx, trace)
}

// TestRecall: the first rescan of a process goes by what another one has seen, and reports the same. It walks if
// that is not enough, or if the list of what was seen is damaged.
func TestRecall(t *testing.T) {
	dir, db := t.TempDir(), filepath.Join(t.TempDir(), "catalog.db")
	text := func(name string) string {
		return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nDo it.\n"
	}
	must.Files(t, dir, map[string]string{"a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "c/Skill.md": text("c"), "d/SKILL.md": "---\nname: d\n---\n"})
	settle := func() { // what has just changed is read again
		old := time.Now().Add(-time.Hour)
		must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { return stdcmp.Or(err, os.Chtimes(path, old, old)) }))
	}
	rescan := func() (repertoire.Report, int) {
		t.Helper()
		folder, err := source.Dir(dir, nil)
		must.Do(t, err)
		src := &walked{Source: folder}
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: db, Schedule: repertoire.Never})
		must.Do(t, err)
		reports, err := c.Owner().Rescan(t.Context(), nil)
		must.Do(t, err)
		must.Do(t, c.Close())
		return reports[0], src.walks
	}
	settle()
	rescan()
	rescan() // what was refused and is known now is no problem of this rescan
	want, walks := rescan()
	if walks != 0 || want.Found != 3 || want.Unchanged != 3 || len(want.Problems) != 1 {
		t.Fatalf("%d walks: %+v", walks, want)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "a/SKILL.md"), []byte(text("a")+"Again.\n"), 0o600))
	if r, walks := rescan(); r.Changed != 1 || walks != 0 {
		t.Errorf("after a change %d walks: %+v", walks, r)
	}
	must.Files(t, dir, map[string]string{"e/SKILL.md": text("e")})
	if r, walks := rescan(); r.Added != 1 || walks != 1 {
		t.Errorf("after one has come %d walks: %+v", walks, r)
	}
	must.Do(t, os.RemoveAll(filepath.Join(dir, "e")))
	settle()
	rescan()
	list, err := os.ReadFile(db + ".stamps")
	must.Do(t, err)
	must.Do(t, os.WriteFile(db+".stamps", list[:len(list)-1], 0o600))
	again, walks := rescan()
	if diff := cmp.Diff(want, again, cmpopts.IgnoreUnexported(repertoire.Report{}), cmpopts.IgnoreFields(repertoire.Report{}, "Took")); walks != 1 || diff != "" {
		t.Errorf("with a damaged list %d walks (-want +got):\n%s", walks, diff)
	}
}
