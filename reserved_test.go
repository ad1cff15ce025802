package repertoire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	ranking "github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// reserving are ways in which an author says that only the user starts the skill rollout-shop.
var reserving = map[string]map[string]string{
	"frontmatter": {"rollout-shop/SKILL.md": reservedDoc("disable-model-invocation: true")},
	"text":        {"rollout-shop/SKILL.md": reservedDoc(`disable_model_invocation: "yes"`)},
	"metadata":    {"rollout-shop/SKILL.md": reservedDoc("metadata: {disable-model-invocation: true}")},
	"Codex":       {"rollout-shop/SKILL.md": reservedDoc("license: MIT"), "rollout-shop/" + skill.InterfaceFile: "policy:\n  allow_implicit_invocation: false\n"},
}

func reservedDoc(line string) string {
	return "---\nname: rollout-shop\ndescription: Rolls out the web shop with a canary. Use when rolling out the shop.\n" + line + "\n---\nRoll it out.\n"
}

// kindsOfSource are all ways in which skills come to a catalog on this machine.
var kindsOfSource = map[string]func(*testing.T, map[string]string) source.Source{
	"folder": func(t *testing.T, files map[string]string) source.Source {
		s, _ := folder(t, "here", files)
		return s
	},
	"memory": func(t *testing.T, files map[string]string) source.Source { return memory(t, "here", 0, files) },
	"function": func(t *testing.T, files map[string]string) source.Source {
		s, err := source.Func(func(context.Context) (map[string]string, error) { return files, nil }, &source.Options{Label: "here"})
		must.Do(t, err)
		return s
	},
}

// TestReserved: no door gives a model a skill that only the user starts, however the author says so
// and wherever the skill comes from, unless the user names it, pins it or uses it. People find it,
// and whoever knows its name reads it.
func TestReserved(t *testing.T) {
	t.Parallel()
	for way, files := range reserving {
		for kind, from := range kindsOfSource {
			t.Run(way+" in "+kind, func(t *testing.T) {
				t.Parallel()
				all := docs("bread")
				for name, text := range files {
					all[name] = text
				}
				c := scanned(t, repertoire.Config{Sources: []source.Source{from(t, all)}})
				checkReserved(t, c)
			})
		}
	}
}

const rollout = "please roll out the web shop with a canary"

// blockFor returns the IDs in a block.
func blockFor(t *testing.T, c *repertoire.Catalog, prompt string, o contextprovider.Offer, a *repertoire.Agent) string {
	t.Helper()
	b, err := c.Block(t.Context(), prompt, repertoire.Budget{Offer: o, ListPinned: true}, a)
	must.Do(t, err)
	var ids []string
	for _, h := range b.Skills {
		ids = append(ids, h.ID)
		if !strings.Contains(b.Text, h.Name) {
			t.Errorf("the text lacks %s", h.ID)
		}
	}
	if strings.Contains(b.Text+b.Hint, "rollout-shop") != slices.Contains(ids, "rollout-shop") {
		t.Errorf("%q: %q is listed, and the text is\n%s%s", prompt, ids, b.Text, b.Hint)
	}
	return strings.Join(ids, " ")
}

