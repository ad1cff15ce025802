package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/agent"
)

// TB is what NewServer needs of a test; *testing.T has it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// A Server plays a script to clients of OpenAI's chat protocol, over real HTTP.
type Server struct {
	URL string // the base URL, with /v1

	t      TB
	script *Script

	mu       sync.Mutex
	requests []Request
}

// A Request is what a client sent.
type Request struct {
	Header http.Header
	Body   []byte
	Stream bool
}

// NewServer starts a server on loopback that takes the turns of the script. It ends with
// the test. A question that is not as a turn wants it fails the test.
func NewServer(t TB, s *Script) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening on loopback: %v", err)
	}
	server := &Server{URL: "http://" + l.Addr().String() + "/v1", t: t, script: s}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", server.chat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
	})
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		hs.Serve(l)
	}()
	t.Cleanup(func() {
		hs.Close()
		<-done
	})
	return server
}

// Requests returns the requests until now.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// wire is a request as clients write it.
type wire struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role      string     `json:"role"`
		Content   string     `json:"content"`
		ToolCalls []wireCall `json:"tool_calls"`
		CallID    string     `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// question returns what a request asks.
func (w *wire) question() agent.Question {
	var q agent.Question
	for i, m := range w.Messages {
		if i == 0 && m.Role == "system" {
			q.System = m.Content
			continue
		}
		to := agent.Message{Role: agent.Role(m.Role), Text: m.Content, Call: m.CallID}
		for _, c := range m.ToolCalls {
			to.Calls = append(to.Calls, agent.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		q.Messages = append(q.Messages, to)
	}
	for _, t := range w.Tools {
		q.Tools = append(q.Tools, agent.Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	return q
}

// chat answers one request.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client hung up
	}
	var in wire
	if err := json.Unmarshal(body, &in); err != nil {
		s.t.Errorf("the request is not what a chat server reads: %v\n%s", err, body)
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{Header: r.Header.Clone(), Body: body, Stream: in.Stream})
	s.mu.Unlock()
	t, err := s.script.take(in.question())
	if err != nil {
		s.t.Errorf("%v", err)
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s.play(r.Context(), w, &t, &in)
}

// play answers as the turn says.
func (s *Server) play(ctx context.Context, w http.ResponseWriter, t *Turn, in *wire) {
	switch {
	case t.wait(ctx) != nil:
		return
	case t.Panic:
		panic(http.ErrAbortHandler) // hangs up
	case t.Status != 0 && t.Status != http.StatusOK:
		if t.RetryAfter != "" {
			w.Header().Set("Retry-After", t.RetryAfter)
		}
		fail(w, t.Status, t.Text)
	case t.Raw != "":
		if in.Stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		io.WriteString(w, t.Raw)
	case in.Stream:
		t.stream(ctx, w, in)
	case t.Cut > 0:
		whole := t.whole(in.Model)
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		w.Write(whole[:min(t.Cut, len(whole)-1)])
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(t.whole(in.Model))
	}
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write(w, map[string]any{"error": map[string]any{"message": message, "type": "scripted"}})
}

func write(w io.Writer, v any) { w.Write(encode(v)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: all values are texts and numbers
	}
	return b
}

// calls returns the calls as the protocol writes them.
func (t *Turn) calls(indexed bool) []wireCall {
	list := make([]wireCall, len(t.Calls))
	for i, c := range t.Calls {
		list[i].ID, list[i].Type = c.ID, "function"
		list[i].Function.Name, list[i].Function.Arguments = c.Name, c.Arguments
		if indexed {
			list[i].Index = &i
		}
	}
	return list
}

func (t *Turn) usage() map[string]int {
	return map[string]int{"prompt_tokens": t.Usage.In, "completion_tokens": t.Usage.Out, "total_tokens": t.Usage.In + t.Usage.Out}
}

func (t *Turn) finish() string {
	if len(t.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// whole returns the answer in one piece.
func (t *Turn) whole(model string) []byte {
	message := map[string]any{"role": "assistant", "content": t.Text}
	if len(t.Calls) > 0 {
		message["tool_calls"] = t.calls(false)
	}
	return encode(map[string]any{
		"id": "scripted", "object": "chat.completion", "model": model, "usage": t.usage(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": t.finish()}},
	})
}

// stream sends the answer in pieces: the text after each blank, each call in two.
func (t *Turn) stream(ctx context.Context, w http.ResponseWriter, in *wire) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	send := func(choices []any, more map[string]any) {
		chunk := map[string]any{"id": "scripted", "object": "chat.completion.chunk", "model": in.Model, "choices": choices}
		for k, v := range more {
			chunk[k] = v
		}
		fmt.Fprintf(w, "data: %s\n\n", encode(chunk))
		flusher.Flush()
	}
	delta := func(d map[string]any) { send([]any{map[string]any{"index": 0, "delta": d}}, nil) }
	for _, piece := range t.pieces() {
		delta(map[string]any{"content": piece})
		if t.wait(ctx) != nil {
			return
		}
	}
	if t.Cut > 0 {
		panic(http.ErrAbortHandler)
	}
	for _, c := range t.calls(true) {
		first, second := c, wireCall{Index: c.Index}
		half := len(c.Function.Arguments) / 2
		for half > 0 && !utf8.RuneStart(c.Function.Arguments[half]) {
			half--
		}
		first.Function.Arguments, second.Function.Arguments = c.Function.Arguments[:half], c.Function.Arguments[half:]
		delta(map[string]any{"tool_calls": []any{first}})
		delta(map[string]any{"tool_calls": []any{second}})
	}
	send([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": t.finish()}}, nil)
	if in.StreamOptions.Usage {
		send([]any{}, map[string]any{"usage": t.usage()})
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
