package clientstest_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestServer: in each protocol the model reads what it is sent, calls the tool, and ends when it
// has the result.
func TestServer(t *testing.T) {
	for name, tt := range map[string]struct{ path, prompt, result, call string }{
		"messages": {"/v1/messages",
			`{"stream":true,"system":"sys","tools":[{"name":"mcp__s__read_skill"}],"messages":[{"role":"user","content":"ask"}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"told"}]}]}]}`, `"name":"mcp__s__read_skill"`},
		"responses": {"/v1/responses",
			`{"stream":true,"instructions":"sys","tools":[{"type":"namespace","name":"mcp__s","tools":[{"name":"read_skill"}]}],"input":[{"type":"message","role":"user","content":[{"text":"ask"}]}]}`,
			`{"input":[{"type":"function_call_output","output":"told"}]}`, `"namespace":"mcp__s"`},
		"chat": {"/v1/chat/completions",
			`{"messages":[{"role":"system","content":"sys"},{"role":"user","content":"ask"}],"tools":[{"function":{"name":"s-read_skill"}}]}`,
			`{"stream":true,"messages":[{"role":"tool","content":"told"}]}`, `"name":"s-read_skill"`},
		"chat, kept back": {"/v1/chat/completions",
			`{"messages":[{"role":"system","content":"sys"},{"role":"user","content":"ask"},{"role":"user","content":"tools: mcp__s__read_skill"}],"tools":[{"function":{"name":"tool_call"}}]}`,
			`{"messages":[{"role":"tool","content":"told"}]}`, `\"name\":\"mcp__s__read_skill\"`},
		"gemini": {"/v1beta/models/m:streamGenerateContent",
			`{"systemInstruction":{"parts":[{"text":"sys"}]},"contents":[{"role":"user","parts":[{"text":"ask"}]}],"tools":[{"functionDeclarations":[{"name":"s_read_skill"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"functionResponse":{"response":{"output":"told"}}}]}]}`, `"name":"s_read_skill"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := clientstest.NewServer("read_skill", map[string]string{"name": "a"})
			defer s.Close()
			if answer := post(t, s.URL+tt.path, tt.prompt); !strings.Contains(answer, tt.call) {
				t.Errorf("the model says %s", answer)
			}
			if answer := post(t, s.URL+tt.path, tt.result); !strings.Contains(answer, clientstest.Reply) {
				t.Errorf("the model says %s", answer)
			}
			all := s.Requests()
			if len(all) != 2 || len(all[0].With("sys")) != 1 || all[0].With("ask")[0].Role != "user" || len(all[1].Results) != 1 || all[1].Results[0] != "told" {
				t.Errorf("the model reads %+v", all)
			}
		})
	}
}

// TestStrays: what no model has, and what is meant for another host, is refused and noted.
func TestStrays(t *testing.T) {
	s := clientstest.NewServer("read_skill", nil)
	defer s.Close()
	post(t, s.URL+"/v1/other", "")
	req, err := http.NewRequest(http.MethodGet, "http://other.example/x", nil)
	must.Do(t, err)
	proxied := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(s.URL) }}}
	resp, err := proxied.Do(req)
	must.Do(t, err)
	must.Do(t, resp.Body.Close())
	if got := strings.Join(s.Strays(), ", "); got != "POST /v1/other, "+clientstest.Away+"other.example" || resp.StatusCode != http.StatusNotFound {
		t.Errorf("strays %s, status %d", got, resp.StatusCode)
	}
}

func post(t *testing.T, address, body string) string {
	t.Helper()
	resp, err := http.Post(address, "application/json", strings.NewReader(body))
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	return string(data)
}
