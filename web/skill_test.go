package web_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// TestSkill: the page of a skill has its instructions and files as they are now.
func TestSkill(t *testing.T) {
	k := open(t, few(), func(cfg *repertoire.Config, _ *web.Options) {
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-slides"}}}}}
	})
	k.get("skill", "id", "pdf-forms").is(200).has("<bdi>pdf-forms</bdi>", "Fills in the fields", `<h3>Fill in a form</h3>`, `class="frontmatter"`,
		"References", "references/fields.md", "/file?id=pdf-forms&amp;path=references%2Ffields.md", "Scripts", ">office</a>").lacks("History", "has changed since")
	k.get("skill", "id", "pdf-forms", "view", "raw").is(200).has(`aria-label="The text as it is"># Fill in a form`, "Show it rendered")
	k.write("pdf-forms/SKILL.md", doc("pdf-forms", "Fills in forms.", "\u200bWait <b>first</b>."))
	k.get("skill", "id", "pdf-forms", "view", "raw").is(200).has("Wait &lt;b&gt;first")
	k.get("skill", "id", "pdf-forms").is(200).has("Wait &lt;b&gt;first&lt;/b&gt;.", "has changed since it was indexed", "1 invisible character of SKILL.md is left out")
	must.Do(t, os.RemoveAll(filepath.Join(k.dir, "pdf-forms")))
	k.get("skill", "id", "pdf-forms").is(200).has("Fills in the fields", "cannot be read now")

	k.get("skill", "id", "sort-slides").is(200).has("disabled", "Not offered: ", "Look at the date.") // the owner may
	k.get("skill", "id", "nothing").is(404)
	k.get("skill").is(404)
	k.get("change", "id", "pdf-forms").is(404)
}

// TestSwitch: the owner disables, enables, pins and unpins a skill, and nobody else; what cannot be done is said.
func TestSwitch(t *testing.T) {
	var k *kit
	with := func(complete func(o *web.Options)) {
		k = open(t, few(), func(_ *repertoire.Config, o *web.Options) {
			o.Switch = func(name, agent string, on bool) error {
				if name == "sort-songs" {
					return errors.New("the file cannot be written")
				}
				p, clerk := new(repertoire.Policy), *k.catalog.Config().Agents[0]
				clerk.Pinned = nil
				switch {
				case agent != "" && on:
					clerk.Pinned = []string{name}
				case agent == "" && !on:
					p.Disabled = []search.Ban{{Rules: repertoire.Rules{Names: []string{name}}}}
				}
				return k.catalog.Owner().SetRules(p, []*repertoire.Agent{&clerk})
			}
			complete(o)
		})
	}
	with(func(*web.Options) {})
	k.get("skill", "id", "pdf-forms").is(200).has("Disable for everybody")
	k.follow(k.post("switch", "id", "pdf-forms")).has("It is disabled: nobody gets it any more.")
	k.get("skill", "id", "pdf-forms").is(200).has("Not offered: ", ">Enable</button>")
	k.post("", "q", "fill in the fields of this PDF form").is(200).lacks("1 skill offered")
	k.follow(k.post("switch", "id", "pdf-forms", "on", "1")).has("It is enabled: it is offered where it fits.")
	k.get("skill", "id", "pdf-forms", "done", "1", "agent", "nobody").is(200).lacks(`role="status">It is`)
	k.post("", "q", "fill in the fields of this PDF form").is(200).has("1 skill offered")
	k.post("switch", "id", "sort-songs").is(200).has("Nothing was changed: the file cannot be written")
	k.post("switch", "id", "nobody").is(404)
	for range 2 { // to all, and to one agent
		k.get("skill", "id", "sort-slides").is(200).has("Always offer it to", `<option value="clerk">`).lacks("Unpin")
		k.follow(k.post("switch", "id", "sort-slides", "agent", "clerk", "on", "1")).has("It is pinned: clerk always gets it.")
		k.get("skill", "id", "sort-slides").is(200).has("Unpin for clerk", "clerk (pinned)").lacks("Always offer it to")
		k.post("", "q", "fill in the fields of this PDF form", "agent", "clerk").is(200).has(">pinned</span>", "clerk: sort-slides, pdf-forms")
		k.follow(k.post("switch", "id", "sort-slides", "agent", "clerk")).has("It is not pinned: clerk gets it where it fits.")
		k.post("switch", "id", "sort-slides", "agent", "nobody", "on", "1").is(400).has("there is no agent &#34;nobody&#34; here")
		with(func(o *web.Options) { o.Agent = &repertoire.Agent{Name: "clerk"} })
	}
	k.get("skill", "id", "secret-plan").is(404)

	with(func(o *web.Options) { o.Key, o.Check = "", bearers{"some": access.Caller{Agent: "clerk", Name: "bob"}} })
	k.post("signin", "token", "some").is(303)
	k.get("skill", "id", "pdf-forms").is(200).lacks("Disable for everybody", "Always offer it to")
	if status := k.post("switch", "id", "pdf-forms").Code; status == 303 || status == 200 {
		t.Errorf("a caller who is not the owner may switch skills: %d", status)
	}
}

