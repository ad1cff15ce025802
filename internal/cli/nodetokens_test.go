package cli

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestTokensOfNodes: two nodes heed the tokens of their shared catalog within a second; while
// it is gone the last known ones count, also after a restart.
func TestTokensOfNodes(t *testing.T) {
	testsize.Long(t)
	fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}}\n")
	server := pgtest.Start(t, nil)
	url := server.URL(t)
	t.Setenv("REPERTOIRE_STORE", url)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("skills", append(args, "--quiet")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("push", "--root", ".agents/skills")
	all := testsize.Rounds(0, 1) == 1 // also what waits two seconds for nodes that do not answer
	if !all {
		run("token", "add", "early")
	} else if out, errs := outputs(t, 0, "token", "add", "early", "--agent", "keepr"); !strings.Contains(out, "repertoire_") || !strings.Contains(errs, `this configuration has no agent "keepr", and no node answers`) {
		t.Errorf("without nodes: %q, %q", out, errs)
	}
	a := serveHTTP(t)
	b := serveHTTP(t)
	for _, s := range []*httpServer{a, b} {
		s.ready(t)
	}
	// until waits until a node answers a token with a status.
	until := func(s *httpServer, secret string, want int) time.Duration {
		t.Helper()
		begin := time.Now()
		for {
			status, _ := get(t, s.url, "Authorization", "Bearer "+secret)
			if status == want {
				return time.Since(begin)
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("a node answers %d, want %d", status, want)
			}
			time.Sleep(time.Millisecond)
		}
	}
	secret := run("token", "add", "ann", "--agent", "keeper")
	t.Log("added, heard after", until(a, "wrong", 401), until(b, "wrong", 401), until(a, secret, 400))
	until(b, secret, 400) // there is no session
	one := registryOf(t, a, secret)
	if other := registryOf(t, b, secret); one != other || !strings.Contains(one, ":skill:cat") || strings.Contains(one, ":skill:post") {
		t.Errorf("the registries of two nodes are %s and %s", one, other)
	}
	pgtest.Exec(t, url, `DO $$ DECLARE n int; BEGIN
		SELECT count(*) INTO n FROM pg_stat_activity WHERE query LIKE '%compares to notice changes%' AND pid <> pg_backend_pid();
		IF n <> 2 THEN RAISE EXCEPTION 'two nodes watch with % connections', n; END IF;
	END $$`)
	must.Write(t, "config.yaml", "bundled: false\n") // which only commands read from now on
	if !all {
		t.Log("no agent that no node knows is tried: that takes long")
	} else if out, errs := outputs(t, 1, "token", "add", "late", "--agent", "keepr"); out != "" || !strings.Contains(errs, `no agent "keepr": neither this configuration nor any of the 2 nodes that answer has it; did you mean keeper?`) {
		t.Errorf("an agent that no node knows: %q, %q", out, errs)
	}
	if out, errs := outputs(t, 0, "token", "add", "late", "--agent", "keeper"); !strings.Contains(out, "repertoire_") || strings.Contains(errs, "no agent") {
		t.Errorf("an agent that the nodes know: %q, %q", out, errs)
	}
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}}\n")
	other := run("token", "add", "bob")
	until(b, other, 400)
	run("token", "revoke", "bob")
	t.Log("revoked, heard after", until(a, other, 401), until(b, other, 401))
	server.Stop(t)
	until(a, secret, 400)
	b.interrupt(t)
	b = serveHTTP(t)
	until(b, secret, 400)
	until(b, other, 401)
	b.token = secret
	if out := b.call(t, "127.0.0.1", "", "tools/call", "list_skills", "{}"); !strings.Contains(out, `"id":"cat"`) || strings.Contains(out, `"id":"post"`) {
		t.Error(out)
	}
	if status, body := get(t, strings.TrimSuffix(b.url, "/mcp")+"/readyz"); status != http.StatusOK || !strings.Contains(body, `"state":"stale"`) {
		t.Errorf("%d, %s", status, body)
	}
}

// ready waits until a node has skills and knows the tokens.
func (s *httpServer) ready(t *testing.T) {
	t.Helper()
	s.healthy(t)
	begin := time.Now()
	for status := 0; status != http.StatusOK; {
		var body string
		if status, body = get(t, strings.TrimSuffix(s.url, "/mcp")+"/readyz"); time.Since(begin) > time.Minute {
			t.Fatalf("%d, %s", status, body)
		}
	}
}

// registryOf returns what the registry of a node says of the skill cat, and its archive, with a word
// instead of its address.
func registryOf(t *testing.T, s *httpServer, secret string) string {
	t.Helper()
	base := strings.TrimSuffix(s.url, "/mcp") + "/t/" + secret
	_, list := get(t, base+"/agents")
	status, one := get(t, base+"/agents/urn%3Aair%3Aagent.localhost%3Askill%3Acat")
	at, _ := object(t, one)["url"].(string)
	if status != http.StatusOK || at == "" {
		t.Fatalf("%d, %s", status, one)
	}
	status, zip := get(t, at)
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(zip))); status != http.StatusOK || !strings.Contains(one, digest) {
		t.Errorf("the archive is %s, and the entry %s", digest, one)
	}
	return strings.ReplaceAll(list+one, base, "here")
}
