package agent_test

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestUnread: a model learns that a folder of skills has not been read yet, and what to do.
func TestUnread(t *testing.T) {
	t.Parallel()
	old, err := source.Files(toolSkills, &source.Options{Label: "team", Priority: 1})
	must.Do(t, err)
	added, err := source.Files(map[string]string{"pie/SKILL.md": "---\nname: pie\ndescription: Bakes pies.\n---\nBake it.\n"}, &source.Options{Label: "new"})
	must.Do(t, err)
	cfg := repertoire.Config{Sources: []source.Source{old}}
	held := catalogtest.Half(t, &cfg, added)
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { held.Release(); must.Do(t, c.Close()) })

	const part = "so far this is part of the catalog: 1 folder has not been read yet, so try again in a moment"
	a := newAgent(t, agent.Config{Catalog: c})
	for _, call := range []string{`{}`, `{"query":"fill in a pdf form"}`, `{"query":"zibbel snarks"}`} {
		answer := a.Call(t.Context(), "list_skills", call).Text
		if !strings.Contains(answer, "1 folder has not been read yet") || !strings.Contains(answer, "A later call may find more.") {
			t.Errorf("list_skills %s: %s", call, answer)
		}
	}
	if answer := a.Call(t.Context(), "get_skill", `{"skill_name":"no-such-skill"}`).Text; !strings.Contains(answer, part) {
		t.Errorf("get_skill: %s", answer)
	}
	got := make(chan string, 1)
	go func() { got <- a.Call(t.Context(), "get_skill", `{"skill_name":"pie"}`).Text }()
	held.Release()
	if answer := <-got; !strings.Contains(answer, "Bake it.") {
		t.Errorf("get_skill: %s", answer)
	}
	if answer := a.Call(t.Context(), "list_skills", `{}`).Text; strings.Contains(answer, "not been read") || !strings.Contains(answer, "pie") {
		t.Errorf("list_skills: %s", answer)
	}
}
