package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
)

// FuzzHandle: whatever a model calls, the answer is one JSON object.
func FuzzHandle(f *testing.F) {
	c, _ := toolCatalog(f, toolSkills)
	a := newAgent(f, agent.Config{Catalog: c, Executor: echo{}})
	f.Add("get_skill", `{"skill_name":"pdf-forms"}`)
	f.Add("read_skill_resource", `"{\"skill_name\":\"pdf-forms\",\"path\":\"../x\"}"`)
	f.Add("run_skill_script", `{"skill_name":"starter","command":"x","args":["a",1,true]}`)
	f.Add("pdf-forms__fields", `{"skill_name":`)
	f.Fuzz(func(t *testing.T, name, args string) {
		var m map[string]any
		if answer := a.Handle(t.Context(), name, args); json.Unmarshal([]byte(answer), &m) != nil {
			t.Errorf("%q %q: %q", name, args, answer)
		}
	})
}

// FuzzFormatTools: any schema becomes valid JSON in each format, or an error.
func FuzzFormatTools(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]},"b":{"anyOf":[{"const":1,"type":"integer"}]}}}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"oneOf":[]}}},"required":"a","additionalProperties":{}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for _, format := range agent.ToolFormats() {
			data, err := agent.FormatTools(format, []agent.Tool{{Name: "x", Parameters: json.RawMessage(schema)}})
			if err == nil && !json.Valid(data) {
				t.Errorf("%s of %s: %s", format, schema, data)
			}
		}
	})
}
