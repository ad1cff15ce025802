package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// audited returns the lines of an audit log, without their times and sorted: refusals may come a little
// later than what was served after them.
func audited(t *testing.T, name string) string {
	t.Helper()
	data := regexp.MustCompile(`"time":"[^"]*",`).ReplaceAllString(must.Read(t, name), "")
	return strings.Join(slices.Sorted(strings.Lines(data)), "")
}

// TestHTTPTokens: once there is a token, a server that is running asks for one, shows what its
// agent may see, and writes down who read what.
func TestHTTPTokens(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{Audit: "audit.log", AuditPrompts: true})
	if _, health := s.get(t, "/healthz"); strings.TrimSpace(health) != `{"status":"ok","skills":2}` {
		t.Errorf("health without tokens: %s", health)
	}
	if status, answer := s.suggest(t, "fetch the post"); status != 200 || !strings.Contains(answer, `"name":"post"`) {
		t.Errorf("without tokens: %d, %s", status, answer)
	}
	secret := addToken(t, o.State, "ann", "keeper")
	if status, _ := s.suggest(t, "feed the cat"); status != 401 {
		t.Errorf("without the token: %d", status)
	}
	s.token = secret
	if status, answer := s.suggest(t, "feed the cat"); status != 200 || !strings.Contains(answer, `"name":"cat"`) {
		t.Errorf("with the token: %d, %s", status, answer)
	}
	if status, answer := s.suggest(t, "fetch the post"); status != 200 || strings.Contains(answer, `"name":"post"`) {
		t.Errorf("outside of the scope: %d, %s", status, answer)
	}
	s.call(t, "", "tools/call", "read_skill", `{"id":"cat"}`)
	_, err := access.Open(o.State).RevokeToken(t.Context(), "ann")
	must.Do(t, err)
	if status, _ := s.suggest(t, "feed the cat"); status != 401 {
		t.Errorf("with the revoked token: %d", status)
	}
	s.end(t)
	want := `{"caller":"ann","agent":"keeper","call":"read_skill","skills":["cat"]}
{"caller":"ann","agent":"keeper","call":"suggest_skills","session":"s","prompt":"fetch the post"}
{"caller":"ann","agent":"keeper","call":"suggest_skills","skills":["cat"],"session":"s","prompt":"feed the cat"}
{"client":"127.0.0.1/32","call":"/v1/suggest","refused":"no token","status":401}
{"client":"127.0.0.1/32","call":"/v1/suggest","refused":"token","status":401}
{"client":"127.0.0.1/32","call":"suggest_skills","skills":["post"],"session":"s","prompt":"fetch the post"}
`
	if got := audited(t, "audit.log"); got != want {
		t.Errorf("written down:\n%s", got)
	}
}

