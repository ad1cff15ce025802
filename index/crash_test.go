package index_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// childTree is what syncChild indexes: several batches, in which some names occur
// twice.
func childTree() searchtest.Tree { return searchtest.Generated(2*index.Batch+50, 5) }

func childSource() store.Source { return store.Source{Label: "a", Root: "/a"} }

// syncChild is the work of a second process. It prints a line for every skill
// that it reads.
func syncChild(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	refs := mapped(childTree().Refs(), func(r *skill.Ref) {
		load := r.Load
		r.Load = func() (*skill.Skill, error) { fmt.Println(r.Path); return load() }
	})
	_, err = searchtest.Join(db, path, nil, nil).Sync(ctx, childSource(), refs)
	return err
}

// freshDump returns the dump that the catalog must have in the end.
func freshDump(t *testing.T) string {
	t.Helper()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, childSource(), childTree().Refs())
	return dump(t, x)
}

// TestSyncKilled kills a process in the middle of its Sync, again and again;
// the next one finishes the work. A batch is written while the next one is read:
// when the third batch is being read, the first is written.
func TestSyncKilled(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	want := freshDump(t)
	path := filepath.Join(t.TempDir(), "catalog.db")
	for _, lines := range []int{1, index.Batch / 2, 2*index.Batch + 40} {
		cmd := child(t, childPath+"="+path)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		for scan := bufio.NewScanner(out); lines > 0 && scan.Scan(); lines-- {
		}
		must.Do(t, cmd.Process.Kill())
		cmd.Wait()
	}
	x := searchtest.Open(t, path, nil, nil)
	if _, all, err := x.Size(t.Context()); err != nil || all < index.Batch || all%index.Batch != 0 && all < len(childTree()) || x.Store.(*sqlite.DB).Recovered() != "" {
		t.Fatalf("the killed processes left %d skills, recovered %q, %v; want whole batches", all, x.Store.(*sqlite.DB).Recovered(), err)
	}
	searchtest.SyncSource(t, x, childSource(), childTree().Refs())
	if dump(t, x) != want {
		t.Error("the catalog differs from the catalog of a run that was not killed")
	}
}

func TestTwoProcessesSync(t *testing.T) {
	t.Parallel()
	want := freshDump(t)
	path := filepath.Join(t.TempDir(), "catalog.db")
	var cmds []*exec.Cmd
	for range 2 {
		cmd := child(t, childPath+"="+path)
		must.Do(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	x := searchtest.Open(t, path, nil, nil)
	if dump(t, x) != want {
		t.Error("the catalog differs from the catalog of a single process")
	}
	before := generationOf(t, x)
	wantCounts(t, searchtest.SyncSource(t, x, childSource(), childTree().Refs()), "450 found: +0 ~0 -0 =450 !0, complete true")
	if generationOf(t, x) != before {
		t.Error("there was something left to do")
	}
}
