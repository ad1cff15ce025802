package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestReserved: no tool and no list of the server shows a model a skill that only the user starts,
// whichever file says so; its exact name reads it.
func TestReserved(t *testing.T) {
	files := few()
	files["lamp/SKILL.md"] = doc("lamp", "Lights the harbour lamps. Use when lighting lamps.", "disable-model-invocation: true")
	files["wick/SKILL.md"] = doc("wick", "Trims the wick of harbour lamps. Use when trimming.")
	files["wick/"+skill.InterfaceFile] = "policy: {allow_implicit_invocation: false}\n"
	k := serve(t, files, "")
	eras(t, func(t *testing.T, modern bool) {
		c := k.connect(t, modern)
		say := func(v any) string {
			data, err := json.Marshal(v)
			must.Do(t, err)
			return string(data)
		}
		for tool, args := range map[string]object{
			"list_skills": {}, "search_skills": {"query": "lamp", "all": true}, "suggest_skills": {"prompt": "light the harbour lamps and trim the wick"},
			"search_skill_files": {"query": "lamp"},
		} {
			r, err := c.call("tools/call", object{"name": tool, "arguments": args})
			if got := say(r) + say(err); strings.Contains(got, `lamp\"`) || strings.Contains(got, "wick") && !strings.Contains(got, "and trim") || strings.Contains(got, "Lights the harbour") {
				t.Errorf("%s shows %s", tool, got)
			}
		}
		for _, method := range []string{"skills/list", "resources/list"} {
			r, err := c.call(method, object{})
			if got := say(r) + say(err); strings.Contains(got, "lamp") || strings.Contains(got, "wick") {
				t.Errorf("%s shows %s", method, got)
			}
		}
		for _, name := range []string{"lamp", "wick"} {
			if text, _ := c.tool("read_skill", object{"id": name}); !strings.Contains(text, "Do it.") {
				t.Errorf("read_skill %s says %s", name, text)
			}
			if text, _ := c.tool("suggest_skills", object{"prompt": "/" + name + " now"}); !strings.Contains(text, name) {
				t.Errorf("suggest_skills /%s says %s", name, text)
			}
		}
	})
}
