package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSweep: a folder goes when it is old, and nobody holds or keeps it.
func TestSweep(t *testing.T) {
	above := filepath.Join(t.TempDir(), "new")
	if dirs, err := List(above, "x-"); dirs != nil || err != nil {
		t.Errorf("%q, %v", dirs, err)
	}
	var folders []*Folder
	for range 5 {
		f, err := New(above, "x-")
		must.Do(t, err)
		folders = append(folders, f)
	}
	held, kept, left, young, killed := folders[0], folders[1], folders[2], folders[3], folders[4]
	old := time.Now().Add(-2 * age)
	err := errors.Join(killed.held.Close(), kept.Release(), left.Release(), young.Release(), os.Mkdir(filepath.Join(above, "other"), 0o700))
	for _, dir := range []string{held.Dir, kept.Dir, left.Dir, filepath.Join(above, "other")} {
		err = errors.Join(err, os.Chtimes(dir, old, old))
	}
	must.Do(t, err)
	Sweep(above, "x-", func(dir string) bool { return dir == kept.Dir })
	for dir, there := range map[string]bool{held.Dir: true, kept.Dir: true, left.Dir: false, young.Dir: true, killed.Dir: false, filepath.Join(above, "other"): true} {
		if _, err := os.Stat(dir); (err == nil) != there {
			t.Errorf("%s: there %t", dir, err == nil)
		}
	}
	must.Do(t, held.Close())
	if dirs, err := List(above, "x-"); len(dirs) != 2 || err != nil {
		t.Errorf("%q, %v", dirs, err)
	}
}
