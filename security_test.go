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

// TestSecurityPage: testdata/promises.txt has each promise of docs/security.md in full, and no
// other, with tests that exist.
func TestSecurityPage(t *testing.T) {
	testsize.Long(t)
	_, promises, _ := strings.Cut(must.Read(t, "docs/security.md"), "## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	want := make(map[string]int) // tests by promise
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(.+?)\.?\*\*`).FindAllStringSubmatch(promises, -1) {
		want[m[1]] = 0
	}
	if len(want) < 35 {
		t.Fatalf("the page has %d promises", len(want))
	}
	promise := ""
	for line := range strings.SplitSeq(must.Read(t, "testdata/promises.txt"), "\n") {
		group, isGroup := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "  "):
			continue
		case !isGroup:
			promise = line
			if _, ok := want[promise]; !ok {
				t.Errorf("the page promises nothing of the name %q", promise)
			}
			continue
		}
		dir, list, _ := strings.Cut(group, ": ")
		have := testsIn(t, dir)
		for name := range strings.SplitSeq(list, ", ") {
			want[promise]++
			if !slices.Contains(have, name) {
				t.Errorf("%s: %s has no %s", promise, dir, name)
			}
		}
	}
	for name, tests := range want {
		if tests == 0 {
			t.Errorf("testdata/promises.txt names no test for %q", name)
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
