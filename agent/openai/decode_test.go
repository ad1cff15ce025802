package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/agent"
)

// events returns a stream of these deltas, and then of these lines.
func events(deltas []string, lines ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	for _, line := range lines {
		b.WriteString(line + "\n\n")
	}
	return b.String()
}

const (
	done = "data: [DONE]"
	stop = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

// TestDecode: the forms in which servers answer.
func TestDecode(t *testing.T) {
	one := []agent.Call{{ID: "a", Name: "get_skill", Arguments: `{"skill_name":"pdf"}`}}
	two := append(one[:1:1], agent.Call{ID: "b", Name: "rm", Arguments: `{"x":1}`})
	anonymous := []agent.Call{{Name: "get_skill", Arguments: `{"skill_name":"pdf"}`}, {Name: "rm", Arguments: `{"x":1}`}}
	hello := agent.Message{Text: "Hello you"}
	for name, test := range map[string]struct {
		body string
		want agent.Message
	}{
		"whole":               {`{"choices":[{"message":{"content":"Hello you"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, agent.Message{Text: "Hello you", Usage: agent.Usage{In: 3, Out: 2}}},
		"content of parts":    {`{"choices":[{"message":{"content":[{"type":"text","text":"Hello "},{"text":"you"}]}}]}`, hello},
		"a byte order mark":   {"\ufeff \n" + `{"choices":[{"message":{"content":"Hello you"}}]}`, hello},
		"cut by length":       {`{"choices":[{"message":{"content":"Hel"},"finish_reason":"length"}]}`, agent.Message{Text: "Hel", Cut: true}},
		"refusal":             {`{"choices":[{"message":{"content":null,"refusal":"No."}}]}`, agent.Message{Text: "No."}},
		"whole calls":         {`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"get_skill","arguments":"{\"skill_name\":\"pdf\"}"}},{"id":"b","function":{"name":"rm","arguments":{"x":1}}}]}}]}`, agent.Message{Calls: two}},
		"whole without IDs":   {`{"choices":[{"message":{"tool_calls":[{"id":"","function":{"name":"get_skill","arguments":{"skill_name":"pdf"}}},{"function":{"name":"rm","arguments":{"x":1}}}]}}]}`, agent.Message{Calls: anonymous}},
		"function_call":       {`{"choices":[{"message":{"function_call":{"name":"get_skill","arguments":"{\"skill_name\":\"pdf\"}"}}}]}`, agent.Message{Calls: []agent.Call{{Name: "get_skill", Arguments: `{"skill_name":"pdf"}`}}}},
		"no arguments":        {`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"list"}},{"id":"b","function":{"name":"list","arguments":null}}]}}]}`, agent.Message{Calls: []agent.Call{{ID: "a", Name: "list", Arguments: "{}"}, {ID: "b", Name: "list", Arguments: "{}"}}}},
		"stream":              {events([]string{`{"role":"assistant","content":""}`, `{"content":"Hello "}`, `{"content":"you"}`}, stop, `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, done), agent.Message{Text: "Hello you", Usage: agent.Usage{In: 3, Out: 2}}},
		"no end":              {events([]string{`{"content":"Hello "}`, `{"content":"you"}`}), agent.Message{Text: "Hello you", Cut: true}},
		"no DONE":             {events([]string{`{"content":"Hello you"}`}, stop), hello},
		"no finish_reason":    {events([]string{`{"content":"Hello you"}`}, done), hello},
		"comments and fields": {": ping\r\n\r\nevent: message\r\nid: 1\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"Hello you\"}}]}\r\n\r\n" + done, hello},
		"several lines":       {"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"Hello you\"}}]}\n\n" + done, hello},
		"no empty lines":      {"data: {\"choices\":[{\"delta\":{\"content\":\"Hello \"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"you\"}}]}\n" + done, hello},
		"two choices":         {events(nil, `data: {"choices":[{"index":0,"delta":{"content":"Hello you"}},{"index":1,"delta":{"content":"Bye"}}]}`, done), hello},
		"pieces of calls": {events([]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_skill","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"skill_"}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"rm","arguments":"{\"x\""}},{"index":0,"function":{"arguments":"name\":\"pdf\"}"}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}`,
		}, done), agent.Message{Calls: two}},
		"pieces without index": {events([]string{
			`{"tool_calls":[{"id":"a","function":{"name":"get_skill","arguments":"{\"skill_name\":"}}]}`, `{"tool_calls":[{"function":{"arguments":"\"pdf\"}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"name":"rm","arguments":"{\"x\":"}}]}`, `{"tool_calls":[{"id":"b","function":{"name":"rm","arguments":"1}"}}]}`,
		}, done), agent.Message{Calls: two}},
		"whole calls, all index 0": {events([]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_skill","arguments":"{\"skill_name\":\"pdf\"}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"rm","arguments":"{\"x\":1}"}}]}`,
		}, done), agent.Message{Calls: two}},
		"the same without IDs": {events([]string{
			`{"tool_calls":[{"index":0,"id":"","function":{"name":"get_skill","arguments":"{\"skill_name\":\"pdf\"}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"","function":{"name":"rm","arguments":"{\"x\":1}"}}]}`,
		}, done), agent.Message{Calls: anonymous}},
		"neither index nor IDs": {events([]string{
			`{"tool_calls":[{"function":{"name":"get_skill","arguments":{"skill_name":"pdf"}}}]}`, `{"tool_calls":[{"function":{"name":"rm","arguments":{"x":1}}}]}`,
		}, done), agent.Message{Calls: anonymous}},
		"an ID for each piece": {events([]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_skill"}}]}`, `{"tool_calls":[{"index":0,"id":"r2","function":{"arguments":"{\"skill_name\":"}}]}`,
			`{"tool_calls":[{"index":0,"id":"r3","function":{"name":null,"arguments":"\"pdf\"}"}}]}`,
		}, done), agent.Message{Calls: one}},
		"a name in pieces": {events([]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"skill","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"skill_name\":\"pdf\"}"}}]}`,
		}, stop), agent.Message{Calls: one}},
		"malformed arguments": {events([]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_skill","arguments":"{\"skill"}}]}`}, done), agent.Message{Calls: []agent.Call{{ID: "a", Name: "get_skill", Arguments: `{"skill`}}}},
	} {
		var said strings.Builder
		got, err := decode(strings.NewReader(test.body), func() {}, func(s string) { said.WriteString(s) })
		test.want.Role = agent.Assistant
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if said.String() != test.want.Text {
			t.Errorf("%s: said %q", name, &said)
		}
	}
}

