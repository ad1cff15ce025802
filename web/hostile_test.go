package web_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/web"
)

// evil are texts that would be elements, attributes, addresses or scripts if a page did not
// escape them.
var evil = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</textarea><script>alert(1)</script>`,
	`</title><svg onload=alert(1)>`, `javascript:alert(1)`, `{{.}} ${alert(1)}`, `&lt;b&gt; &#60;`, `--><iframe src=//attacker.example>`,
	"a\u202egnp.exe", "tag\U000e0041\U000e0042", "line\u2028break", "\x1b[31mred",
}

// TestHostile: whatever a skill, a file, an agent or a visitor says stays text on every page.
// The kit checks the markup of each page.
func TestHostile(t *testing.T) {
	testsize.Long(t)
	quoted := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x1b", `\x1b`).Replace(s) + `"`
	}
	files := few()
	for i, text := range evil {
		name := "evil-" + string(rune('a'+i))
		files[name+"/SKILL.md"] = doc(quoted(text), quoted(text+" Use when a form is to be filled in."),
			"# "+text+"\n\n[link]("+text+") ![](https://attacker.example/x.png)\n\n```"+text+"\n"+text+"\n```\n<script>alert(2)</script>\n",
			"tags: ["+quoted(text)+"]", "triggers: {keywords: ["+quoted("fill "+text)+"]}", "requires: ["+quoted(text)+"]")
		if file := strings.NewReplacer("/", "_", ":", "_", "\x1b", "_").Replace(text); filepath.Base(file) == file {
			files[name+"/scripts/"+file] = text
			files[name+"/"+file+".md"] = "# " + text
		}
	}
	k := open(t, files, func(cfg *repertoire.Config, _ *web.Options) {
		for _, text := range evil[:3] {
			cfg.Agents = append(cfg.Agents, &repertoire.Agent{Name: text})
		}
		src, err := source.Dir(t.TempDir(), &source.Options{Label: evil[1]})
		must.Do(t, err)
		cfg.Sources = append(cfg.Sources, src)
	})
	entries, err := k.catalog.List(t.Context(), nil, &repertoire.ListOptions{Shadowed: true})
	must.Do(t, err)
	seen := 0
	for _, e := range entries {
		p := k.get("skill", "id", e.ID).is(200).lacks("<script>", "\u202e", "\x1b", "\U000e0041")
		if strings.HasPrefix(e.Path, "evil-") {
			seen++
			p.has("left out").lacks("attacker.example/x.png", `href="javascript`)
			k.get("skill", "id", e.ID, "view", "raw").is(200).has("attacker.example/x.png").lacks("<script>", "\u202e", "\x1b", "\U000e0041") // as text
		}
		list, err := k.catalog.Listing(t.Context(), e.ID, nil, false)
		must.Do(t, err)
		for _, f := range list.Files {
			k.get("file", "id", e.ID, "path", f.Path).is(200).lacks("<script>", "\u202e", "\x1b", "\U000e0041")
			saved := k.get("file", "id", e.ID, "path", f.Path, "save", "1").is(200)
			if d := saved.Header().Get("Content-Disposition"); strings.Count(d, `"`) != 2 || strings.ContainsAny(d, "\r\n") || strings.ToValidUTF8(d, "") != d {
				t.Errorf("saved as %q", d)
			}
		}
	}
	if seen < len(evil)-2 {
		t.Errorf("%d of %d hostile skills are in the catalog", seen, len(evil))
	}
	k.post("find", "q", "fill in a form").is(200).has("<pre").lacks("<script>", "\u202e", "\x1b", "\U000e0041")
	for _, text := range evil {
		k.post("", "q", "fill in a form "+text).is(200)
		k.post("skill?id=pdf-forms", "q", "fill in a form "+text).is(200)
		k.post("find", "q", "fill in a form "+text).is(200)
		k.post("find?id=pdf-forms", "q", text)
		for _, field := range []string{"q", "source", "tag", "state", "from"} {
			k.get("catalog", field, text).is(200)
		}
		k.get("catalog", "agent", text)
		k.get("skill", "id", text)
		k.get("file", "id", text, "path", text)
		k.get("change", "id", text, "version", text)
		k.get("x"+url.PathEscape(text), "a", text)
	}
	for _, page := range k.pages() {
		k.get(page).is(200)
	}
}

// pages returns the addresses in the navigation.
func (k *kit) pages() (list []string) {
	_, text, _ := strings.Cut(k.get("").text, "<nav")
	text, _, _ = strings.Cut(text, "</nav>")
	for _, part := range strings.Split(text, `href="`+k.prefix)[1:] {
		page, _, _ := strings.Cut(part, `"`)
		list = append(list, page)
	}
	return list
}
