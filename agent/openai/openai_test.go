package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const testKey = "sk-test-0123456789"

// newModel returns a model of a server that does not wait, and the pauses it asks for.
func newModel(t *testing.T, url string, change func(*openai.Config)) (*openai.Model, *[]time.Duration) {
	t.Helper()
	t.Setenv("TEST_CHAT_KEY", testKey)
	cfg := openai.Config{BaseURL: url, Model: "scripted", KeyEnv: "TEST_CHAT_KEY"}
	if change != nil {
		change(&cfg)
	}
	pauses := new([]time.Duration)
	m, err := openai.New(cfg, &openai.Options{
		Sleep: func(ctx context.Context, d time.Duration) error { *pauses = append(*pauses, d); return ctx.Err() },
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
	must.Do(t, err)
	return m, pauses
}

func ask(text string) agent.Question {
	return agent.Question{Messages: []agent.Message{{Role: agent.User, Text: text}}}
}

// always returns a server that gives one answer to each request, and counts requests.
func always(t *testing.T, handle http.HandlerFunc) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			asked.Add(1)
		}
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

// TestAnswer asks whole and as a stream, with tools and a history of calls.
func TestAnswer(t *testing.T) {
	q := agent.Question{
		System: "Be brief.",
		Messages: []agent.Message{
			{Role: agent.User, Text: "fill the form"},
			{Role: agent.Assistant, Calls: []agent.Call{{ID: "a", Name: "get_skill", Arguments: `{"skill_na`}, {ID: "b", Name: "get_skill", Arguments: `{"x":1}`}}},
			{Role: agent.Result, Call: "a", Text: `{"error":"malformed"}`},
			{Role: agent.Result, Call: "b"},
			{Role: agent.Assistant, Text: "<use_skill>pdf</use_skill>"},
			{Role: agent.Result, Text: "no such skill"},
		},
		Tools: []agent.Tool{{Name: "get_skill", Description: "Load a skill.", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
	turn := agenttest.Turn{
		Want: []agenttest.Want{{In: agenttest.System, Text: "Be brief."}, {In: agenttest.Tool, Text: "get_skill"}, {Text: "no such skill"}},
		Text: "Ünïcode and more. ", Calls: []agent.Call{{ID: "c", Name: "get_skill", Arguments: `{"skill_name":"ünï"}`}}, Usage: agent.Usage{In: 5, Out: 7},
	}
	s := agenttest.NewServer(t, agenttest.New(turn, turn))
	m, _ := newModel(t, s.URL, func(c *openai.Config) { zero := 0.0; c.Temperature, c.MaxTokens = &zero, 99 })
	want := agent.Message{Role: agent.Assistant, Text: turn.Text, Calls: turn.Calls, Usage: turn.Usage}
	for _, stream := range []bool{false, true} {
		var said strings.Builder
		var text func(string)
		if stream {
			text = func(p string) { said.WriteString(p) }
		}
		got, err := m.Answer(t.Context(), q, text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || stream && said.String() != turn.Text {
			t.Errorf("stream %v: %v, said %q\n%s", stream, err, &said, diff)
		}
	}
	r := s.Requests()[1]
	if r.Header.Get("Authorization") != "Bearer "+testKey || r.Header.Get("Accept") != "text/event-stream" || !r.Stream {
		t.Errorf("request %+v", r)
	}
	var sent struct {
		Temperature *float64 `json:"temperature"`
		MaxTokens   int      `json:"max_tokens"`
		Messages    []any    `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &sent); err != nil || sent.MaxTokens != 99 || sent.Temperature == nil || *sent.Temperature != 0 {
		t.Errorf("%v: %s", err, r.Body)
	}
	wantSent := []any{
		map[string]any{"role": "system", "content": "Be brief."},
		map[string]any{"role": "user", "content": "fill the form"},
		map[string]any{"role": "assistant", "tool_calls": []any{
			map[string]any{"id": "a", "type": "function", "function": map[string]any{"name": "get_skill", "arguments": `{"malformed":"{\"skill_na"}`}},
			map[string]any{"id": "b", "type": "function", "function": map[string]any{"name": "get_skill", "arguments": `{"x":1}`}},
		}},
		map[string]any{"role": "tool", "tool_call_id": "a", "content": `{"error":"malformed"}`},
		map[string]any{"role": "tool", "tool_call_id": "b", "content": " "},
		map[string]any{"role": "assistant", "content": "<use_skill>pdf</use_skill>"},
		map[string]any{"role": "user", "content": "no such skill"},
	}
	if diff := cmp.Diff(wantSent, sent.Messages); diff != "" {
		t.Error(diff)
	}
}

// TestBusy: which failures are tried again, and after which pauses.
func TestBusy(t *testing.T) {
	const second, date = "7", "Fri, 02 Jan 2026 03:04:15 GMT"
	turns := []agenttest.Turn{
		{Status: 429, RetryAfter: second, Text: "slow down"}, {Status: 503, RetryAfter: date, Text: "overloaded"}, {Cut: 2, Text: "Hello"},
		agenttest.Say("Here."),
	}
	m, pauses := newModel(t, agenttest.NewServer(t, agenttest.New(turns...)).URL, nil)
	got, err := m.Answer(t.Context(), ask("hello"), nil)
	if err != nil || got.Text != "Here." || len(*pauses) != 3 || (*pauses)[0] != 7*time.Second || (*pauses)[1] != 10*time.Second {
		t.Fatalf("%+v, %v, pauses %v", got, err, *pauses)
	}
	if p := (*pauses)[2]; p < 1500*time.Millisecond || p > 2500*time.Millisecond {
		t.Errorf("the third pause is %v", p)
	}
	for status, wantAsked := range map[int]int32{500: 4, 502: 4, 503: 4, 529: 4, 408: 4, 429: 4, 400: 1, 403: 1, 501: 1, 418: 1} {
		url, asked := always(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		m, pauses := newModel(t, url, nil)
		_, err := m.Answer(t.Context(), ask("hello"), nil)
		f, ok := errors.AsType[*openai.Error](err)
		if !ok || f.Status != status || asked.Load() != wantAsked || f.Attempts != int(wantAsked) || len(*pauses) != int(wantAsked)-1 {
			t.Errorf("%d: %v, asked %d times, pauses %v", status, err, asked.Load(), *pauses)
		}
		if (wantAsked > 1) != errors.Is(err, openai.ErrUnavailable) {
			t.Errorf("%d: errors.Is(%v, ErrUnavailable)", status, err)
		}
	}
}

// TestNotAgain: a question is not sent again once text was shown, or when the server asks
// for a long pause, or when waiting does not help.
func TestNotAgain(t *testing.T) {
	m, pauses := newModel(t, agenttest.NewServer(t, agenttest.New(agenttest.Turn{Cut: 10, Text: "Once upon a time"})).URL, nil)
	var said strings.Builder
	got, err := m.Answer(t.Context(), ask("hello"), func(p string) { said.WriteString(p) })
	if err == nil || !strings.Contains(err.Error(), "the answer was cut off: the connection ended") || said.String() != "Once upon " || got.Text != "Once upon " || len(*pauses) > 0 {
		t.Errorf("%+v, %v, said %q, pauses %v", got, err, &said, *pauses)
	}
	for _, test := range []struct{ header, body, want string }{
		{"3600", `{"error":"busy"}`, "busy (the server asks to wait 1h0m0s)"},
		{"", `{"error":{"message":"pay first","code":"insufficient_quota"}}`, "http 429: pay first"},
	} {
		url, asked := always(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", test.header)
			w.WriteHeader(429)
			io.WriteString(w, test.body)
		})
		m, _ := newModel(t, url, nil)
		if _, err := m.Answer(t.Context(), ask("hello"), nil); err == nil || !strings.HasSuffix(err.Error(), test.want) || asked.Load() != 1 {
			t.Errorf("%v, asked %d times; want %s", err, asked.Load(), test.want)
		}
	}
}

// TestMessages: errors say what to do, and never the key.
func TestMessages(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   string
		is     error
	}{
		{"key", 401, `{"error":{"message":"bad key ` + testKey + `"}}`, "bad key [secret] (check the key in TEST_CHAT_KEY)", nil},
		{"context", 400, `{"error":{"message":"This is long","code":"context_length_exceeded"}}`, "shorten the conversation with Compact", openai.ErrContextLength},
		{"llama.cpp", 500, `{"error":{"message":"the request exceeds the available context size"}}`, "Compact", openai.ErrContextLength},
		{"tools", 400, `{"error":"registry/llama2 does not support tools"}`, "set Config.Instructions", nil},
		{"model", 404, `{"error":{"message":"model not found"}}`, "model not found; the server has no model scripted; did you mean scripted-2?", nil},
		{"HTML", 200, "<!doctype html>" + testKey, "http 200: the answer is an HTML page (check the base URL)", nil},
		{"another protocol", 200, `{"hello":"you"}`, "has no choices", nil},
		{"error in success", 200, `{"error":{"message":"prompt is too long"}}`, "Compact", openai.ErrContextLength},
		{"redirect", 302, "", "redirect to https://elsewhere.example refused", nil},
	} {
		url, asked := always(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/"+testKey)
			if strings.HasSuffix(r.URL.Path, "/models") {
				io.WriteString(w, `{"data":[{"id":"other"},{"id":"scripted-2"}]}`)
				return
			}
			w.WriteHeader(test.status)
			io.WriteString(w, test.body)
		})
		for _, text := range []func(string){nil, func(string) {}} {
			m, _ := newModel(t, url, nil)
			_, err := m.Answer(t.Context(), ask("hello"), text)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), testKey) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%s: %v, want %s", test.name, err, test.want)
			}
		}
		if asked.Load() != 2 {
			t.Errorf("%s: asked %d times", test.name, asked.Load())
		}
	}
}

// TestAway: a server that is not there is asked again; one without a name is not.
func TestAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	l.Close()
	m, pauses := newModel(t, "http://"+l.Addr().String()+"/v1", nil)
	_, err = m.Answer(t.Context(), ask("hello"), nil)
	if err == nil || !strings.Contains(err.Error(), "(does the server run there?) (after 4 attempts)") || len(*pauses) != 3 {
		t.Errorf("%v, pauses %v", err, *pauses)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the handshake
	s.StartTLS()
	defer s.Close()
	for _, url := range []string{s.URL, strings.Replace(agenttest.NewServer(t, agenttest.New()).URL, "http:", "https:", 1)} {
		m, pauses := newModel(t, url, nil)
		_, err := m.Answer(t.Context(), ask("hello"), nil)
		if err == nil || !strings.HasSuffix(err.Error(), "(check http or https, the host and the port of the base URL)") || len(*pauses) > 0 {
			t.Errorf("%v, pauses %v", err, *pauses)
		}
	}
}

// TestRaw: a server may send anything. What it sends is in no cause of an error either.
func TestRaw(t *testing.T) {
	for raw, want := range map[string]string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n": "",
		"data: {\"choices\":3}\n\n":               "the answer has a malformed event",
		"<html>" + testKey:                        "an HTML page",
		"data: {\"error\":\"" + testKey + "\"}\n": "[secret]",
	} {
		m, _ := newModel(t, agenttest.NewServer(t, agenttest.New(agenttest.Turn{Raw: raw})).URL, nil)
		got, err := m.Answer(t.Context(), ask("hello"), func(string) {})
		switch {
		case want == "":
			if err != nil || got.Text != "Hi" {
				t.Errorf("%q: %+v, %v", raw, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprintf("%+v %v %v", m, err, errors.Unwrap(err)), testKey):
			t.Errorf("%q: %v, want %s", raw, err, want)
		}
	}
}

// TestDeadlines: a silent server, one that takes too long in all, and a context that ends.
func TestDeadlines(t *testing.T) {
	hang := agenttest.Turn{Hang: true}
	m, pauses := newModel(t, agenttest.NewServer(t, agenttest.New(hang, hang)).URL, func(c *openai.Config) { c.Timeout, c.Attempts = 20*time.Millisecond, 2 })
	_, err := m.Answer(t.Context(), ask("hello"), nil)
	if err == nil || !strings.Contains(err.Error(), "the server was silent for 20ms; raise Config.Timeout") || len(*pauses) != 1 {
		t.Errorf("%v, pauses %v", err, *pauses)
	}
	m, _ = newModel(t, agenttest.NewServer(t, agenttest.New(hang)).URL, func(c *openai.Config) { c.Total = 20 * time.Millisecond })
	if _, err := m.Answer(t.Context(), ask("hello"), nil); err == nil || !strings.Contains(err.Error(), "no answer within 20ms; raise Config.Total") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, _ = newModel(t, agenttest.NewServer(t, agenttest.New(agenttest.Turn{Text: "one two three", Pause: time.Millisecond})).URL, nil)
	if _, err := m.Answer(ctx, ask("hello"), func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBadTool: a tool whose parameters are no JSON is an error, and is not sent.
func TestBadTool(t *testing.T) {
	url, asked := always(t, func(http.ResponseWriter, *http.Request) {})
	m, pauses := newModel(t, url, nil)
	q := ask("hello")
	q.Tools = []agent.Tool{{Name: "count", Parameters: json.RawMessage("{")}}
	_, err := m.Answer(t.Context(), q, nil)
	if err == nil || !strings.Contains(err.Error(), "unexpected end of JSON") || asked.Load() > 0 || len(*pauses) > 0 {
		t.Errorf("%v, asked %d times, pauses %v", err, asked.Load(), *pauses)
	}
}

// TestStreamOptions: a server that refuses the field is asked without it from then on.
func TestStreamOptions(t *testing.T) {
	url, asked := always(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "stream_options") {
			w.WriteHeader(422)
			io.WriteString(w, `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`)
			return
		}
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: [DONE]\n\n")
	})
	m, _ := newModel(t, url, nil)
	for range 2 {
		if got, err := m.Answer(t.Context(), ask("hello"), func(string) {}); err != nil || got.Text != "Hello" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3", asked.Load())
	}
}

func TestNewRefuses(t *testing.T) {
	t.Setenv("TEST_CHAT_KEY", testKey)
	for want, c := range map[string]openai.Config{
		"chat endpoint: base URL is empty":                               {Model: "m"},
		"chat endpoint: model is empty":                                  {BaseURL: "http://localhost/v1"},
		"must not be negative":                                           {BaseURL: "http://localhost/v1", Model: "m", Attempts: -1},
		"the key in TEST_CHAT_KEY would go over plain http to 192.0.2.1": {BaseURL: "http://192.0.2.1/v1", Model: "m", KeyEnv: "TEST_CHAT_KEY"},
		"the key would go over plain http":                               {BaseURL: "http://192.0.2.1/v1", Model: "m", Key: testKey},
		"variable TEST_CHAT_NONE for the key is not set":                 {BaseURL: "http://localhost/v1", Model: "m", KeyEnv: "TEST_CHAT_NONE"},
		`header "" is malformed`:                                         {BaseURL: "http://localhost/v1", Model: "m", Headers: map[string]string{"": "x"}},
	} {
		if _, err := openai.New(c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestReal asks a real server, if there is one to ask.
func TestReal(t *testing.T) {
	base, model := os.Getenv("REPERTOIRE_TEST_BASE_URL"), os.Getenv("REPERTOIRE_TEST_MODEL")
	if base == "" || model == "" {
		t.Skip("needs a server: set REPERTOIRE_TEST_BASE_URL and REPERTOIRE_TEST_MODEL, and REPERTOIRE_TEST_KEY if it wants a key")
	}
	m, err := openai.New(openai.Config{BaseURL: base, Model: model, Key: os.Getenv("REPERTOIRE_TEST_KEY")}, nil)
	must.Do(t, err)
	q := ask("What is the secret number? Ask the tool, then answer with the number only.")
	q.Tools = []agent.Tool{{Name: "secret_number", Description: "Returns the secret number.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
	var said strings.Builder
	for range 5 {
		got, err := m.Answer(t.Context(), q, func(p string) { said.WriteString(p) })
		must.Do(t, err)
		q.Messages = append(q.Messages, got)
		for _, c := range got.Calls {
			q.Messages = append(q.Messages, agent.Message{Role: agent.Result, Call: c.ID, Text: `{"number":4711}`})
		}
		if len(got.Calls) == 0 {
			break
		}
	}
	if !strings.Contains(said.String(), "4711") {
		t.Errorf("the model said %q", &said)
	}
}
