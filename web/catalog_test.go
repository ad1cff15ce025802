package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/web"
)

// TestCatalog: the list is filtered by source, tag, agent and state, and searched.
func TestCatalog(t *testing.T) {
	files := few()
	files["copy/SKILL.md"] = doc("sort-songs", "Sorts songs in another way.", "Look.")
	k := open(t, files, func(cfg *repertoire.Config, _ *web.Options) {
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-slides"}}}}}
	})
	k.get("catalog").is(200).has("8 skills<", `href="/skill?id=pdf-forms"`, `<option value="team">`, `<option value="office">`, `<option value="clerk">`,
		`<option value="disabled">`, `<option value="shadowed">`, `aria-current="page">Catalog`, "Not offered: ")
	k.get("catalog", "tag", "PDF").has("1 skill of 8", "pdf-forms").lacks("secret-plan")
	k.get("catalog", "agent", "clerk").has("7 skills").lacks("secret-plan")
	k.get("catalog", "agent", "nobody").is(400)
	k.get("catalog", "state", "disabled").has("1 skill of 8", "sort-slides").lacks("id=pdf-forms")
	k.get("catalog", "state", "shadowed").has("team/").lacks("id=pdf-forms")
	k.get("catalog", "source", "nowhere").has("No skill is like that.")
	k.get("catalog", "q", "PLAN").has("1 skill of 8", "secret-plan")
	k.get("catalog", "q", "fields of forms", "source", "team", "tag", "office").has("pdf-forms", "<mark>")
	k.get("catalog", "q", "fields of forms", "source", "nowhere", "tag", "none").is(200).has("No skill is like that.")
	k.get("catalog", "q", "zzz qqq").has("No skill is like that.")
	k.get("catalog", "from", "-7").is(200)
	k.get("catalog", "from", "x").is(200)
}

// TestCatalogScope: a visitor with an agent sees what the agent sees, and learns of no other
// agent, tag or state.
func TestCatalogScope(t *testing.T) {
	known := bearers{"some": access.Caller{Agent: "clerk"}}
	k := open(t, few(), func(cfg *repertoire.Config, o *web.Options) {
		o.Key, o.Check = "", known
		cfg.Agents = append(cfg.Agents, &repertoire.Agent{Name: "chief"})
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-slides"}}}}}
	})
	k.post("signin", "token", "some").is(303)
	k.get("catalog").is(200).has("6 skills<", "pdf-forms").lacks("secret-plan", "private", "chief", "sort-slides", "disabled")
	k.get("catalog", "agent", "chief").is(200).lacks("secret-plan")
	k.get("catalog", "q", "secret-plan").is(200).lacks("id=secret-plan")
}

// TestManyTags: the form offers the tags that most skills have, and the one that was chosen.
func TestManyTags(t *testing.T) {
	files := make(map[string]string)
	for i := range 201 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = doc(name, "Does a thing. Use when it is to be done.", "Do it.", fmt.Sprintf("tags: [Own-%03d, all]", i))
	}
	k := open(t, files)
	page := k.get("catalog").is(200).has(">Frequent tag</label>", `<option value="all">`, `<option value="own-198">`)
	if n := strings.Count(page.text, `<option value="own-`); n != 199 {
		t.Errorf("%d tags besides the one of all", n)
	}
	page.lacks(`<option value="own-199">`)
	k.get("catalog", "tag", "Own-200").is(200).has(`<option value="own-200" selected>`, "1 skill", "id=s200")
	k.get("catalog", "tag", "Own-200", "q", "thing").is(200).has("id=s200").lacks("id=s001")
}

// TestPages: a long list comes in pages.
func TestPages(t *testing.T) {
	files := make(map[string]string)
	for i := range 120 {
		files[fmt.Sprintf("s%03d/SKILL.md", i)] = doc(fmt.Sprintf("s%03d", i), "Does a thing. Use when it is to be done.", "Do it.")
	}
	k := open(t, files)
	k.get("catalog").has("120 skills", "id=s000", "id=s049", "1–50 of 120", `from=50`).lacks("id=s050", ">Back<")
	k.get("catalog", "from", "50").has("id=s050", "id=s099", "51–100 of 120", `from=100`, ">Back<")
	k.get("catalog", "from", "100").has("id=s119", "101–120 of 120").lacks("id=s099", ">More<")
	k.get("catalog", "from", "1000").has("id=s119")
}
