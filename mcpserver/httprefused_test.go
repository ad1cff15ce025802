package mcpserver_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestRefused: the server tells of each request that it refuses why, at which path and to whom, and
// nothing that may be a token.
func TestRefused(t *testing.T) {
	told := make(chan access.Refusal, 10)
	tokens := access.Open(t.TempDir())
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(cmp.Or(map[string]int{"/ui/form": 403, "/ui/state": 403}[r.URL.Path], 401))
	})
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{
		Check: tokens, MaxBody: 2000, ClientSessions: 1, UI: page, UIToken: func(r *http.Request) string { return r.Header.Get("Cookie") },
		Refused: func(f access.Refusal) { told <- f },
	})
	ann, bob, stranger := bearer(t, tokens, "ann", ""), bearer(t, tokens, "bob", "keeper"), bearer(t, tokens, "cat", "gone")
	wrong := []string{"Authorization", ann[1] + "x"}
	secret := strings.TrimPrefix(ann[1], "Bearer ")
	here := "127.0.0.1/32"
	for _, c := range []struct {
		method, path, body string
		headers            []string
		want               string // reason, status, path, caller, agent and address
	}{
		{"GET", "/mcp", "", nil, "no token 401 /mcp   " + here},
		{"GET", "/metrics?token=" + secret, "", nil, "no token 401 /metrics   " + here},
		{"POST", "/v1/suggest", "{}", wrong, "token 401 /v1/suggest   " + here},
		{"GET", "/metrics", "", bob, "scope 403 /metrics bob keeper " + here},
		{"GET", "/mcp", "", stranger, "scope 403 /mcp cat gone " + here},
		{"GET", "/mcp/other", "", bob, "scope 404 /mcp/other bob keeper " + here},
		{"GET", "/mcp/" + secret, "", nil, "no token 401 /mcp/…   " + here},
		{"GET", "/" + secret + "/mcp", "", wrong, "token 401 /…/mcp   " + here},
		{"GET", "/ui/" + secret, "", nil, "no token 401 /ui/…   " + here},
		{"GET", "/" + secret, "", []string{"Host", "evil.example"}, "host 403 /…   " + here},
		{"GET", "/mcp", "", []string{"Origin", "http://evil.example"}, "origin 403 /mcp   " + here},
		{"POST", "/mcp", strings.Repeat("x", 3000), ann, "size 413 /mcp ann  " + here},
		{"POST", "/v1/suggest", "no JSON", ann, "body 400 /v1/suggest ann  " + here},
		{"GET", "/ui/", "", nil, "no token 401 /ui/   " + here},
		{"GET", "/ui/", "", []string{"Cookie", "guess"}, "token 401 /ui/   " + here},
		{"POST", "/ui/signin", "token=guess", nil, "token 401 /ui/signin   " + here},
		{"POST", "/ui/form", "", nil, "origin 403 /ui/form   " + here},
		{"GET", "/ui/state", "", []string{"Cookie", strings.TrimPrefix(bob[1], "Bearer ")}, "scope 403 /ui/state bob keeper " + here},
		{"GET", "/" + secret, "", nil, ""},
		{"GET", "/healthz", "", nil, ""},
	} {
		send(t, c.method, s.url+c.path, c.body, c.headers...)
		if c.want == "" {
			continue // the next one tells if there was anything
		}
		f := <-told
		if got := fmt.Sprint(f.Reason, " ", f.Status, " ", f.Path, " ", f.Caller, " ", f.Agent, " ", f.Address); got != c.want {
			t.Errorf("%s %.12s: told %q, want %q", c.method, c.path, got, c.want)
		}
	}
	session(t, s.url+"/mcp", ann...)
	session(t, s.url+"/mcp", ann...)
	if f := <-told; f != (access.Refusal{Reason: "sessions", Caller: "ann"}) {
		t.Errorf("of a session too many it tells %+v", f)
	}
	if r := send(t, "GET", s.url+"/metrics", "", ann...); !strings.Contains(r.body, `repertoire_http_refused_total{reason="no token"} 5`) || !strings.Contains(r.body, `{reason="sessions"} 1`) {
		t.Errorf("metrics %s", r.body)
	}
}
