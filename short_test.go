package repertoire_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// short lists the packages of which "go test -short" leaves tests out, as the race
// detector of .ci/run does, and what they are. None of them starts anything that
// could race and that no other test starts. All other tests always run.
var short = map[string]string{
	"bench":             "indexes hundreds of skills",
	"index":             "publishes after each of many changes, and damages every file",
	"internal/cli":      "starts dozens of processes at once",
	"internal/setup":    "writes a settings file of many MB",
	"search/searchtest": "compares all ways to rank over hundreds of skills",
	"snapshot":          "reads the corpus",
}

// shortened lists the packages whose tests repeat or generate less unless
// REPERTOIRE_LONG is 1, as in .ci/run-long, and what there is less of. Of each
// kind of case there is at least one in any case.
var shortened = map[string]string{
	".":                 "skills in a folder of which each look sees some, mixtures of old and new files, and damages that a new process finds",
	"bench":             "skills of the corpus in which prompts find nothing",
	"index":             "skills, prompts, damages of each file, versions that are published, and kills",
	"internal/cli":      "hooks at once, and sizes whose speed is measured",
	"internal/setup":    "megabytes of settings",
	"search/searchtest": "skills and prompts of which all ways to rank answer alike",
	"snapshot":          "documents, prompts and damages",
	"store/sqlite":      "kills of a process that makes a catalog",
}

// rounds returns how many rounds a test does, or how large it is: usual, and long
// when the tests may take long. Each package of the list has such a function.
func rounds(usual, long int) int {
	if os.Getenv("REPERTOIRE_LONG") == "1" {
		return long
	}
	return usual
}

// TestShort ties the lists to the tests: one that is left out or shortened
// elsewhere would be missed by nobody.
func TestShort(t *testing.T) {
	for call, list := range map[string]map[string]string{
		"testing." + "Short()":              short, // or this file would be found
		`os.Getenv("REPERTOIRE_LONG` + `")`: shortened,
	} {
		found := make(map[string]bool)
		try(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			text, err := os.ReadFile(name)
			if strings.Contains(string(text), call) {
				found[path.Dir(filepath.ToSlash(name))] = true
			}
			return err
		}))
		if want, got := slices.Sorted(maps.Keys(list)), slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%s is in %q, and the list has %q", call, got, want)
		}
	}
}
