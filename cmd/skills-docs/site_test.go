package main

import (
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSite: the site of this repository has no broken link, and a page for each command that
// has a man page, with the same help.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, writeSite("../..", dir))
	for name := range made(t, "skills") {
		command, isMan := strings.CutSuffix(name, ".1")
		if !isMan {
			continue
		}
		page := strings.ReplaceAll(strings.TrimPrefix(command, "man/"), "-", "_") + ".html"
		if text := must.Read(t, filepath.Join(dir, page)); !strings.Contains(text, "><code>skills") && page != "skills.html" {
			t.Errorf("%s does not show how the command is called", page)
		}
	}
	for page, part := range map[string]string{
		"skills_list.html": "untrusted    its project is not trusted yet, see &quot;skills trust&quot;",
		"skills.html":      "--only-root",
		"commands.html":    `<a href="skills_root_add.html"><code>skills root add</code></a>`,
		"index.html":       `<a href="first-day.html">`,
	} {
		if text := must.Read(t, filepath.Join(dir, page)); !strings.Contains(text, part) {
			t.Errorf("%s lacks %q", page, part)
		}
	}
	checkTargets(t, dir)
}

// checkTargets checks what the browser would follow and fetch, whatever made it: links and
// images within the site lead to a file, and to an element that has the name.
func checkTargets(t *testing.T, dir string) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	must.Do(t, err)
	links := 0
	for _, page := range pages {
		text := must.Read(t, page)
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			name, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(name, "://") {
				continue
			}
			links++
			target := page
			if name != "" {
				target = filepath.Join(dir, name)
			}
			data, err := os.ReadFile(target)
			if err != nil || anchor != "" && !strings.Contains(string(data), ` id="`+anchor+`"`) {
				t.Errorf("%s links to %s, which is not there: %v", filepath.Base(page), m[1], err)
			}
		}
		if m := regexp.MustCompile(`<[^>]* (?:style|on\w+)=|<script>|<style`).FindString(text); m != "" {
			t.Errorf("%s has %s, which its policy forbids", filepath.Base(page), m)
		}
	}
	if len(pages) < 60 || links < 2000 {
		t.Errorf("%d pages with %d links", len(pages), links)
	}
}

// TestSearchOfSite: the script finds what new users look for, on the page that answers it.
func TestSearchOfSite(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	dir := t.TempDir()
	must.Do(t, writeSite("../..", dir))
	const script = `const {find} = require("./search.js");
console.log((find(require("./search.json"), process.argv[1])[0] || {link: "nothing"}).link);`
	for text, want := range map[string]string{
		"skill not offered":       "troubleshooting.html#my-skill-is-not-offered",
		"Query LANGUAGE":          "commands.html#the-query-language",
		"calibr":                  "ranking.html#the-threshold-of-your-catalog",
		"report a problem":        "security.html#how-to-report-a-problem",
		"skills token revoke":     "skills_token_revoke.html",
		"xyzzy":                   "nothing",
		"<img src=x onerror=x()>": "",
	} {
		cmd := exec.CommandContext(t.Context(), node, "-e", script, text)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || want != "" && got != want {
			t.Errorf("%q: %s, want %s (%v)", text, got, want, err)
		}
	}
}

// TestServe: an edit shows at the next look, a broken link is told, and no other machine is served.
func TestServe(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	h := handler(root)
	for _, tt := range []struct {
		page, text string // is written before
		path       string
		code       int
		part       string
	}{
		{"README.md", "# Home\n\n## Read on\n\n[a](docs/a.md)", "/", 500, "README.md links to docs/a.md"},
		{"docs/a.md", "# First\n\n[home](../README.md#read-on)", "/", 200, `<a href="a.html">a</a>`},
		{"docs/a.md", "# Second", "/a.html", 200, `<h1 id="second">Second</h1>`},
		{"docs/a.md", "# Second", "/style.css", 200, "body {"},
		{"docs/a.md", "# Second", "/skills_search.html", 200, "git diff | skills search -"},
		{"docs/a.md", "# Second", "/b.html", 404, ""},
		{"docs/a.md", "# Second", "/x/a.html", 404, ""},
		{"docs/a.md", "# Second", "/../README.md", 404, ""},
	} {
		write(tt.page, tt.text)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", tt.path, nil))
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.part) {
			t.Errorf("%s: %d, want %d with %q:\n%.800s", tt.path, w.Code, tt.code, tt.part, w.Body)
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "localhost", "example.com:80"} {
		if err := serveSite(t.Context(), root, address, io.Discard); err == nil {
			t.Errorf("%s is served", address)
		}
	}
}
