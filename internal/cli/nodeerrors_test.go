package cli

import (
	"encoding/base64"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestErrorsOfNodes: while the database of a node is away, no answer says where it is, who asks it
// or what it is called: not of a node with a copy, and not of one that has none yet.
func TestErrorsOfNodes(t *testing.T) {
	testsize.Long(t)
	fixture(t)
	server := pgtest.Start(t, nil)
	address := server.URL(t)
	t.Setenv("REPERTOIRE_STORE", address)
	if out, err := exec.Command("skills", "push", "--root", ".agents/skills", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	const token = "a-token-for-the-whole-catalog"
	t.Setenv("REPERTOIRE_TOKEN", token)
	nodes := map[string]*httpServer{"with a copy": serveHTTP(t, "--ui")}
	nodes["with a copy"].token = token
	nodes["with a copy"].healthy(t)
	server.Stop(t)
	cache := t.TempDir()
	t.Setenv("REPERTOIRE_CACHE", cache)
	nodes["without a copy"] = serveHTTP(t, "--ui")
	nodes["without a copy"].token = token

	at, err := url.Parse(address)
	must.Do(t, err)
	for name, s := range nodes {
		failed := 0
		check := func(what, answer string) {
			t.Helper()
			for _, secret := range []string{at.Host, at.Port(), "postgres", at.Path, cache} {
				if secret != "/" && strings.Contains(answer, secret) {
					t.Errorf("%s, %s tells %q: %s", name, what, secret, answer)
				}
			}
			if strings.Contains(answer, "the server's log has the cause") {
				failed++
			}
		}
		for tool, arguments := range map[string]string{
			"search_skills": `{"query":"feed the cat"}`, "suggest_skills": `{"prompt":"feed the cat"}`, "read_skill": `{"id":"cat"}`,
			"read_skill_resource": `{"id":"post","path":"SKILL.md"}`, "search_skill_files": `{"query":"feed the cat"}`, "list_skills": `{}`,
		} {
			check(tool, s.call(t, "127.0.0.1", "", "tools/call", tool, arguments))
		}
		for _, method := range []string{"tools/list", "resources/list", "skills/list"} {
			check(method, s.call(t, "127.0.0.1", "", method, "", ""))
		}
		base := strings.TrimSuffix(s.url, "/mcp")
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			_, body := get(t, base+path, "Authorization", "Bearer "+token)
			check(path, body)
		}
		cookie := "skills-" + base[strings.LastIndex(base, ":")+1:] + "=" + base64.RawURLEncoding.EncodeToString([]byte(token))
		for _, path := range []string{"/ui/", "/ui/catalog", "/ui/skill?id=cat", "/ui/file?id=cat&path=SKILL.md", "/ui/find?id=cat", "/ui/doctor", "/ui/usage", "/ui/state"} {
			_, body := get(t, base+path, "Cookie", cookie)
			check(path, strings.ReplaceAll(body, s.url, "")) // the node's own address
		}
		if failed == 0 {
			t.Errorf("%s: nothing failed", name)
		}
	}
}
