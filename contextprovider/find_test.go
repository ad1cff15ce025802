package contextprovider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// keys is a file with two sections of some length.
var keys = "# Gateway\n\n## Rotating keys\nReplace each credential every ninety days.\n" + strings.Repeat("The gateway reads its file at the start only. ", 10) +
	"\n\n## Colours\n" + strings.Repeat("Green and blue are for charts. ", 20) + "\n"

// places writes passages as "skill path:first-last".
func places(found contextprovider.Passages) []string {
	list := make([]string, len(found.Passages))
	for i, p := range found.Passages {
		list[i] = fmt.Sprintf("%s %s:%d-%d", p.ID, p.Path, p.First, p.Last)
	}
	return list
}

func TestFindText(t *testing.T) {
	src, dir := folder(t, "tools", map[string]string{
		"gateway/SKILL.md":            doc("gateway", "Runs the gateway. Use for the gateway and its keys.", keys),
		"gateway/references/copy.md":  keys,
		"gateway/references/empty.md": "\n",
		"gateway/scripts/rotate.py":   "def rotate(key):\n    return key\n",
		"gateway/assets/logo.png":     "\x89PNG\x00",
		"gateway/assets/latin.txt":    "caf\xe9",
		"gateway/assets/huge.txt":     strings.Repeat("keys\n", 300_000),
		"slides/SKILL.md":             doc("slides", "Makes slides. Use for slides of a talk.", "# Slides\n\nNumber each page.\n"),
	})
	k := open(t, src)
	find := func(q contextprovider.TextQuery, a *search.Agent) contextprovider.Passages {
		t.Helper()
		found, err := k.FindText(t.Context(), q, a)
		must.Do(t, err)
		return found
	}
	found := find(contextprovider.TextQuery{Skill: "gateway", Text: "how often are credentials replaced?"}, nil)
	if p := found.Passages[0]; p.Trail[1] != "Rotating keys" || !strings.Contains(p.Text, "ninety") || found.Skills != 1 || found.Files != 3 {
		t.Errorf("found %+v", found)
	}
	if n := len(slices.DeleteFunc(places(found), func(s string) bool { return !strings.Contains(s, "copy.md") })); n > 1 {
		t.Errorf("copies are listed too: %q", places(found))
	}
	var reasons []string
	for _, s := range found.Skipped {
		reasons = append(reasons, s.Path+": "+s.Reason)
	}
	slices.Sort(reasons)
	if want := []string{"assets/huge.txt: it has 1500000 bytes; up to 1048576 are searched", "assets/latin.txt: it is binary, or not UTF-8",
		"assets/logo.png: it is binary, or not UTF-8", "references/empty.md: it is empty"}; !slices.Equal(reasons, want) {
		t.Errorf("skipped %q", reasons)
	}

	// Without a name, in the scope of the agent.
	if got := places(find(contextprovider.TextQuery{Text: "number each page of the slides"}, nil)); !strings.HasPrefix(got[0], "slides ") {
		t.Errorf("without a name: %q", got)
	}
	only := &search.Agent{Include: search.Rules{Names: []string{"slides"}}}
	for _, p := range find(contextprovider.TextQuery{Text: "rotating keys of the gateway"}, only).Passages {
		if p.ID != "slides" {
			t.Errorf("outside of the scope: %+v", p)
		}
	}
	if _, err := k.FindText(t.Context(), contextprovider.TextQuery{Skill: "gateway", Text: "keys"}, only); err == nil {
		t.Error("a skill outside of the scope is searched by its name")
	}

	// What changed is found as it is now, and with its digest.
	changed := strings.Replace(keys, "ninety", "thirty", 1)
	must.Write(t, filepath.Join(dir, "gateway", "references", "copy.md"), changed)
	found = find(contextprovider.TextQuery{Skill: "gateway", Path: "references/copy.md", Pattern: `(?i)THIRTY|green`, Limit: 1}, nil)
	if p := found.Passages[0]; !strings.HasPrefix(p.Text, "4: Replace each credential every thirty") || p.Matches != 1 || p.SHA256 != sum(changed) || !found.Partial {
		t.Errorf("found %+v", found)
	}
	found = find(contextprovider.TextQuery{Skill: "gateway", Path: "references/copy.md", Section: "gateway > rotating keys"}, nil)
	if p := found.Passages[0]; len(found.Passages) != 1 || !strings.HasPrefix(p.Text, "## Rotating") || strings.Contains(p.Text, "## Colours") {
		t.Errorf("found %+v", found)
	}
	if err := os.Symlink(filepath.Join(dir, "slides", "SKILL.md"), filepath.Join(dir, "gateway", "link.md")); err == nil {
		if got := places(find(contextprovider.TextQuery{Skill: "gateway", Pattern: "Number"}, nil)); len(got) > 0 {
			t.Errorf("a link leads to %q", got)
		}
	}

	for _, c := range []struct {
		q    contextprovider.TextQuery
		want string
	}{
		{contextprovider.TextQuery{Skill: "gateway", Section: "Rotating kes"}, "did you mean Rotating keys?"},
		{contextprovider.TextQuery{Skill: "gateway", Path: "no.md", Text: "keys"}, "no such file"},
		{contextprovider.TextQuery{Skill: "gateway", Path: "../slides/SKILL.md", Text: "keys"}, "refused"},
		{contextprovider.TextQuery{Skill: "gateway", Pattern: "("}, "the pattern is malformed"},
		{contextprovider.TextQuery{Skill: "gateway", Pattern: strings.Repeat("a", 1001)}, "1001 bytes"},
		{contextprovider.TextQuery{Skill: "gateway"}, "give one of"},
		{contextprovider.TextQuery{Pattern: "a"}, "the name of a skill is missing"},
		{contextprovider.TextQuery{Skill: "gatewai", Text: "keys"}, "gatewai"},
	} {
		if _, err := k.FindText(t.Context(), c.q, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.q, err, c.want)
		}
	}
}

// TestFindTextBounds: of many files the first are searched, and the answer says so.
func TestFindTextBounds(t *testing.T) {
	files := map[string]string{"many/SKILL.md": doc("many", "Has many files. Use for many files.", "Text.\n")}
	for i := range 210 {
		files[fmt.Sprintf("many/references/%03d.md", i)] = fmt.Sprintf("needle %d\n", i)
	}
	src, _ := folder(t, "tools", files)
	found, err := open(t, src).FindText(t.Context(), contextprovider.TextQuery{Skill: "many", Pattern: "needle", Limit: 1000}, nil)
	must.Do(t, err)
	if !found.Partial || found.Files != 200 || len(found.Passages) != 199 {
		t.Errorf("%d passages of %d files, partial %v", len(found.Passages), found.Files, found.Partial)
	}
}

// TestManyHeadings: a file of equal headings costs no look at the file for each of them, which would take minutes.
func TestManyHeadings(t *testing.T) {
	src, _ := folder(t, "tools", map[string]string{
		"gateway/SKILL.md":           doc("gateway", "Runs the gateway. Use for the gateway and its keys.", keys),
		"gateway/references/many.md": strings.Repeat("# Many\n", 140_000),
	})
	found, err := open(t, src).FindText(t.Context(), contextprovider.TextQuery{Skill: "gateway", Section: "Many", Limit: 2}, nil)
	must.Do(t, err)
	if got := places(found); !slices.Equal(got, []string{"gateway references/many.md:1-1", "gateway references/many.md:2-2"}) || !found.Partial {
		t.Errorf("found %q, partial %t", got, found.Partial)
	}
}
