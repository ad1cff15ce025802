package repertoire_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestSecurityPage: each promise of docs/security.md names tests, and all of them exist.
func TestSecurityPage(t *testing.T) {
	testsize.Long(t)
	page := must.Read(t, "docs/security.md")
	_, table, _ := strings.Cut(page, "| promise | tests |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 15 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 2 {
			t.Errorf("%d cells: %s", len(cells), row)
			continue
		}
		if strings.HasPrefix(cells[1], "a fuzz target for each") {
			continue
		}
		for group := range strings.SplitSeq(cells[1], "; ") {
			room, list, _ := strings.Cut(group, ": ")
			tests := testName.FindAllString(list, -1)
			if len(tests) == 0 {
				t.Errorf("no tests: %q", group)
			}
			have := testsIn(t, strings.Trim(strings.Replace(room, "the root", ".", 1), "`"))
			for _, name := range tests {
				if !slices.Contains(have, name) {
					t.Errorf("%s has no %s", room, name)
				}
			}
		}
	}
}

// testName matches the name of a test, or of a script with one.
var testName = regexp.MustCompile(`\b(?:Test|Fuzz)\w+|[\w-]+\.txt\b`)

// testsIn returns the names of the tests and scripts in a folder.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	must.Do(t, err)
	for _, file := range files {
		text := must.Read(t, file)
		for _, m := range regexp.MustCompile(`(?m)^func (\w+)\(\w+ \*testing\.[TF]\)`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "testdata", "*.txt"))
	must.Do(t, err)
	for _, name := range scripts {
		names = append(names, filepath.Base(name))
	}
	return names
}
