package cli

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestUsageOfNodes: what two nodes serve is counted in one table, also what they served while their
// database was away; what they refuse is in their logs.
func TestUsageOfNodes(t *testing.T) {
	testsize.Long(t)
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nusage: true\nagents: {keeper: {include: {names: [cat]}}}\n")
	owner := pgtest.URL(t)
	call(t, 0, "push", "--store", owner, "--root", ".agents/skills")
	node := nodeUser(t, owner, "repertoire_node")
	database, through := pgtest.NewProxy(t, node)
	secret := func(args ...string) string {
		return strings.TrimSpace(call(t, 0, append([]string{"token", "add", "--store", owner, "--quiet"}, args...)...))
	}
	ann, bob := secret("ann"), secret("bob", "--agent", "keeper")
	t.Setenv("REPERTOIRE_STATE", home+"/a")
	a := serveHTTP(t, "--store", through, "--ui", "--audit", "-")
	t.Setenv("REPERTOIRE_STATE", home+"/b")
	b := serveHTTP(t, "--store", through, "--ui", "--audit", "-")
	a.token, b.token = ann, bob
	for _, s := range []*httpServer{a, b} {
		ready := strings.TrimSuffix(s.url, "/mcp") + "/readyz"
		eventually(t, "a node is not current", func() bool { _, body := get(t, ready); return strings.Contains(body, `"state":"current"`) })
	}
	sessions := 0
	suggest := func(s *httpServer) {
		t.Helper()
		sessions++
		if out := s.call(t, "127.0.0.1", "", "tools/call", "suggest_skills", `{"prompt":"Please feed the cat with dry food","session":"`+strconv.Itoa(sessions)+`"}`); !strings.Contains(out, "Feeds the cat.") {
			t.Error(out)
		}
	}
	suggest(a)
	suggest(b)
	if status, _ := get(t, a.url, "Authorization", "Bearer "+ann+"x"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", status)
	}
	page := strings.TrimSuffix(b.url, "/mcp") + "/ui/"
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	visit := func(path string, form url.Values) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", page+path, strings.NewReader(form.Encode()))
		if form == nil {
			req, err = http.NewRequestWithContext(t.Context(), "GET", page+path, nil)
		}
		must.Do(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", strings.TrimSuffix(page, "/ui/"))
		return send(t, &http.Client{Jar: jar}, req)
	}
	visit("signin", url.Values{"token": {ann}})
	visit("", url.Values{"q": {"fetch the letters"}})

	database.Refuse(true)
	suggest(a)
	suggest(b)
	if status, text := visit("usage", nil); status != http.StatusServiceUnavailable || !strings.Contains(text, "the log of usage is in the shared catalog, which does not answer now") {
		t.Errorf("the page of usage without the database: %d, %s", status, text)
	}
	database.Refuse(false)
	printed := a.interrupt(t)
	for _, want := range []string{`why=token path=/mcp`, `"call":"/mcp","refused":"token","status":401}`, `"caller":"ann","call":"suggest_skills","skills":["cat"]`} {
		if !strings.Contains(printed, want) {
			t.Errorf("a node prints %s, want %s", printed, want)
		}
	}
	if both := printed + b.interrupt(t); strings.Contains(both, ann) || strings.Contains(both, bob) {
		t.Errorf("the nodes print a token: %s", both)
	}
	stats := func() map[string]any { return object(t, call(t, 0, "stats", "--json", "--store", node)) }
	if s := stats(); s["events"] != 5. || len(s["callers"].([]any)) != 2 || s["prompts"] != 4. || s["skills"].([]any)[0].(map[string]any)["offered"] != 4. {
		t.Errorf("counted %v; the nodes print %s", s, printed)
	}

	if _, errs := outputs(t, 1, "stats", "--forget", "--store", node); !strings.Contains(errs, "may not write") {
		t.Errorf("a node forgets: %s", errs)
	}
	t.Setenv("REPERTOIRE_STORE", owner)
	if _, errs := outputs(t, 2, "stats", "--forget"); !strings.Contains(errs, "whose log?") {
		t.Errorf("forgetting the log of a configured store: %s", errs)
	}
	if _, errs := outputs(t, 0, "stats", "--forget", "--store", owner); !strings.Contains(errs, "the usage of all nodes of") {
		t.Errorf("forgetting: %s", errs)
	}
	if s := stats(); s["events"] != 0. {
		t.Errorf("after forgetting there are %v", s)
	}
	pgtest.Exec(t, node, `INSERT INTO repertoire.usage (catalog, at, id, line) SELECT id, now(), 1,
		convert_to(json_build_object('time', now(), 'kind', 'offered', 'skills', json_build_array(json_build_object('id', E'x\nAll is well')))::text, 'UTF8') FROM repertoire.catalogs`)
	if out := call(t, 0, "stats", "--store", node); !strings.Contains(out, "x All is well") || strings.Contains(out, "\nAll is well") {
		t.Errorf("a line of the log is a line of the answer: %s", out)
	}
}