// TestWhy: those who see the whole catalog learn why a prompt finds a skill or does not.
func TestWhy(t *testing.T) {
	known := bearers{"all": {}, "some": access.Caller{Agent: "clerk", Name: "bob"}}
	var seen []string
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) {
		o.Key, o.Check = "", known
		o.Observe = func(e usage.Event) {
			seen = append(seen, strings.Join([]string{e.Caller, strings.TrimPrefix(e.Call, "/ui/"), e.Agent, strings.Join(e.IDs(), ","), e.What, e.Prompt}, " "))
		}
	})
	k.post("signin", "token", "all").is(303)
	k.get("skill", "id", "pdf-forms").is(200).has("Would a prompt find it?", "Seen by", ">clerk</a>")
	k.post("skill?id=pdf-forms", "q", "fill in the fields of this invoice").is(200).has("in the text: ", "not in it: invoice", `class="mark"`, "Score: number 1 of")
	k.post("skill?id=sort-songs", "q", "fill in the fields of this PDF form").is(200).has("Not offered: it has no word in common with the prompt.")
	k.post("signin", "token", "some").is(303)
	k.post("skill?id=pdf-forms", "q", "plan a party").is(200).lacks("Would a prompt find it?", "secret-plan", "Verdict", "Seen by")
	k.get("file", "id", "pdf-forms", "path", "scripts/fill.py").is(200)
	k.post("", "q", "fill in the fields of a PDF form").is(200)
	k.get("catalog", "q", "pdf").is(200)
	want := []string{
		" skill  pdf-forms  ", " skill  pdf-forms  fill in the fields of this invoice", " skill  sort-songs  fill in the fields of this PDF form",
		"bob skill clerk pdf-forms  plan a party", "bob file clerk pdf-forms scripts/fill.py ",
		"bob prompt clerk pdf-forms  fill in the fields of a PDF form", "bob catalog clerk pdf-forms  pdf",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

// TestFile: files are shown as text or saved, and no path leads out of the skill.
func TestFile(t *testing.T) {
	files := few()
	files["pdf-forms/large.txt"] = strings.Repeat("0123456789abcde\n", 20_000)
	files["pdf-forms/empty.txt"] = ""
	k := open(t, files)
	k.get("file", "id", "pdf-forms", "path", "references/fields.md").is(200).has("<h2>Fields</h2>", "17 bytes")
	k.get("file", "id", "pdf-forms", "path", "references/fields.md", "view", "raw").is(200).has("># Fields\none")
	k.get("file", "id", "pdf-forms", "path", "scripts/fill.py").is(200).has("print(&#39;fill&#39;)")
	k.get("file", "id", "pdf-forms", "path", "logo.png").is(200).has("This file is not text.")
	k.get("file", "id", "pdf-forms", "path", "empty.txt").is(200).has("This file is empty.")
	if p := k.get("file", "id", "pdf-forms", "path", "large.txt").is(200).has("The rest is not shown", "320.0 KB"); len(p.text) > 300_000 {
		t.Errorf("%d bytes", len(p.text))
	}
	p := k.get("file", "id", "pdf-forms", "path", "logo.png", "save", "1").is(200)
	for header, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="logo.png"`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
	} {
		if got := p.Header().Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	if p.text != files["pdf-forms/logo.png"] {
		t.Errorf("%q", p.text)
	}
	for _, path := range []string{"../secret-plan/SKILL.md", "/etc/passwd", "..", "nothing.md", "", `..\secret-plan\SKILL.md`, "a\x00b"} {
		if p := k.get("file", "id", "pdf-forms", "path", path); p.Code != 404 && p.Code != 400 || strings.Contains(p.text, "party") {
			t.Errorf("%q: %d, %s", path, p.Code, p.main())
		}
	}
}

// TestSkillScope: what the agent of a visitor does not see does not exist.
func TestSkillScope(t *testing.T) {
	known := bearers{"some": access.Caller{Agent: "clerk"}}
	k := open(t, few(), func(cfg *repertoire.Config, o *web.Options) {
		o.Key, o.Check = "", known
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-slides"}}, Place: search.Place{File: "config-of-the-owner", Line: 3}}}}
	})
	k.post("signin", "token", "some").is(303)
	k.get("skill", "id", "pdf-forms").is(200)
	for _, id := range []string{"secret-plan", "team/secret-plan", "sort-slides", "team/sort-slides"} {
		for _, page := range []string{"skill", "file"} {
			k.get(page, "id", id, "path", "SKILL.md").is(404).lacks("party", "config-of-the-owner", "disabled")
		}
	}
	k.get("change", "id", "pdf-forms", "version", "1").is(404)
}

// TestHistory: the owner sees the versions of a skill and what each changed.
func TestHistory(t *testing.T) {
	var box *proposal.Box
	var catalog late
	k := open(t, few(), func(cfg *repertoire.Config, o *web.Options) {
		var err error
		box, err = proposal.Open(filepath.Join(t.TempDir(), "proposals"), &catalog, &proposal.Options{Sources: func() []source.Source { return cfg.Sources }})
		must.Do(t, err)
		o.Proposals = box
	})
	catalog.Catalog = k.catalog
	_, err := box.Record(t.Context(), proposal.Who{Name: "ann"}, "pdf-forms")
	must.Do(t, err)
	k.write("pdf-forms/scripts/fill.py", "print('<b>')\n")
	_, err = box.Record(t.Context(), proposal.Who{Name: "bob"}, "pdf-forms")
	must.Do(t, err)
	k.get("skill", "id", "pdf-forms").is(200).has("History", "Version 2", "by bob", "/change?id=pdf-forms&amp;version=2")
	k.get("change", "id", "pdf-forms", "version", "2").is(200).has(`<span class="del">-print(&#39;fill&#39;)`, `<span class="add">&#43;print(&#39;&lt;b&gt;&#39;)`)
	k.get("change", "id", "pdf-forms", "version", "7").is(404).has("no version")
	k.get("change", "id", "nothing", "version", "1").is(404)
}
