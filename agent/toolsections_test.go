package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// longSkill is a SKILL.md with some sections of filler and two that matter.
func longSkill() string {
	var b strings.Builder
	b.WriteString("---\nname: brewery\ndescription: Brew beer at home. Use when somebody wants to brew.\n---\n# Brewing\n\nClean everything first.\n")
	for i := range 12 {
		fmt.Fprintf(&b, "\n## Step %d\n\n%s\n", i+1, strings.Repeat("Stir the mash slowly and note how warm it is. ", 12))
	}
	b.WriteString("\n## Bottling\n\n### Sugar\n\nSeven grams of sugar for each litre make the carbonation.\n\n### Caps\n\nPress the caps on while foam rises.\n")
	return b.String()
}

// TestLongSkill: of a long skill a model gets the opening and a table of the sections, and each
// section when it asks for it, in both kinds of conversations; a short one it gets whole.
func TestLongSkill(t *testing.T) {
	c, dir := toolCatalog(t, map[string]string{
		"brewery/SKILL.md":            longSkill(),
		"brewery/references/hops.md":  "# Hops\n\n## Storage\n\nKeep hops frozen and away from light.\n",
		"brewery/references/empty.md": "",
		"brewery/assets/logo.bin":     "\x00\x01",
		"short/SKILL.md":              "---\nname: short\ndescription: Pour beer. Use when somebody pours.\nrequires: {skills: [brewery]}\n---\nTilt the glass.\n",
	})
	a := newAgent(t, agent.Config{Catalog: c, Long: 400})
	talk := a.NewConversation()
	for _, call := range []struct {
		name, arguments string
		want            []string
		not             string
	}{
		{"read_skill", `{"name":"brewery"}`, []string{
			"It is long: only its opening, lines 1-12 of 65, follows here", "lines 13- reads on",
			"- Brewing (", "\n  - Step 12 (", "\n    - Sugar (", "\n\n---\nname: brewery\n", "Clean everything first.",
		}, "Seven grams"},
		{"read_skill", `{"name":"brewery"}`, []string{"The opening of the skill brewery stands in this conversation already"}, ""},
		{"read_skill", `{"name":"Brewery","section":"sugar"}`, []string{"Skill brewery, SKILL.md, lines 59-62, about ", "section Brewing > Bottling > Sugar:\n### Sugar\n\nSeven grams"}, "Press the caps"},
		{"read_skill", `{"name":"brewery","heading":"Bottling > Caps"}`, []string{"Press the caps"}, "Seven grams"},
		{"read_skill", `{"name":"brewery","section":"Storage"}`, []string{"references/hops.md, lines 3-5", "Keep hops frozen"}, ""},
		{"read_skill", `{"name":"brewery","section":"Bottlin"}`, []string{`skill brewery has no section "Bottlin"; did you mean Bottling`}, ""},
		{"read_skill", `{"name":"winery","section":"Sugar"}`, []string{"Skill 'winery' not found"}, ""},
		{"read_skill", `{"name":"short"}`, []string{"Tilt the glass.", "the skill brewery too; read_skill loads it"}, "Clean everything"},
		{"search_skill_files", `{"query":"how much sugar makes the carbonation","name":"brewery"}`, []string{"Skill brewery, SKILL.md, lines ", "Seven grams of sugar", "Not searched: brewery assets/logo.bin: it is binary"}, ""},
		{"search_skill_files", `{"query":"where are hops kept so that light does not spoil them"}`, []string{"Skill brewery, references/hops.md, lines 1-5", "Keep hops frozen"}, ""},
		{"search_skill_files", `{"query":"hops","name":"brewery","path":"references/hops.md"}`, []string{"references/hops.md"}, "SKILL.md"},
		{"search_skill_files", `{"query":"hops","name":"brewery","path":"references/hop.md"}`, []string{"File 'references/hop.md' not found in skill 'brewery'; its files: "}, ""},
		{"search_skill_files", `{"query":"hops","name":"brewery","path":"../short/SKILL.md"}`, []string{"Illegal path"}, ""},
		{"search_skill_files", `{"query":"hops","path":"references/hops.md"}`, []string{"Argument path is given without name"}, ""},
		{"search_skill_files", `{"name":"brewery"}`, []string{"Argument query is missing"}, ""},
		{"search_skill_files", `{"query":"hops","name":"winery"}`, []string{"Skill 'winery' not found"}, ""},
	} {
		got := talk.Call(t.Context(), call.name, call.arguments).Text
		for _, want := range call.want {
			if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
				t.Errorf("%s %s answers\n%s\nwant %q", call.name, call.arguments, got, want)
			}
		}
		if call.not != "" && strings.Contains(got, call.not) {
			t.Errorf("%s %s answers\n%s\nwith %q", call.name, call.arguments, got, call.not)
		}
	}
	if whole := newAgent(t, agent.Config{Catalog: c}).Call(t.Context(), "read_skill", `{"name":"brewery"}`).Text; !strings.Contains(whole, "Press the caps") {
		t.Errorf("without a bound: %s", whole)
	}

	r := a.Call(t.Context(), "read_skill", `{"name":"brewery"}`)
	if len(r.Events) != 1 || r.Events[0].Tokens > 200 || r.Kind != usage.Loaded {
		t.Errorf("%+v", r.Events)
	}
	if r = a.Call(t.Context(), "read_skill", `{"name":"brewery","section":"Caps"}`); r.Kind != usage.Read || r.Events[0].What != "SKILL.md" {
		t.Errorf("a section: %s %+v", r.Kind, r.Events)
	}
	if r = a.Call(t.Context(), "search_skill_files", `{"query":"hops"}`); r.Kind != usage.Searched || r.Events[0].Prompt != "hops" {
		t.Errorf("a search: %s %+v", r.Kind, r.Events)
	}

	// It is searched as it is now, also before a rescan.
	must.Do(t, os.WriteFile(filepath.Join(dir, "brewery/references/hops.md"), []byte("Throw old hops away."), 0o644))
	if got := a.Call(t.Context(), "search_skill_files", `{"query":"old hops","name":"brewery"}`).Text; !strings.Contains(got, "Throw old hops away.") {
		t.Errorf("after an edit: %s", got)
	}
}

// TestLongSkillWithoutHeadings: a long text without headings is read on by lines, and a table that
// has no room for all headings says so.
func TestLongSkillWithoutHeadings(t *testing.T) {
	many := "---\nname: many\ndescription: Keep many notes. Use for notes.\n---\n# Notes\n"
	for i := range 80 {
		many += fmt.Sprintf("\n## Note %d\n\nThis is the note of day %d.\n", i, i)
	}
	c, _ := toolCatalog(t, map[string]string{
		"flat/SKILL.md": "---\nname: flat\ndescription: Tell a long story. Use for stories.\n---\n" + strings.Repeat("Once upon a time there was a king.\n\n", 200),
		"many/SKILL.md": many,
	})
	a := newAgent(t, agent.Config{Catalog: c, Long: 400})
	flat := a.Call(t.Context(), "read_skill", `{"name":"flat"}`).Text
	if strings.Contains(flat, "Its sections") || !strings.Contains(flat, "reads on.\nThe rest of this text") {
		t.Error(flat)
	}
	if got := a.Call(t.Context(), "read_skill", `{"name":"many"}`).Text; !strings.Contains(got, "more are below these") {
		t.Error(got)
	}
}
