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

	"github.com/repertoire-skills/repertoire/internal/must"
)

// short lists the packages of which "go test -short" leaves tests out, as the race
// detector of .ci/run does, and what they are. None of them starts anything that
// could race and that no other test starts. All other tests always run.
var short = map[string]string{
	".":                    "kills a database server while eight catalogs answer, damages every file, mixes old and new ones, fetches dozens of branches, encodes passages, and reads the documentation and all source files",
	"agent":                "compiles the program of a page, once more for cgo",
	"bench":                "ranks prompts, measures speed, indexes hundreds of skills, and generates thousands",
	"cmd/skills":           "builds the program",
	"cmd/skills-fit":       "fits weights to thousands of prompts",
	"index":                "publishes after each of many changes, rolls catalogs back, damages every file, and kills processes",
	"install/unpack":       "unpacks archives of many MB",
	"internal/cli":         "starts dozens of processes, pushes as documented, asks all clients and scopes, and prints thousands of findings",
	"internal/clientstest": "waits for a command that hangs",
	"internal/pgtest":      "starts a server in a process that is killed",
	"internal/sections":    "reads the corpus",
	"internal/setup":       "writes the settings of all clients, and files of many MB",
	"mcpserver":            "quotes arguments of many KB, and lists hundreds of skills",
	"proposal":             "makes hundreds of proposals",
	"search":               "searches hundreds of skills for thousands of prompts",
	"search/searchtest":    "compares all ways to rank over hundreds of skills",
	"snapshot":             "reads the corpus, damages every part, and searches files of up to 140,000 documents",
	"source":               "walks ten thousands of folders, and measures what is allocated, which is more under the race detector",
	"store":                "unpacks records of many MB",
	"store/postgres":       "starts a server whose disk gets full, and kills it",
	"store/sqlite":         "damages every page of a file",
	"web":                  "asks for all pages of a hostile catalog",
}

// shortened lists the packages whose tests repeat or generate less unless
// REPERTOIRE_LONG is 1, as in .ci/run-long, and what there is less of. Of each
// kind of case there is at least one in any case.
var shortened = map[string]string{
	"agent":             "histories that are compacted",
	".":                 "skills in a folder of which each look sees some, mixtures of old and new files, damages that a new process finds, and names of files that strangers write",
	"bench":             "skills of the corpus in which prompts find nothing, skills beside a stuffed one, and prompts whose hits fit",
	"index":             "skills, prompts, damages of each file, steps at which the disk is full, versions that are published, and kills",
	"internal/cli":      "hooks at once, sizes whose speed is measured, scopes, questions of the Inspector, floods of requests and pictures of a database, of which there are none",
	"internal/push":     "rounds of pushes of several repositories with --prune",
	"internal/inspect":  "skills of the corpus that are mostly left alone",
	"internal/sections": "questions for which passages are encoded",
	"internal/setup":    "megabytes of settings",
	"proposal":          "proposals beyond the bound, and kills",
	"sandbox/container": "containers, of which there are none",
	"sandbox/virtual":   "attempts that a bound of a run stops late, and random programs",
	"search":            "rates of disturbance with vectors, and queries that two engines answer alike",
	"search/searchtest": "skills, names and prompts of which all ways to rank answer alike, and scopes",
	"snapshot":          "documents, prompts and damages",
	"source":            "reads while a skill's folder is swapped",
	"store/postgres":    "places at which a connection is cut",
	"store/sqlite":      "kills of a process that makes a catalog, and pages that are damaged",
}

// TestShort ties the lists to the tests: one that is left out or shortened
// elsewhere would be missed by nobody.
func TestShort(t *testing.T) {
	for call, list := range map[string]map[string]string{
		"testsize." + "Long(":   short, // or this file would be found
		"testsize." + "Rounds(": shortened,
	} {
		found := make(map[string]bool)
		must.Do(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			text, err := os.ReadFile(name)
			if strings.Contains(string(text), "testing."+"Short()") && path.Dir(filepath.ToSlash(name)) != "internal/testsize" {
				t.Errorf("%s decides by itself how long it takes; call internal/testsize", name)
			}
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
