package mcpserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestReadRequired: with LoadRequired a skill comes with those that it requires, and who
// loads a skill that lacks a command is told.
func TestReadRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	files := few()
	files["lamp/SKILL.md"] = doc("lamp", "Lights up.", "requires: {commands: [lamplighter], skills: [pdf-forms]}")
	var loaded []string
	k := serve(t, files, "", func(c *repertoire.Config, _ *mcpserver.Options) { c.LoadRequired = true })
	c := k.connect(t, true)
	text, _ := c.tool("read_skill", object{"id": "lamp"})
	contains(t, "text", text, "the skill needs the command lamplighter, which is not in PATH", "asks for the skill pdf-forms too, which follows it here", files["pdf-forms/SKILL.md"], files["pdf-base/SKILL.md"])
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "Skill "); ok {
			loaded = append(loaded, strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' })[0])
		}
	}
	if !slices.Equal(loaded, []string{"lamp", "pdf-forms", "pdf-base"}) {
		t.Errorf("loaded %q", loaded)
	}
	for tool, args := range map[string]object{"list_skills": {}, "search_skills": {"query": "light the lamp"}} {
		if text, _ := c.tool(tool, args); strings.Contains(text, "lamp") {
			t.Errorf("%s shows what lacks a command:\n%s", tool, text)
		}
	}
}
