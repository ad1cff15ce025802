package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
)

// A chatRequest is a question in the form of the protocol.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	Stream              bool            `json:"stream"`
	Tools               []chatTool      `json:"tools,omitempty"`
	StreamOptions       map[string]bool `json:"stream_options,omitempty"`
	Effort              string          `json:"reasoning_effort,omitempty"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content string     `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	Call    string     `json:"tool_call_id,omitempty"` // the call that the message answers
}

type chatCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"` // always "function"
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Function chatDefinition `json:"function"`
	Type     string         `json:"type"` // always "function"
}

type chatDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // nil is sent as null
}

// reasoning is how names of models of OpenAI start that want max_completion_tokens. Many other
// servers know only max_tokens.
var reasoning = []string{"o1", "o3", "o4", "gpt-5", "gpt-6"}

// request returns a question in the form of the protocol.
func (m *Model) request(q agent.Question, stream bool) chatRequest {
	r := chatRequest{
		Model: m.cfg.Model, Messages: messages(q), MaxTokens: m.cfg.MaxTokens, Temperature: m.cfg.Temperature, Stream: stream, Tools: tools(q.Tools), Effort: m.cfg.Effort,
	}
	if slices.ContainsFunc(reasoning, func(start string) bool { return strings.HasPrefix(r.Model, start) }) {
		r.MaxTokens, r.MaxCompletionTokens = 0, r.MaxTokens
	}
	if stream && !m.noUsage.Load() {
		r.StreamOptions = map[string]bool{"include_usage": true}
	}
	return r
}

func messages(q agent.Question) []chatMessage {
	var list []chatMessage
	if q.System != "" {
		list = append(list, chatMessage{Role: "system", Content: q.System})
	}
	for _, m := range q.Messages {
		to := chatMessage{Role: "user", Content: m.Text}
		switch {
		case m.Role == agent.Assistant:
			to.Role, to.Calls = "assistant", calls(m.Calls)
		case m.Role == agent.Result && m.Call != "":
			to.Role, to.Call = "tool", m.Call
		}
		if to.Content == "" && len(to.Calls) == 0 {
			to.Content = " " // servers refuse a message without content
		}
		list = append(list, to)
	}
	return list
}

func calls(calls []agent.Call) []chatCall {
	var list []chatCall
	for _, c := range calls {
		list = append(list, chatCall{ID: c.ID, Type: "function", Function: chatFunction{c.Name, object(c.Arguments)}})
	}
	return list
}

// object returns arguments as a JSON object. Many servers parse them, and refuse the whole
// conversation if one model once wrote malformed ones.
func object(arguments string) string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &o) == nil && o != nil {
		return arguments
	}
	b, err := json.Marshal(map[string]string{"malformed": arguments})
	if err != nil {
		return "{}" // unreachable: any string is JSON
	}
	return string(b)
}

func tools(tools []agent.Tool) []chatTool {
	var list []chatTool
	for _, t := range tools {
		list = append(list, chatTool{chatDefinition{t.Name, t.Description, t.Parameters}, "function"})
	}
	return list
}
