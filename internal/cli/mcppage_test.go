package cli

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestServeHTTPPage: everybody may look at the page of a server until there is a token; then
// it asks for one, and again when the token is revoked.
func TestServeHTTPPage(t *testing.T) {
	fixture(t)
	write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}}\n")
	s := serveHTTP(t, "--ui", "--audit", "audit.jsonl")
	s.healthy(t)
	page := strings.TrimSuffix(s.url, "/mcp") + "/ui/"
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	look := func(at ...string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", page+strings.Join(at, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, text := send(t, browser, req)
		return text
	}
	const asks = `name="token"`
	if text := look(); strings.Contains(text, asks) {
		t.Errorf("without tokens: %s", text)
	}
	out, err := exec.Command("skills", "token", "add", "ann", "--agent", "keeper", "--quiet").CombinedOutput()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if text := look(); !strings.Contains(text, asks) {
		t.Errorf("with a token to ask for: %s", text)
	}
	post := func(at string, form url.Values) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", page+at, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", strings.TrimSuffix(page, "/ui/"))
		send(t, browser, req)
	}
	post("signin", url.Values{"token": {strings.TrimSpace(string(out))}, "next": {"/ui/"}})
	if text := look(); strings.Contains(text, asks) {
		t.Errorf("signed in: %s", text)
	}
	post("", url.Values{"q": {"feed the cat"}})
	if text := look("skill?id=cat"); !strings.Contains(text, "<h1>") {
		t.Errorf("a skill: %s", text)
	}
	if out, err := exec.Command("skills", "token", "revoke", "ann").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if text := look(); !strings.Contains(text, asks) {
		t.Errorf("revoked: %s", text)
	}
	s.interrupt(t)
	written, err := os.ReadFile("audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := `"caller":"ann","agent":"keeper","call":"/ui/prompt","skills":["cat"]}
"caller":"ann","agent":"keeper","call":"/ui/skill","skills":["cat"]}
`
	if got := regexp.MustCompile(`\{"time":"[^"]*",`).ReplaceAllString(string(written), ""); got != want {
		t.Errorf("the audit log is %s", got)
	}
}