// TestHTTPAgent: a server of one agent knows no other, and not the whole.
func TestHTTPAgent(t *testing.T) {
	o := fixture(t)
	o.Agent = "keeper"
	s := start(t, o, HTTPOptions{})
	if _, health := s.get(t, "/healthz"); strings.TrimSpace(health) != `{"status":"ok","skills":1}` {
		t.Errorf("health %s", health)
	}
	for path, want := range map[string]int{"/mcp": 400, "/mcp/keeper": 400, "/mcp/other": 404} { // 400: there is no session
		if status, _ := s.get(t, path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

// TestHTTPPublic: a server that others reach through a proxy is closed before the first token,
// too, although it listens on loopback.
func TestHTTPPublic(t *testing.T) {
	o := fixture(t)
	for public, want := range map[string]int{"https://skills.example": 401, "http://localhost:8080": 400} { // 400: there is no session
		s := start(t, o, HTTPOptions{Admission: Admission{PublicURL: public}})
		if status, body := s.get(t, "/mcp"); status != want {
			t.Errorf("%s: %d, %s", public, status, body)
		}
		s.end(t)
	}
}

// TestHTTPIssuer: the claim in an issuer's token decides what it shows, and clients are told who
// the issuer is.
func TestHTTPIssuer(t *testing.T) {
	o := fixture(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	issuer := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "1", Algorithm: "ES256"}}, Algorithms: []string{"ES256"}}
	at := httptest.NewUnstartedServer(issuer)
	issuer.SetIssuer("http://" + at.Listener.Addr().String())
	at.Start()
	defer at.Close()
	who := access.OIDCOptions{Issuer: at.URL, Audience: "skills", Claim: "groups", Agents: []access.Claimed{{Value: "zoo", Agent: "keeper"}}}
	s := start(t, o, HTTPOptions{Admission: Admission{Issuer: who, PublicURL: "https://skills.example"}})
	sign := func(claims string) string {
		return oidctest.SignIDToken(key, "1", "ES256", fmt.Sprintf(`{"iss":%q,"sub":"ann","exp":%d,%s}`, at.URL, time.Now().Add(time.Hour).Unix(), claims))
	}
	for claims, want := range map[string]int{
		`"aud":"skills","groups":["zoo"]`: 400, `"aud":"skills","groups":["keeper"]`: 403, `"aud":"mail","groups":["zoo"]`: 401,
	} {
		if status, body := s.get(t, "/mcp", "Authorization", "Bearer "+sign(claims)); status != want { // 400: there is no session
			t.Errorf("%s: %d, %s", claims, status, body)
		}
	}
	s.token = sign(`"aud":"skills","groups":["zoo"]`)
	if out := s.call(t, "", "tools/call", "list_skills", "{}"); !strings.Contains(out, `"id":"cat"`) || strings.Contains(out, `"id":"post"`) {
		t.Error(out)
	}
	if status, body := s.get(t, "/.well-known/oauth-protected-resource/mcp"); status != 200 || !strings.Contains(body, `"https://skills.example/mcp"`) || !strings.Contains(body, at.URL) {
		t.Errorf("%d, %s", status, body)
	}
	who.Agents[0].Agent = "keper"
	if err := HTTP(t.Context(), o, HTTPOptions{Admission: Admission{Issuer: who}, Addr: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "did you mean keeper") {
		t.Errorf("an agent that is not there: %v", err)
	}
}

// TestHTTPPage: everybody may look at the page of a server until there is a token; then it asks
// for one, and again when the token is revoked.
func TestHTTPPage(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{Page: true, Audit: "audit.log"})
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	browser := &http.Client{Jar: jar}
	visit := func(method, at string, form url.Values) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/ui/"+at, strings.NewReader(form.Encode()))
		must.Do(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", s.url)
		resp, err := browser.Do(req)
		must.Do(t, err)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		must.Do(t, err)
		return string(data)
	}
	asks := func(want bool, when string) {
		t.Helper()
		if text := visit("GET", "", nil); strings.Contains(text, `name="token"`) != want {
			t.Errorf("%s it asks for a token: %t; %s", when, !want, text)
		}
	}
	asks(false, "without tokens")
	secret := addToken(t, o.State, "ann", "keeper")
	asks(true, "with a token")
	visit("POST", "signin", url.Values{"token": {secret}, "next": {"/ui/"}})
	asks(false, "signed in")
	visit("POST", "", url.Values{"q": {"feed the cat"}})
	if text := visit("GET", "skill?id=cat", nil); !strings.Contains(text, "<h1>") {
		t.Errorf("a skill: %s", text)
	}
	_, err = access.Open(o.State).RevokeToken(t.Context(), "ann")
	must.Do(t, err)
	asks(true, "revoked")
	s.end(t)
	want := `{"caller":"ann","agent":"keeper","call":"/ui/prompt","skills":["cat"]}
{"caller":"ann","agent":"keeper","call":"/ui/skill","skills":["cat"]}
{"client":"127.0.0.1/32","call":"/ui/","refused":"no token","status":401}
{"client":"127.0.0.1/32","call":"/ui/","refused":"token","status":401}
`
	if got := audited(t, "audit.log"); got != want {
		t.Errorf("the audit log is %s", got)
	}
}

// servePage serves the owner's page until f, which gets its addresses, has returned.
func servePage(t *testing.T, f func(address, registry string)) {
	t.Helper()
	o := fixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Note = func(format string, args ...any) { t.Errorf(format, args...) }
	err = Page(ctx, l, o, func(address, registry string) error {
		go func() {
			defer stop()
			f(address, registry)
		}()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPage: the owner's page lets in the first browser that brings the address, and no other.
func TestPage(t *testing.T) {
	servePage(t, func(address, _ string) {
		for _, want := range []int{http.StatusOK, http.StatusForbidden} {
			jar, _ := cookiejar.New(nil) // no error without options
			if resp, err := (&http.Client{Jar: jar}).Get(address); err != nil || resp.StatusCode != want {
				t.Errorf("%v, %v; want %d", resp, err, want)
			}
		}
	})
}

// TestStdio: one client is served until its input ends, and what it was offered is noted.
func TestStdio(t *testing.T) {
	o := fixture(t)
	o.Usage = usage.New(o.State, usage.Options{})
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"suggest_skills","arguments":{"prompt":"feed the cat","session":"s"}}}
`
	var out bytes.Buffer
	must.Do(t, Stdio(t.Context(), o, strings.NewReader(in), &out))
	if !strings.Contains(out.String(), "Feeds the cat.") || !strings.Contains(out.String(), `"version":"test"`) {
		t.Error(&out)
	}
	files, err := filepath.Glob(filepath.Join(o.State, "usage", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(data), `"kind":"offered","client":"mcp","session":"s","skills":[{"id":"cat"}]`) {
		t.Errorf("%s, %v", data, err)
	}
	o.Run, o.State = true, ""
	if err := Stdio(t.Context(), o, strings.NewReader(in), &out); err == nil {
		t.Error("scripts run without a folder that says which skills are trusted")
	}
	o.Run, o.Reviewer = false, "nobody"
	if err := Stdio(t.Context(), o, strings.NewReader(in), &out); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a reviewer that is not there: %v", err)
	}
}

// TestNothingOpen: what others can reach needs a token, and a server that runs scripts needs one
// even if only this machine reaches it.
func TestNothingOpen(t *testing.T) {
	o := fixture(t)
	if err := HTTP(t.Context(), o, HTTPOptions{Addr: "0.0.0.0:0"}); err == nil || !strings.Contains(err.Error(), "can be reached from other machines") {
		t.Error(err)
	}
	o.Run = true
	if err := HTTP(t.Context(), o, HTTPOptions{Addr: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "needs a token") {
		t.Error(err)
	}
}

// TestSwitches: a server that only this machine reaches leaves out what is switched off in the client
// that asks. One for others knows nothing of their machines.
func TestSwitches(t *testing.T) {
	for url, sees := range map[string]bool{"": false, "https://skills.example.com": true} {
		o := fixture(t)
		must.Write(t, ".claude/settings.json", `{"skillOverrides": {"cat": "off"}}`)
		o.Config.Policy = o.Settings.Policy("", "", nil)
		s := start(t, o, HTTPOptions{Admission: Admission{PublicURL: url}})
		if url != "" {
			s.token = addToken(t, o.State, "ann", "")
		}
		for _, name := range []string{"test", "claude-code"} {
			got := strings.Contains(s.callAs(t, name, "", "tools/call", "list_skills", `{}`), "Feeds the cat")
			if want := sees || name == "test"; got != want {
				t.Errorf("at %q %s sees the cat: %t, want %t", url, name, got, want)
			}
		}
		s.end(t)
	}
}