func checkReserved(t *testing.T, c *repertoire.Catalog) {
	own, pins := &repertoire.Agent{Name: "own", Uses: []string{"rollout-shop"}}, &repertoire.Agent{Name: "pins", Pinned: []string{"rollout-shop"}}
	stranger := &repertoire.Agent{Name: "stranger", Pinned: []string{"rollout-shop"}, Foreign: true}
	for _, tt := range []struct {
		prompt string
		agent  *repertoire.Agent
		want   bool
	}{
		{rollout, nil, false}, {rollout, &repertoire.Agent{Name: "a"}, false}, {rollout, own, true}, {rollout, pins, true}, {rollout, stranger, false},
		{"rollout-shop", nil, false}, {"is rollout-shop any good?", nil, false}, {"what is in a/rollout-shop", nil, false}, {"cd $ROLLOUT-SHOP", nil, false},
		{"/rollout-shop now", nil, true}, {"$rollout-shop now", nil, true}, {"now, $rollout-shop!", nil, true}, {"and then run /rollout-shop", nil, true}, {"First this.\n/rollout-shop", nil, true},
		{"use the rollout-shop skill", nil, true}, {"Use the skill rollout-shop.", nil, true}, {"use the skill \"Rollout-Shop\", please", nil, true}, {"使用rollout-shop skill", nil, true},
	} {
		for _, o := range []contextprovider.Offer{contextprovider.Relevant, contextprovider.All, contextprovider.Auto} {
			if got := blockFor(t, c, tt.prompt, o, tt.agent); strings.Contains(got, "rollout-shop") != tt.want {
				t.Errorf("%q, %s: listed %q", tt.prompt, o, got)
			}
		}
	}
	for _, q := range []repertoire.Query{{Text: rollout}, {Text: "rollout-shop"}, {Text: "the skill rollout-shop"}, {Text: "shop", Syntax: true}} {
		if a, err := c.Search(t.Context(), q); err != nil || strings.Contains(fmt.Sprintf("%+v", a.Hits), "rollout-shop") {
			t.Errorf("%+v finds %+v, %v", q, a.Hits, err)
		}
		q.Person = true
		a, err := c.Search(t.Context(), q)
		must.Do(t, err)
		if len(a.Hits) == 0 || a.Hits[0].ID != "rollout-shop" || a.Hits[0].State != ranking.Reserved || a.Hits[0].InvokedBy != skill.InvokedByUser {
			t.Errorf("a person asks %q, and finds %+v", q.Text, a.Hits)
		}
	}
	for o, want := range map[*repertoire.ListOptions]string{nil: "bread offered", {Shadowed: true}: "bread offered", {Person: true}: "bread offered, rollout-shop reserved", {Held: true}: "bread offered, rollout-shop reserved"} {
		list, err := c.List(t.Context(), nil, o)
		must.Do(t, err)
		var got []string
		for _, e := range list {
			status, _ := e.Status()
			got = append(got, e.ID+" "+status)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%+v lists %q, want %s", o, got, want)
		}
	}
	if n, err := c.Count(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("%d skills are offered, %v", n, err)
	}
	if b, err := c.Body(t.Context(), "rollout-shop", nil); err != nil || !strings.Contains(b.Text, "Roll it out.") {
		t.Errorf("read by its name: %+v, %v", b, err)
	}
	why, err := c.Why(t.Context(), "rollout-shop", repertoire.Query{Text: rollout})
	if err != nil || why.State != ranking.Reserved || why.Relevant || !strings.Contains(why.Verdict, "only the user starts it") {
		t.Errorf("why: %+v, %v", why, err)
	}
	if why, err = c.Why(t.Context(), "rollout-shop", repertoire.Query{Text: "/rollout-shop now"}); err != nil || !why.Relevant {
		t.Errorf("why with its name: %q, %v", why.Verdict, err)
	}
	if found, err := c.FindText(t.Context(), contextprovider.TextQuery{Text: rollout}, nil); err != nil || strings.Contains(fmt.Sprint(found), "rollout-shop") {
		t.Errorf("a search in files finds %+v, %v", found, err)
	}
}

// TestReservedRequired: a skill that requires a reserved one does not bring it along.
func TestReservedRequired(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"disable-model-invocation: true": "release", "license: MIT": "release rollout-shop"} {
		files := map[string]string{
			"rollout-shop/SKILL.md": reservedDoc(line),
			"release/SKILL.md":      "---\nname: release\ndescription: Releases the kiln firmware. Use when releasing firmware.\nrequires: [rollout-shop]\n---\nBody.\n",
		}
		c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "here", 0, files)}, LoadRequired: true})
		if got := blockFor(t, c, "release the kiln firmware", contextprovider.Relevant, nil); got != want {
			t.Errorf("%s: listed %q, want %q", line, got, want)
		}
		b, err := c.Body(t.Context(), "release", nil)
		if must.Do(t, err); len(b.Required) != strings.Count(want, " ") {
			t.Errorf("%s: loaded with %+v", line, b.Required)
		}
	}
}
