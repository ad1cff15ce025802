package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
)

// asked is a catalog that notes what it is asked about, and has no skills.
type asked struct {
	Catalog
	texts chan string
	hold  chan struct{} // an answer waits until it is closed; nil means that none does
}

func (a *asked) Search(_ context.Context, q search.Query) (search.Answer, error) {
	a.texts <- q.Text
	return search.Answer{}, nil
}

func (a *asked) Block(_ context.Context, prompt string, _ contextprovider.Budget, _ *search.Agent) (contextprovider.Block, error) {
	if a.texts <- prompt; a.hold != nil {
		<-a.hold
	}
	return contextprovider.Block{}, nil
}

// ask posts a body to a server.
func ask(h http.Handler, path string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost"+path, bytes.NewReader(body))
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// call calls a tool without a session.
func call(t *testing.T, h http.Handler, tool string, arguments map[string]any) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"arguments": arguments, "name": tool, "_meta": map[string]any{versionMeta: firstStateless,
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
	}})
	must.Do(t, err)
	return ask(h, "/mcp", body, versionHeader, firstStateless, "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// takeAll takes all that a gate has, at once.
func takeAll(t *testing.T, g *turns.Gate) *turns.Pass {
	t.Helper()
	p, ok := g.Try("", math.MaxInt64)
	if !ok {
		t.Fatal("somebody has some of it")
	}
	return p
}

// idle checks that no request has anything of what is shared.
func idle(t *testing.T, h *HTTP) {
	t.Helper()
	for _, g := range []*turns.Gate{h.room, h.answers, h.short, h.long, h.asking} {
		takeAll(t, g).Leave()
	}
}

// TestHTTPLongTexts: of the text of a search no more is read than a search uses. What no tool
// needs is refused, and a tool that takes files gets them.
func TestHTTPLongTexts(t *testing.T) {
	a := &asked{texts: make(chan string, 1)}
	h, err := NewHTTP(map[string]*Server{"": New(a, &Options{Proposals: new(proposal.Box)})}, &HTTPOptions{Rate: -1})
	must.Do(t, err)
	long := strings.Repeat("\"Grüße\" 😀\n", 50_000)
	want := tidy.CutMiddle(long, search.MaxPrompt)
	prompt, err := json.Marshal(map[string]any{"session": "s", "prompt": long})
	must.Do(t, err)
	for name, post := range map[string]func() *httptest.ResponseRecorder{
		"search_skills":  func() *httptest.ResponseRecorder { return call(t, h, "search_skills", map[string]any{"query": long}) },
		"suggest_skills": func() *httptest.ResponseRecorder { return call(t, h, "suggest_skills", map[string]any{"prompt": long}) },
		"/v1/suggest":    func() *httptest.ResponseRecorder { return ask(h, "/v1/suggest", prompt) },
	} {
		if r := post(); r.Code != http.StatusOK || strings.Contains(r.Body.String(), "isError") {
			t.Errorf("%s: status %d, %.300s", name, r.Code, r.Body)
			continue
		}
		if got := <-a.texts; strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: asked about %d bytes, want %d", name, len(got), len(want))
		}
	}
	many := make([]string, 100_000)
	for tool, arguments := range map[string]map[string]any{"read_skill": {"id": long}, "search_skills": {"query": "x", "y": many}, "no_tool": {"x": long}} {
		if r := call(t, h, tool, arguments); r.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d, %.300s", tool, r.Code, r.Body)
		}
	}
	if r := ask(h, "/v1/suggest", fmt.Appendf(nil, `{"prompt":"x","earlier":[%s""]}`, strings.Repeat(`"",`, 100_000))); r.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("earlier prompts: status %d, %.300s", r.Code, r.Body)
	}
	// The tool gets the files whole: it says which of its arguments is wrong.
	files := []map[string]any{{"path": "SKILL.md", "text": long}, {"path": "SKILL.md", "text": ""}}
	if r := call(t, h, "propose_skill", map[string]any{"name": "x", "justification": "y", "files": files}); !strings.Contains(r.Body.String(), "is there twice") {
		t.Errorf("a proposal: status %d, %.300s", r.Code, r.Body)
	}
	idle(t, h)
}

// TestHTTPBusy: a request that waits too long for its turn is told to come again. Short requests
// do not wait for room that long ones take up.
func TestHTTPBusy(t *testing.T) {
	a := &asked{texts: make(chan string, 1)}
	m := new(Metrics)
	h, err := NewHTTP(map[string]*Server{"": New(a, nil)}, &HTTPOptions{Rate: -1, Timeout: 20 * time.Millisecond, Metrics: m})
	must.Do(t, err)
	full := takeAll(t, h.room)
	busy := func(what string, r *httptest.ResponseRecorder) {
		t.Helper()
		if r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") == "" {
			t.Errorf("%s: status %d, %v, %s", what, r.Code, r.Header(), r.Body)
		}
	}
	long := map[string]any{"query": strings.Repeat("x ", 100_000)}
	busy("without room", call(t, h, "search_skills", long))
	if r := call(t, h, "search_skills", map[string]any{"query": "x"}); r.Code != http.StatusOK {
		t.Errorf("a short request: status %d, %s", r.Code, r.Body)
	}
	<-a.texts
	full.Leave()
	for _, g := range []*turns.Gate{h.short, h.long, h.asking} {
		full := takeAll(t, g)
		switch g {
		case h.long:
			busy("a long request without a turn", call(t, h, "search_skills", long))
		case h.asking:
			busy("a question to other servers without a turn", call(t, h, "find_skills", map[string]any{"query": "x"}))
		case h.short:
			busy("a short request without a turn", call(t, h, "search_skills", map[string]any{"query": "x"}))
			busy("a prompt without a turn", ask(h, "/v1/suggest", []byte(`{"prompt":"x"}`)))
		}
		full.Leave()
	}
	if r := call(t, h, "search_skills", long); r.Code != http.StatusOK {
		t.Errorf("afterwards: status %d, %s", r.Code, r.Body)
	}
	idle(t, h)
	var b bytes.Buffer
	if m.write(&b); !strings.Contains(b.String(), `repertoire_http_refused_total{reason="load"} 5`) {
		t.Errorf("the counts are %s", &b)
	}
}

// TestHTTPSlowAnswers: requests that take long let others in: nobody waits for what they wait for.
func TestHTTPSlowAnswers(t *testing.T) {
	a := &asked{texts: make(chan string), hold: make(chan struct{})}
	h, err := NewHTTP(map[string]*Server{"": New(a, nil)}, &HTTPOptions{Rate: -1, Timeout: time.Minute})
	must.Do(t, err)
	n := int(atATime()) + 2
	done := make(chan int, n)
	for range n {
		go func() { done <- ask(h, "/v1/suggest", []byte(`{"prompt":"a prompt"}`)).Code }()
	}
	for range n { // all of them are asked before one is answered
		<-a.texts
	}
	close(a.hold)
	for range n {
		if code := <-done; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	}
}
