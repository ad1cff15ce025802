package mcpserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
)

// TestUnknownArguments: a model that guesses an argument reads which ones there are, of each
// tool.
func TestUnknownArguments(t *testing.T) {
	var events []usage.Event
	k := serve(t, few(), "", func(_ *repertoire.Config, o *mcpserver.Options) {
		o.Observe = func(e usage.Event) { events = append(events, e) }
	})
	c := k.connect(t, true)
	tools := c.must("tools/list", nil)["tools"].([]any)
	for _, v := range tools {
		tool := v.(object)
		name, properties := tool["name"].(string), tool["inputSchema"].(object)["properties"].(object)
		message := c.fails(name, object{"zzzzzz": 1})
		contains(t, name, message, name+` has no argument 'zzzzzz'; give `)
		for argument := range properties {
			contains(t, name, message, argument)
		}
	}
	for _, tt := range []struct {
		tool, want string
		args       object
	}{
		{"search_skills", "search_skills has no argument 'q'; give a JSON object with query (string, required), limit (whole number), all (true or false), agent (string)", object{"q": "x"}},
		{"search_skills", "Argument query is missing; give a JSON object with query (string, required), limit", object{"query": nil}},
		{"read_skill", "read_skill has no argument 'skil'; give a JSON object with name (string, required)", object{"skil": "pdf-forms"}},
		{"read_skill_resource", "Argument path is missing; ", object{"name": "x"}},
	} {
		if got := c.fails(tt.tool, tt.args); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %v: %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
	// All names and forms that hosts have are answered, and one name only is listed.
	for call, want := range map[string]string{
		"use_skill": "Skill pdf-forms from team", "skill": "Skill pdf-forms from team", "activate_skill": `<skill_content name="pdf-forms">`,
		"get_skill": `{"name":"pdf-forms","description":`, "load_skill": `{"name":"pdf-forms","root_path":`, "Read_Skill": "Skill pdf-forms from team",
	} {
		if text, structured := c.tool(call, object{"skill_name": "pdf-forms", "id": nil}); !strings.HasPrefix(text, want) || structured != nil {
			t.Errorf("%s: %q, want %q", call, text, want)
		}
		if slices.Contains(field(any(tools), "name"), call) {
			t.Errorf("%s is listed", call)
		}
	}
	if text, _ := c.tool("read_skill_resource", object{"name": "pdf-forms", "path": "references/fields.md", "lines": "2"}); !strings.HasSuffix(text, "two\n") {
		t.Errorf("a file by the name of the skill: %q", text)
	}
	c.close()
	if e := events[1]; e.Call != tools[0].(object)["name"] || !e.Failed {
		t.Errorf("the event of a call with an unknown argument: %+v", e)
	}
}

// TestSearchSkillsFitting: if nothing fits, no skill is listed, and the nearest is named. With
// all, the limit alone decides.
func TestSearchSkillsFitting(t *testing.T) {
	k := serve(t, few(), "", func(cfg *repertoire.Config, _ *mcpserver.Options) { cfg.Embedder = nil })
	c := k.connect(t, true)
	args := object{"query": "how far is it by train when the tunnel under the lake is closed"}
	text, r := c.tool("search_skills", args)
	if len(r["skills"].([]any)) != 0 || r["nothing_fits"] != true || r["nearest"] == nil || r["unfit"] != 9.0 {
		t.Errorf("what hardly fits: %v", r)
	}
	nearest := r["nearest"]
	contains(t, "text", text, "Nothing fits", fmt.Sprintf("The nearest is %v, which hardly fits.", nearest))
	args["all"] = true
	if text, r = c.tool("search_skills", args); len(r["skills"].([]any)) != 8 || field(r["skills"], "id")[0] != nearest || r["nothing_fits"] != false {
		t.Errorf("all: %v", r)
	}
	contains(t, "text", text, "the nearest are:", fmt.Sprintf("- %v (", nearest))
}
