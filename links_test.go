package repertoire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSplitLinks: only a shadowed copy that is the same file through symbolic links is a link,
// whichever of the two is the link.
func TestSplitLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(folder string) string { return filepath.Join(dir, folder, "SKILL.md") }
	for _, folder := range []string{"own", "copy", "hard"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	for _, folder := range []string{"own", "copy"} {
		must.Do(t, os.WriteFile(at(folder), []byte("same"), 0o600))
	}
	must.Do(t, os.Link(at("own"), at("hard")))
	for link, target := range map[string]string{"relative": "own", "absolute": filepath.Join(dir, "own"), "chain": "relative", "dangling": "none"} {
		if os.Symlink(target, filepath.Join(dir, link)) != nil {
			t.Skip("no symbolic links here")
		}
	}
	for _, winner := range []string{"own", "relative"} {
		entry := func(folder, shadowedBy string) (e repertoire.Entry) {
			e.ID, e.Location, e.ShadowedBy = folder, at(folder), shadowedBy
			return e
		}
		var entries []repertoire.Entry
		for _, folder := range []string{"own", "copy", "hard", "relative", "absolute", "chain", "dangling"} {
			if folder == winner {
				entries = append(entries, entry(folder, ""))
			} else {
				entries = append(entries, entry(folder, winner))
			}
		}
		memory := entry("memory", winner)
		memory.Location = "memory:own/SKILL.md"
		skills, links := repertoire.SplitLinks(append(entries, memory, entry("other", ""), entry("orphan", "gone")))
		got := fmt.Sprint(ids(skills), ids(links))
		want := map[string]string{
			"own":      "[own copy hard dangling memory other orphan] [relative absolute chain]",
			"relative": "[copy hard relative dangling memory other orphan] [own absolute chain]",
		}[winner]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is offered (-want +got):\n%s", winner, diff)
		}
	}
}

func ids(entries []repertoire.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}
