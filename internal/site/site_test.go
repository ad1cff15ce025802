package site

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// files makes a repository of names and texts.
func files(texts ...string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for pair := range slices.Chunk(texts, 2) {
		fsys[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return fsys
}

// TestBuild: links lead to pages of the site or to the repository, and nothing of a page is
// taken for HTML.
func TestBuild(t *testing.T) {
	root := files(
		"LICENSE", "free", "docs/p.svg", "<svg/>",
		"README.md", "# Tea\n\n![pot](docs/p.svg)\n\n## Read on\n\n[Zoo](docs/zoo.md), [water](docs/water.md#how-hot), [water](docs/water.md)",
		"docs/water.md", "# Water\n\nSee [zoo](zoo.md), [home](../README.md), [free](../LICENSE), [web](https://example.com/x.md#y), [here](#how-hot).\n\n"+
			"## How hot?\n\nHot & <b>cold</b>\n\n<script>alert(1)</script>\n\n| a | b |\n|---|--:|\n| `c` | 1 |\n",
		"docs/zoo.md", "# Zoo\n\n~~old~~\n",
		"docs/commands.md", "# Commands\n\n`skills root add FOLDER`, `skills nothing`, [`skills root`](zoo.md)\n")
	got, err := Build(root, []Page{{"docs/skills_root.md", []byte("# skills root\n")}, {"docs/skills_root_add.md", []byte("# skills root add\n\n[up](skills_root.md)\n")}})
	must.Do(t, err)
	for name, parts := range map[string][]string{
		"index.html": {`<title>Tea</title>`, `<img src="p.svg" alt="pot">`, `<a href="zoo.html">Zoo</a>, <a href="water.html#how-hot">`, `<a href="index.html" aria-current="page">Tea</a>`},
		"water.html": {`<title>Water · Repertoire</title>`, `<a href="index.html">home</a>`, `<a href="` + Repository + `LICENSE">`, `<a href="https://example.com/x.md#y">`,
			`<a href="water.html#how-hot">here</a>`, `<h2 id="how-hot">`, `<td align="right">1</td>`, `Hot &amp; `},
		"zoo.html":             {"<del>old</del>"},
		"commands.html":        {`<a href="skills_root_add.html"><code>skills root add FOLDER</code></a>, <code>skills nothing</code>, <a href="zoo.html"><code>skills root</code></a>`},
		"skills_root_add.html": {`<a href="skills_root.html">up</a>`},
		"p.svg":                {"<svg/>"},
		"style.css":            {"body"},
	} {
		for _, part := range parts {
			if !strings.Contains(string(got[name]), part) {
				t.Errorf("%s lacks %s:\n%s", name, part, got[name])
			}
		}
	}
	water := string(got["water.html"])
	if strings.Contains(water, "<script>alert") || strings.Contains(water, "<b>") {
		t.Errorf("HTML of a page gets through:\n%s", water)
	}
	if zoo, water := strings.Index(water, ">Zoo</a></li>"), strings.Index(water, ">Water</a></li>"); zoo < 0 || zoo > water {
		t.Error("the menu has not the order of the README")
	}
	var index []section
	must.Do(t, json.Unmarshal(got["search.json"], &index))
	want := []section{
		{"index.html", "Tea", "Tea", "pot "},
		{"index.html#read-on", "Tea", "Read on", "Zoo, water, water "},
		{"zoo.html", "Zoo", "Zoo", "old "},
		{"water.html", "Water", "Water", "See zoo, home, free, web, here. "},
		{"water.html#how-hot", "Water", "How hot?", "Hot & cold  a b c 1 "},
	}
	if diff := cmp.Diff(want, index[:5]); diff != "" {
		t.Errorf("the index (-want +got):\n%s", diff)
	}
}

// TestBroken: each link, heading and image that is not there is an error that names its page.
func TestBroken(t *testing.T) {
	_, err := Build(files(
		"README.md", "# Tea\n\n[a](docs/a.md) [gone](docs/gone.md) ![p](docs/p.png) [out](../x)",
		"docs/a.md", "# A\n\n[h](#nothing) [b](b.md#c) [tea](../README.md#a)\n",
		"docs/b.md", "# B\n\n## c-1\n"), nil)
	if err == nil {
		t.Fatal("no error")
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		words, _, _ := strings.Cut(line, ": ")
		lines = append(lines, words)
	}
	want := []string{
		"README.md links to docs/gone.md", "README.md links to docs/p.png", "README.md links to ../x",
		"docs/a.md links to docs/a.md#nothing, which has no such heading", "docs/a.md links to docs/b.md#c, which has no such heading",
		"docs/a.md links to README.md#a, which has no such heading",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnchors: headings have the names that GitHub gives them.
func TestAnchors(t *testing.T) {
	var a anchors
	for _, tt := range [][2]string{
		{"The query language", "the-query-language"}, {"A `skills/list` of MCP", "a-skillslist-of-mcp"}, {"Does the best skill fit?", "does-the-best-skill-fit"},
		{"Größe & Maß", "größe--maß"}, {"Same", "same"}, {"Same", "same-1"}, {"Same", "same-2"}, {"Same-1", "same-1-1"},
	} {
		if got := string(a.Generate([]byte(tt[0]), 0)); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
}
