package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// tracedPath names the environment variable that makes the test binary do the work of
// tracedChild, tracedStep the one that says which.
const (
	tracedPath = "INDEX_TEST_TRACED"
	tracedStep = "INDEX_TEST_TRACED_STEP"
)

// A step takes a catalog from one state to the next.
type step struct {
	name  string
	tree  searchtest.Tree
	merge bool // of the changes into a new base
}

// steps are a first index, which writes a base, a change, which writes a delta, and a
// merge, for which enough has changed.
func steps() []step {
	tree := searchtest.Generated(index.Batch, 5)
	return []step{
		{"first index", tree, false},
		{"change", changedIn(tree, 3), false},
		{"merge", changedIn(tree, index.Batch-20), true},
	}
}

// changedIn returns the tree with another text in n of its skills.
func changedIn(tree searchtest.Tree, n int) searchtest.Tree {
	changed := maps.Clone(tree)
	for _, name := range slices.Sorted(maps.Keys(tree))[:n] {
		s := tree[name]
		changed[name] = searchtest.Skill(s.Name, s.Description+" again", s.Body)
	}
	return changed
}

// tracedChild does one step on the catalog at path.
func tracedChild(path string) error {
	db, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return err
	}
	x := searchtest.Join(db, path, nil, nil)
	for _, s := range steps() {
		if s.name == os.Getenv(tracedStep) {
			_, err = x.Sync(context.Background(), childSource(), s.tree.Refs())
			err = errors.Join(err, x.Publish(context.Background(), s.merge))
		}
	}
	return errors.Join(err, x.Close(), db.Close())
}

// tracedCalls are the system calls at which a process is killed.
var tracedCalls = []string{"pwrite64", "fsync", "fdatasync", "ftruncate", "rename,renameat,renameat2", "unlink,unlinkat"}

// TestKilledAtEachCall kills a process before each of its writes, syncs, renames and
// removals, one at a time. The next process finishes the work, and nothing was damaged.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(strace, "-f", "-o", os.DevNull, "-e", "trace=none", "true").Run()
	}
	if err != nil {
		t.Skip("strace cannot be used: ", err)
	}
	before := filepath.Join(t.TempDir(), "catalog.db")
	kills := 0
	for _, s := range steps() {
		after := wholeAfter(t, s)
		whole := filepath.Join(t.TempDir(), "catalog.db")
		copyIfThere(t, before, whole)
		trace := filepath.Join(t.TempDir(), "calls")
		must.Do(t, traced(t, strace, whole, s, "-o", trace, "-e", "trace="+strings.Join(tracedCalls, ",")).Run())
		for _, call := range tracedCalls {
			last := callsIn(t, trace, call)
			for n := 1 + kills%testsize.Rounds(127, 1); n <= last; n += testsize.Rounds(127, 1) {
				path := filepath.Join(t.TempDir(), "catalog.db")
				copyIfThere(t, before, path)
				err := traced(t, strace, path, s, "-o", os.DevNull, "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)).Run()
				if err == nil {
					break // the process makes fewer such calls this time
				}
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() == 1 {
					t.Fatalf("%s: %v", s.name, err)
				}
				kills++
				checkFinished(t, fmt.Sprintf("%s, killed at call %d of %s", s.name, n, call), path, s, after)
			}
		}
		before = whole
	}
	t.Log(kills, "kills")
	if kills < 4 { // how many calls each thread makes varies
		t.Errorf("only %d kills", kills)
	}
}

// traced returns a command that does a step on the catalog at path in a process that
// strace watches.
func traced(t *testing.T, strace, path string, s step, args ...string) *exec.Cmd {
	t.Helper()
	cmd := child(t, tracedPath+"="+path, tracedStep+"="+s.name, "GOMAXPROCS=1")
	cmd.Args = append(append([]string{strace, "-f"}, args...), cmd.Path)
	cmd.Path = strace
	return cmd
}

// callsIn returns how many calls a trace has of those that are named, by commas between.
func callsIn(t *testing.T, trace, call string) (n int) {
	t.Helper()
	data := must.Read(t, trace)
	for _, name := range strings.Split(call, ",") {
		n += strings.Count(data, " "+name+"(")
	}
	return n
}

// copyIfThere copies a catalog that is closed, if there is one.
func copyIfThere(t *testing.T, from, to string) {
	t.Helper()
	if _, err := os.Stat(from); err == nil {
		copyCatalog(t, from, to)
	}
}

// wholeAfter returns the dump that a catalog must have after a step.
func wholeAfter(t *testing.T, s step) string {
	t.Helper()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, childSource(), s.tree.Refs())
	return dump(t, x)
}

// checkFinished does what a killed process left, and compares the catalog.
func checkFinished(t *testing.T, when, path string, s step, want string) {
	t.Helper()
	db := sqlite.Defer(path, nil)
	x := searchtest.Join(db, path, nil, nil)
	x.Published(t.Context(), []store.Source{childSource()}) // what a hook asks first
	if _, err := x.Sync(t.Context(), childSource(), s.tree.Refs()); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	searchtest.Publish(t, x, s.merge)
	if db.Recovered() != "" {
		t.Errorf("%s: the catalog was damaged", when)
	}
	if dump(t, x) != want {
		t.Errorf("%s: the catalog differs from one that was not killed", when)
	}
	if !x.Published(t.Context(), []store.Source{childSource()}) {
		t.Errorf("%s: what is published cannot be used", when)
	}
	if err := errors.Join(x.Close(), db.Close()); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	if left, _ := filepath.Glob(path + "*"); strings.Contains(strings.Join(left, " "), ".new") {
		t.Errorf("%s: left over: %q", when, left)
	}
}
