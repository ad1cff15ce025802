package agent_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/tool"
)

// FuzzCall: whatever a model calls, the answer is one text, and of the tools that answer in JSON
// one object.
func FuzzCall(f *testing.F) {
	c, _ := toolCatalog(f, toolSkills)
	a := newAgent(f, agent.Config{Catalog: c, Executor: echo{}})
	f.Add("get_skill", `{"skill_name":"pdf-forms"}`)
	f.Add("search_skills", `{"query":"x","limit":"3","all":1}`)
	f.Add("list_skills", `{"cursor":"QA"}`)
	f.Add("read_skill_resource", `"{\"skill_name\":\"pdf-forms\",\"path\":\"../x\"}"`)
	f.Add("run_skill_script", `{"skill_name":"starter","command":"x","args":["a",1,true]}`)
	f.Add("pdf-forms__fields", `{"skill_name":`)
	f.Fuzz(func(t *testing.T, name, args string) {
		var m map[string]any
		r := a.Call(t.Context(), name, args)
		if !utf8.ValidString(r.Text) || r.Text == "" && a.Known(name) != "suggest_skills" && a.Known(name) != "read_skill_resource" {
			t.Errorf("%q %q: %q", name, args, r.Text)
		}
		if a.Known(name) == "get_skill" && json.Unmarshal([]byte(r.Text), &m) != nil {
			t.Errorf("%q %q is no JSON: %q", name, args, r.Text)
		}
	})
}

// FuzzFormatTools: any schema becomes valid JSON in each format, or an error.
func FuzzFormatTools(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]},"b":{"anyOf":[{"const":1,"type":"integer"}]}}}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"oneOf":[]}}},"required":"a","additionalProperties":{}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for _, format := range tool.Formats() {
			data, err := tool.Write(format, []agent.Tool{{Name: "x", Parameters: json.RawMessage(schema)}})
			if err == nil && !json.Valid(data) {
				t.Errorf("%s of %s: %s", format, schema, data)
			}
		}
	})
}
