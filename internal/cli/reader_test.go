package cli

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// nodeUser returns the URL of a database for a new user with a role.
func nodeUser(t *testing.T, owner, role string) string {
	t.Helper()
	pgtest.Exec(t, owner, call(t, 0, "store", "roles"))
	pgtest.Exec(t, owner, "DROP ROLE IF EXISTS a_node; CREATE ROLE a_node LOGIN PASSWORD 'x' IN ROLE "+role)
	u, err := url.Parse(owner)
	must.Do(t, err)
	u.User = url.UserPassword("a_node", "x")
	return u.String()
}

// TestReader: with the role of a reader the server, commands, status and the hook answer from
// a shared catalog, and go on without the database.
func TestReader(t *testing.T) {
	testsize.Long(t)
	home := fixture(t)
	server := pgtest.Start(t, nil)
	owner := server.URL(t)
	call(t, 0, "push", "--store", owner, "--root", ".agents/skills")
	t.Setenv("REPERTOIRE_STORE", nodeUser(t, owner, "repertoire_reader"))
	t.Setenv("REPERTOIRE_STATE", home+"/state")
	t.Chdir(t.TempDir())

	hook := func(session string) string {
		t.Helper()
		cmd := exec.Command("skills", "hook", "claude", "--deadline", "20s", "--verbose")
		cmd.Stdin = strings.NewReader(promptEvent(session, "", "Please feed the cat with dry food"))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v, %s", err, &errs)
		}
		return string(out)
	}
	_, address, _ := strings.Cut(owner, "@")
	address, _, _ = strings.Cut(address, "?")
	address = "postgres://a_node@" + address + "#default"
	status := func(want string) {
		t.Helper()
		if out := call(t, 0, "status"); !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("it says %s, want %q", out, want)
		}
	}
	status("Catalog no copy of the shared one yet, which is in " + address)
	status("Next skills index (copies the shared catalog")
	if out := hook("one"); out != "" {
		t.Errorf("a hook without a copy says %q", out)
	}
	eventually(t, "the hook has not pulled", func() bool { return strings.Contains(call(t, 0, "status", "--json"), `"state": "current"`) })
	if out := hook("two"); !strings.Contains(out, "cat") || strings.Contains(out, "cannot be reached") {
		t.Errorf("a hook with a copy says %q", out)
	}
	status("Catalog as of just now, a copy of the shared one in " + address)
	status("Problems whoever pushes the shared catalog checks its skills")
	if out := call(t, 0, "status", "--json"); !strings.Contains(out, `"store": "`+address) || !strings.Contains(out, `"heard": "`) {
		t.Error(out)
	}
	for _, args := range [][]string{{"list"}, {"search", "feed the cat"}, {"context", "feed the cat"}, {"read", "cat", "SKILL.md"}, {"show", "cat"}, {"why", "cat", "feed the cat"}} {
		if out := call(t, 0, args...); !strings.Contains(out, "cat") {
			t.Errorf("skills %s prints %q", args, out)
		}
	}
	node := serveHTTP(t)
	node.healthy(t)
	ready := strings.TrimSuffix(node.url, "/mcp") + "/readyz"
	eventually(t, "the node is not current", func() bool { _, body := get(t, ready); return strings.Contains(body, `"state":"current"`) })
	if out := node.call(t, "127.0.0.1", "", "tools/call", "read_skill", `{"name":"cat"}`); !strings.Contains(out, "Feed it.") {
		t.Error(out)
	}
	server.Stop(t)
	// Until it notices, the node knows that the copy is as the database is, and says so to all others.
	eventually(t, "the node does not notice", func() bool { _, body := get(t, ready); return strings.Contains(body, `"state":"stale"`) })
	if out := hook("three"); !strings.Contains(out, "cat") {
		t.Errorf("a hook without the database says %q", out)
	}
	heard, err := filepath.Glob(home + "/cache/*/*.heard")
	if err != nil || len(heard) != 1 {
		t.Fatal(heard, err)
	}
	old := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes(heard[0], old, old))
	if out := hook("four"); !strings.Contains(out, "cat") || !strings.Contains(out, "cannot be reached") {
		t.Errorf("a hook with an old copy says %q", out)
	}
	status("a copy of the shared one in " + address)
	if out, errs := outputs(t, 0, "search", "feed the cat"); !strings.Contains(out, "cat") || !strings.Contains(errs, "the answer is ") {
		t.Errorf("without the database a search says %q, %q", out, errs)
	}
	if out := node.call(t, "127.0.0.1", "", "tools/call", "read_skill", `{"name":"cat"}`); !strings.Contains(out, "Feed it.") {
		t.Error(out)
	}
	if status, _ := get(t, strings.TrimSuffix(node.url, "/mcp")+"/healthz"); status != http.StatusOK {
		t.Error(status)
	}
	node.interrupt(t)
}
