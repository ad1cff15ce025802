package openai

import (
	"encoding/json"
	"errors"
	"math"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/agent"
)

// request returns a question in the form of the protocol.
func (m *Model) request(q agent.Question, stream bool) api.ChatCompletionRequest {
	r := api.ChatCompletionRequest{
		Model: m.cfg.Model, Messages: messages(q), Tools: tools(q.Tools), ReasoningEffort: m.cfg.Effort,
		MaxTokens: m.cfg.MaxTokens, //lint:ignore SA1019 many servers know only this name
	}
	if errors.Is(api.NewReasoningValidator().Validate(r), api.ErrReasoningModelMaxTokensDeprecated) {
		r.MaxTokens, r.MaxCompletionTokens = 0, m.cfg.MaxTokens //lint:ignore SA1019 see above
	}
	if t := m.cfg.Temperature; t != nil {
		// The library leaves out a 0. The next number says the same.
		r.Temperature = max(float32(*t), math.SmallestNonzeroFloat32)
	}
	if stream && !m.noUsage.Load() {
		r.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	return r
}

func messages(q agent.Question) []api.ChatCompletionMessage {
	var list []api.ChatCompletionMessage
	if q.System != "" {
		list = append(list, api.ChatCompletionMessage{Role: api.ChatMessageRoleSystem, Content: q.System})
	}
	for _, m := range q.Messages {
		to := api.ChatCompletionMessage{Role: api.ChatMessageRoleUser, Content: m.Text}
		switch {
		case m.Role == agent.Assistant:
			to.Role = api.ChatMessageRoleAssistant
		case m.Role == agent.Result && m.Call != "":
			to.Role, to.ToolCallID = api.ChatMessageRoleTool, m.Call
		}
		if m.Role == agent.Assistant {
			to.ToolCalls = calls(m.Calls)
		}
		if to.Content == "" && len(to.ToolCalls) == 0 {
			to.Content = " " // servers refuse a message without content
		}
		list = append(list, to)
	}
	return list
}

func calls(calls []agent.Call) []api.ToolCall {
	var list []api.ToolCall
	for _, c := range calls {
		list = append(list, api.ToolCall{
			ID: c.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: c.Name, Arguments: object(c.Arguments)},
		})
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

func tools(tools []agent.Tool) []api.Tool {
	var list []api.Tool
	for _, t := range tools {
		f := &api.FunctionDefinition{Name: t.Name, Description: t.Description}
		if len(t.Parameters) > 0 {
			f.Parameters = t.Parameters
		}
		list = append(list, api.Tool{Type: api.ToolTypeFunction, Function: f})
	}
	return list
}
