package clientstest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// Model is the name of the model, which clients that have a list of models know as well.
const Model = "gpt-5.1"

// A protocol is how a client speaks with a model.
type protocol struct {
	serves func(path string) bool
	read   func(body []byte) (Request, error)
	answer func(w http.ResponseWriter, t turn, stream bool)
}

func protocols() []protocol {
	ends := func(end string) func(string) bool {
		return func(path string) bool { return strings.HasSuffix(path, end) }
	}
	return []protocol{
		{ends("/messages"), readMessages, answerMessages},
		{ends("/responses"), readResponses, answerResponses},
		{ends("/chat/completions"), readChat, answerChat},
		{func(path string) bool {
			return strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent")
		}, readGemini, answerGemini},
	}
}

// readMessages reads a request of Anthropic's protocol.
func readMessages(body []byte) (r Request, err error) {
	var in struct {
		Stream bool
		System content
		Tools  []struct{ Name, Description string }

		Messages []struct {
			Role    string
			Content content
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.stream = in.Stream
	for _, p := range in.System {
		r.add("system", p.Text)
	}
	for _, m := range in.Messages {
		for _, p := range m.Content {
			if p.Type == "tool_result" {
				r.add("tool", p.Content.text())
				continue
			}
			r.add(m.Role, p.Text)
		}
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description})
	}
	return r, nil
}

func answerMessages(w http.ResponseWriter, t turn, stream bool) {
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": Reply}, "end_turn"
	whole := object{"type": "text", "text": Reply}
	if t.Call != "" {
		block = object{"type": "tool_use", "id": "toolu_1", "name": t.Call, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": t.Args}, "tool_use"
		whole = object{"type": "tool_use", "id": "toolu_1", "name": t.Call, "input": json.RawMessage(t.Args)}
	}
	usage := object{"input_tokens": 1000, "output_tokens": 10}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": Model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !stream {
		message["content"], message["stop_reason"] = []object{whole}, reason
		writeJSON(w, message)
		return
	}
	writeEvents(w, true,
		object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"})
}

// readResponses reads a request of OpenAI's protocol of responses.
func readResponses(body []byte) (r Request, err error) {
	var in struct {
		Stream       bool
		Instructions string
		Tools        []struct {
			Type, Name, Description string
			Tools                   []struct{ Name, Description string } // of a namespace
		}

		Input []struct {
			Type, Role string
			Content    content
			Output     content
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.stream = in.Stream
	r.add("system", in.Instructions)
	for _, item := range in.Input {
		for _, p := range item.Content {
			r.add(item.Role, p.Text)
		}
		r.add("tool", item.Output.text())
	}
	for _, t := range in.Tools {
		if len(t.Tools) == 0 {
			r.Tools = append(r.Tools, Tool{Name: cmp.Or(t.Name, t.Type), Description: t.Description})
		}
		for _, inner := range t.Tools {
			r.Tools = append(r.Tools, Tool{inner.Name, t.Name, inner.Description})
		}
	}
	return r, nil
}

func answerResponses(w http.ResponseWriter, t turn, stream bool) {
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": Reply, "annotations": []any{}}}}
	if t.Call != "" {
		item = object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed", "name": t.Call, "arguments": t.Args}
		if t.Namespace != "" {
			item["namespace"] = t.Namespace
		}
	}
	response := object{"id": "resp_1", "object": "response", "created_at": 1, "model": Model, "status": "completed", "output": []object{item},
		"usage": object{"input_tokens": 1000, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 1010}}
	if !stream {
		writeJSON(w, response)
		return
	}
	writeEvents(w, true,
		object{"type": "response.created", "response": object{"id": "resp_1", "object": "response", "created_at": 1, "model": Model, "status": "in_progress", "output": []any{}}},
		object{"type": "response.output_item.added", "output_index": 0, "item": item},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": response})
}

// readChat reads a request of OpenAI's protocol of chat completions.
func readChat(body []byte) (r Request, err error) {
	var in struct {
		Stream bool
		Tools  []struct {
			Function struct{ Name, Description string }
		}

		Messages []struct {
			Role    string
			Content content
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.stream = in.Stream
	for _, m := range in.Messages {
		if m.Role == "tool" {
			r.add(m.Role, m.Content.text())
			continue
		}
		for _, p := range m.Content {
			r.add(m.Role, p.Text)
		}
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Function.Name, Description: t.Function.Description})
	}
	return r, nil
}

func answerChat(w http.ResponseWriter, t turn, stream bool) {
	message, reason := object{"role": "assistant", "content": Reply}, "stop"
	if t.Call != "" {
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []object{
			{"index": 0, "id": "call_1", "type": "function", "function": object{"name": t.Call, "arguments": t.Args}}}}, "tool_calls"
	}
	kind, key := "chat.completion", "message"
	if stream {
		kind, key = "chat.completion.chunk", "delta"
	}
	answer := func(message object, reason any) object {
		return object{"id": "chat_1", "object": kind, "created": 1, "model": Model, "choices": []object{{"index": 0, key: message, "finish_reason": reason}},
			"usage": object{"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}}
	}
	if !stream {
		writeJSON(w, answer(message, reason))
		return
	}
	writeEvents(w, false, answer(message, nil), answer(object{}, reason))
	_, _ = w.Write([]byte("data: [DONE]\n\n")) // ignore the error: the client has gone
}

// readGemini reads a request of Gemini's protocol.
func readGemini(body []byte) (r Request, err error) {
	type parts struct {
		Role  string
		Parts []struct {
			Text             string
			FunctionResponse *struct{ Response map[string]any }
		}
	}
	var in struct {
		SystemInstruction parts
		Contents          []parts
		Tools             []struct {
			FunctionDeclarations []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	for _, p := range in.SystemInstruction.Parts {
		r.add("system", p.Text)
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				text, ok := p.FunctionResponse.Response["output"].(string)
				if !ok {
					data, _ := json.Marshal(p.FunctionResponse.Response) // ignore the error: it was JSON
					text = string(data)
				}
				r.add("tool", text)
			}
			r.add(cmp.Or(c.Role, "user"), p.Text)
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, Tool{Name: f.Name, Description: f.Description})
		}
	}
	return r, nil
}

func answerGemini(w http.ResponseWriter, t turn, stream bool) {
	p := object{"text": Reply}
	if t.Call != "" {
		p = object{"functionCall": object{"name": t.Call, "args": json.RawMessage(t.Args)}}
	}
	answer := object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{p}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010}, "modelVersion": Model}
	if stream {
		writeEvents(w, false, answer)
		return
	}
	writeJSON(w, answer)
}