// TestDecodeErrors: what is no whole answer.
func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct {
		name, body, want string
		cut              bool
	}{
		{"empty", "", "empty", true},
		{"HTML", " <html>", "an HTML page", false},
		{"another protocol", `{"response":"Hello","done":true}`, "has no choices", false},
		{"text", "Ollama is running", "no stream: Ollama is running", false},
		{"error", `{"error":{"message":"overloaded","code":503}}`, "overloaded", false},
		{"error in a stream", events([]string{`{"content":"Hello"}`}, `data: {"error":{"message":"overloaded"}}`), "overloaded", false},
		{"finish_reason error", events([]string{`{"content":"Hello"}`}, `data: {"choices":[{"delta":{},"finish_reason":"error"}]}`), "broke off", false},
		{"filter", `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`, "content filter", false},
		{"half an event", `data: {"choices":[{"delta":{"content":"Hel`, "malformed", true},
		{"half a call", events([]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a"}}]}`}), "a call is not whole", true},
		{"only comments", ": ping\n\n", "empty", true},
		{"half an answer", `{"choices":[{"message":{"content":"Hel`, "malformed", false},
	} {
		_, err := decode(strings.NewReader(test.body), func() {}, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, errCut) != test.cut {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// FuzzDecode: no answer breaks the decoder, and what it takes can be asked again.
func FuzzDecode(f *testing.F) {
	f.Add(`{"choices":[{"message":{"content":"Hello","tool_calls":[{"id":1,"function":{"name":"a","arguments":{}}}]}}]}`)
	f.Add(events([]string{`{"content":"a"}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`}, stop, done))
	m := &Model{}
	f.Fuzz(func(t *testing.T, body string) {
		var said strings.Builder
		got, err := decode(strings.NewReader(body), func() {}, func(s string) { said.WriteString(s) })
		if said.String() != got.Text {
			t.Errorf("said %q, answered %q", &said, got.Text)
		}
		if err != nil {
			return
		}
		for _, c := range got.Calls {
			if !json.Valid([]byte(object(c.Arguments))) {
				t.Errorf("arguments %q", c.Arguments)
			}
		}
		if _, err := json.Marshal(m.request(agent.Question{Messages: []agent.Message{got}}, true)); err != nil {
			t.Error(err)
		}
	})
}

// TestMaxTokens: newer models of OpenAI have another name for it.
func TestMaxTokens(t *testing.T) {
	for model, want := range map[string][2]int{"gpt-5-mini": {0, 5}, "qwen3": {5, 0}} {
		r := (&Model{cfg: Config{Model: model, MaxTokens: 5}}).request(agent.Question{}, false)
		if got := [2]int{r.MaxTokens, r.MaxCompletionTokens}; got != want {
			t.Errorf("%s: max_tokens and max_completion_tokens %v, want %v", model, got, want)
		}
	}
}

// TestRequest: what is sent, byte for byte; what is not set is left out.
func TestRequest(t *testing.T) {
	half := 0.5
	q := agent.Question{
		System: "Be brief.",
		Messages: []agent.Message{
			{Role: agent.Assistant, Calls: []agent.Call{{ID: "a", Name: "count", Arguments: "{}"}}},
			{Role: agent.Result, Call: "a", Text: "3"},
		},
		Tools: []agent.Tool{{Name: "count", Description: "Counts.", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
	for _, test := range []struct {
		cfg    Config
		q      agent.Question
		stream bool
		want   string
	}{
		{Config{Model: "qwen3"}, agent.Question{Messages: q.Messages[1:]}, false,
			`{"model":"qwen3","messages":[{"role":"tool","content":"3","tool_call_id":"a"}],"stream":false}`},
		{Config{Model: "o3", MaxTokens: 5, Temperature: &half, Effort: "low"}, q, true,
			`{"model":"o3","messages":[{"role":"system","content":"Be brief."},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"count","arguments":"{}"}}]},` +
				`{"role":"tool","content":"3","tool_call_id":"a"}],"max_completion_tokens":5,"temperature":0.5,"stream":true,` +
				`"tools":[{"function":{"name":"count","description":"Counts.","parameters":{"type":"object"}},"type":"function"}],"stream_options":{"include_usage":true},"reasoning_effort":"low"}`},
	} {
		got, err := json.Marshal((&Model{cfg: test.cfg}).request(test.q, test.stream))
		if err != nil || string(got) != test.want {
			t.Errorf("%v, sent\n%s, want\n%s", err, got, test.want)
		}
	}
}
