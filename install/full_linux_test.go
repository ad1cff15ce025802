package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestFullDisk: on a full disk nothing is half-installed, wherever it runs full, and what was
// there stays.
func TestFullDisk(t *testing.T) {
	disk := crashtest.SmallDisk(t, "256k")
	from := skills(t, t.TempDir(), "cat", "dog")
	ballast := filepath.Join(disk, "ballast")
	for _, at := range []string{"fetch", "journal", "old", "lock"} {
		for call, again := range killed {
			in, err := Open(filepath.Join(disk, "skills"), nil)
			must.Do(t, err)
			must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
			add(t, in, from, "cat")
			must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", strings.Repeat("Feeds the cat. ", 2000)))
			in.step = func(what string) {
				if what == at {
					crashtest.Fill(t, ballast)
				}
			}
			err = again(t, in, from)
			in.step = func(string) {}
			if exists(ballast) { // an update does not come by "fetch"
				says(t, err, "no space left on device; nothing was changed: make room on the disk of "+in.dir+", and try again")
				must.Do(t, os.Remove(ballast))
				clean(t, in, "cat")
			}
			t.Logf("%s, %s: %v", call, at, err)
			must.Do(t, os.RemoveAll(in.dir))
		}
	}
}
