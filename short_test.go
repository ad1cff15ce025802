package repertoire_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// short lists the packages of which "go test -short" leaves tests out, as the race
// detector of .ci/run does, and what they are. None of them starts anything that
// could race and that no other test starts. All other tests always run.
var short = map[string]string{
	"bench":             "indexes thousands of skills",
	"index":             "publishes after each of many changes, and damages every file",
	"internal/cli":      "starts a hundred processes at once",
	"internal/setup":    "writes a settings file of 20 MB",
	"search/searchtest": "compares all ways to rank over hundreds of skills",
	"snapshot":          "damages every byte, and reads the corpus",
}

// TestShort ties the list to the tests: one that is left out elsewhere would be
// missed by nobody.
func TestShort(t *testing.T) {
	found := make(map[string]bool)
	call := "testing." + "Short()" // or this file would be found
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), call) {
			found[path.Dir(filepath.ToSlash(name))] = true
		}
		return err
	})
	try(t, err)
	for dir := range found {
		if short[dir] == "" {
			t.Errorf("tests of %s are left out by -short, and the list does not say so", dir)
		}
	}
	for dir := range short {
		if !found[dir] {
			t.Errorf("the list has %s, of which -short leaves nothing out", dir)
		}
	}
}
