package repertoire_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestPages: the tests that the pages name exist, and so do the files and headings that
// they link to.
func TestPages(t *testing.T) {
	testsize.Long(t)
	pages, err := filepath.Glob("docs/*.md")
	must.Do(t, err)
	for _, page := range append(pages, "README.md", "bench/FIGURES.md", "embed/static/MODEL.md", "embed/contextual/MODEL.md") {
		text, err := os.ReadFile(page)
		must.Do(t, err)
		checkContents(t, page, string(text))
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(link[1], "://") {
				checkLink(t, page, link[1])
			}
		}
	}
	for page, least := range map[string]int{"docs/agents.md": 60, "docs/sandbox.md": 40} {
		text := must.Read(t, page)
		if n := checkNames(t, page, text); n < least {
			t.Errorf("%s names %d tests", page, n)
		}
	}
}

// checkContents checks that a page of docs, or of figures, begins with links to all its headings,
// and that the README links to each page of docs.
func checkContents(t *testing.T, page, text string) {
	t.Helper()
	readme := must.Read(t, "README.md")
	if path.Dir(page) == "docs" && !strings.Contains(readme, "("+page+")") {
		t.Errorf("the README does not link to %s", page)
	}
	plain := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(plain, -1)
	if len(headings) < 3 || path.Dir(page) != "docs" && page != "bench/FIGURES.md" {
		return
	}
	contents, _, _ := strings.Cut(text, "\n## ")
	for _, h := range headings {
		if !strings.Contains(contents, "](#"+anchor(h[1])+")") {
			t.Errorf("the contents of %s lack %q", page, h[1])
		}
	}
}

// checkLink checks a link to a file, a heading, or a heading of a file.
func checkLink(t *testing.T, page, link string) {
	t.Helper()
	name, heading, _ := strings.Cut(link, "#")
	file := page
	if name != "" {
		file = path.Join(path.Dir(page), name)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		t.Errorf("%s links to %s: %v", page, link, err)
	case heading != "" && !info.IsDir():
		text := must.Read(t, file)
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
			if anchor(m[1]) == heading {
				return
			}
		}
		t.Errorf("%s links to %s, and there is no such heading", page, link)
	}
}

// anchor returns the name that GitHub gives a heading.
func anchor(heading string) string {
	return regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(heading), " ", "-"), "")
}

// checkNames checks lists such as "`sandbox`: TestRules, FuzzRules" and returns how many tests
// they name. A test that a page names stands in such a list.
func checkNames(t *testing.T, page, text string) int {
	t.Helper()
	list := regexp.MustCompile("(?:`([\\w/]+)`|the (root)):((?:[,\\s]+(?:(?:Test|Fuzz)\\w+|[\\w-]+\\.txt)(?: \\([^)]*\\))?)+)")
	n := 0
	for _, m := range list.FindAllStringSubmatch(text, -1) {
		dir := m[1]
		if m[2] != "" {
			dir = "."
		}
		have := testsIn(t, dir)
		for _, name := range testName.FindAllString(m[3], -1) {
			n++
			if !slices.Contains(have, name) {
				t.Errorf("%s: %s has no %s", page, dir, name)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(list.ReplaceAllString(text, ""), -1) {
		t.Errorf("%s: %s stands in no list of a package", page, name)
	}
	return n
}
