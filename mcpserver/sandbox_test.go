package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
)

// boxed serves the skill made with a sandbox that has files of its own, and trusts it.
func boxed(t *testing.T) (*kit, *trust.File) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the virtual executor does not run on Windows")
	}
	k, trusted := made(t, "", virtual.New(virtual.Options{}))
	k.trustNow(t, "made", trusted)
	return k, trusted
}

// A talk is one session of a client: it calls a tool and returns the text of the answer.
type talk func(name string, args object) string

// over returns a talk over pipes.
func (k *kit) over(t *testing.T) talk {
	c := k.connect(t, false)
	return func(name string, args object) string {
		return textOf(c.must("tools/call", object{"name": name, "arguments": args}))
	}
}

// serveHTTP serves k over HTTP and returns the address.
func (k *kit) serveHTTP(t *testing.T, o mcpserver.HTTPOptions) string {
	t.Helper()
	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": k.Server}, &o)
	must.Do(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// overHTTP returns a talk in a session over HTTP.
func overHTTP(t *testing.T, url string, headers ...string) talk {
	headers = session(t, url, headers...)
	return func(name string, args object) string {
		data, err := json.Marshal(args)
		must.Do(t, err)
		return textOf(send(t, "POST", url, tool(name, string(data)), headers...).result(t))
	}
}

// stateless returns a talk over HTTP without a session.
func stateless(t *testing.T, url string) talk {
	return func(name string, args object) string {
		data, err := json.Marshal(object{"name": name, "arguments": args})
		must.Do(t, err)
		return textOf(modern(t, url, "tools/call", string(data)).result(t))
	}
}

// TestSessionsApart: two sessions at once see nothing of each other. What one writes over a
// script of a trusted skill, the other does not run.
func TestSessionsApart(t *testing.T) {
	k, _ := boxed(t)
	url := k.serveHTTP(t, mcpserver.HTTPOptions{})
	for _, c := range []struct {
		name       string
		one, other talk
	}{
		{"pipes", k.over(t), k.over(t)},
		{"HTTP", overHTTP(t, url), overHTTP(t, url)},
		{"pipes and HTTP", k.over(t), overHTTP(t, url)},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := object{"skill_name": "made", "command": "sh scripts/ok.sh; cat note"}
			c.one("sandbox_execute", object{"command": "echo mine > /.sandbox/tmp/note; echo 'secret' > /note"})
			c.one("run_skill_script", object{"skill_name": "made", "command": "echo 'echo replaced' > scripts/ok.sh; echo kept > note"})
			contains(t, "its own session", c.one("sandbox_execute", run), "<stdout>\nreplaced\nkept\n</stdout>")
			contains(t, "its own session", c.one("sandbox_execute", object{"command": "cat /note /.sandbox/tmp/note"}), "<stdout>\nsecret\nmine\n</stdout>")

			contains(t, "another session", c.other("sandbox_execute", run), "<stdout>\noriginal\n</stdout>", "note: No such file")
			contains(t, "another session", c.other("run_skill_script", run), "<stdout>\noriginal\n</stdout>")
			contains(t, "another session", c.other("sandbox_execute", object{"command": "cat /note; ls /.sandbox/tmp"}), "<stdout></stdout>", "/note: No such file")
			contains(t, "the first one afterwards", c.one("sandbox_execute", run), "<stdout>\nreplaced\nkept\n</stdout>")
		})
	}
}

// TestSessionless: where the protocol has no session, each call has a sandbox of its own, and
// the tool says so.
func TestSessionless(t *testing.T) {
	k, _ := boxed(t)
	url := k.serveHTTP(t, mcpserver.HTTPOptions{})
	call := stateless(t, url)
	contains(t, "one call", call("sandbox_execute", object{"command": "echo a > /f; cat /f"}), "<stdout>\na\n</stdout>")
	contains(t, "the next call", call("sandbox_execute", object{"command": "cat /f"}), "/f: No such file")
	call("sandbox_execute", object{"skill_name": "made", "command": "echo 'echo replaced' > scripts/ok.sh"})
	contains(t, "the next call", call("sandbox_execute", object{"skill_name": "made", "command": "sh scripts/ok.sh"}), "<stdout>\noriginal\n</stdout>")

	about := func(r map[string]any) string {
		for _, tool := range r["tools"].([]any) {
			if tool := tool.(object); tool["name"] == "sandbox_execute" {
				return tool["description"].(string)
			}
		}
		return ""
	}
	contains(t, "without a session", about(modern(t, url, "tools/list", "{}").result(t)), "Each call has a new sandbox")
	contains(t, "in a session", about(send(t, "POST", url, message("tools/list", "{}"), session(t, url)...).result(t)), "stay from one call to the next")
	eras(t, func(t *testing.T, modern bool) {
		contains(t, "over pipes", about(k.connect(t, modern).must("tools/list", nil)), "stay from one call to the next")
	})
}

// TestSandboxFlow replays an ordinary conversation through each door: the skill is loaded, and
// then run where the answer says that it is, without its name.
func TestSandboxFlow(t *testing.T) {
	k, trusted := boxed(t)
	url := k.serveHTTP(t, mcpserver.HTTPOptions{})
	for name, call := range map[string]talk{"pipes": k.over(t), "HTTP": overHTTP(t, url), "HTTP without a session": stateless(t, url)} {
		t.Run(name, func(t *testing.T) {
			contains(t, "found", call("search_skills", object{"query": "something made for tests"}), "made")
			read := call("read_skill", object{"id": "made"})
			at := "/.sandbox/skills/made"
			contains(t, "loaded", read, "Commands of sandbox_execute and run_skill_script find it at "+at+".")
			contains(t, "run", call("sandbox_execute", object{"command": "sh " + at + "/scripts/ok.sh"}), "<stdout>\noriginal\n</stdout>")
			contains(t, "run", call("run_skill_script", object{"skill_name": "made", "command": "sh " + at + "/scripts/ok.sh"}), "<stdout>\noriginal\n</stdout>")
			contains(t, "listed", call("sandbox_execute", object{"command": "ls " + at + " /.sandbox/skills/"}), "SKILL.md")
			if name != "HTTP without a session" { // nothing is loaded there
				contains(t, "listed", call("sandbox_execute", object{"command": "cd made; sh scripts/ok.sh; ls .."}), "<stdout>\noriginal\nmade\n</stdout>")
			}
		})
	}

	// A skill that is not trusted is not brought in, however it is named.
	_, err := trusted.Forget(t.Context(), func(trust.Skill) bool { return true })
	must.Do(t, err)
	call := k.over(t)
	if read := call("read_skill", object{"id": "made"}); strings.Contains(read, "/.sandbox") {
		t.Errorf("a skill that is not trusted is in the sandbox: %s", read)
	}
	contains(t, "not trusted", call("sandbox_execute", object{"command": "sh /.sandbox/skills/made/scripts/ok.sh"}), "does not trust it as it is now", "skills trust made")
	contains(t, "not trusted", call("sandbox_execute", object{"command": "ls; cd made"}), "<stdout></stdout>")
}

// TestSessionEnds: the files of a session are gone with it, also when its client only goes away.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	k, _ := boxed(t)
	ended := make(chan string, 10)
	o := mcpserver.Options{Runs: &mcpserver.Runs{
		Begin: func(client string) mcpserver.RunSession { return &ending{client, ended} },
		Tools: func(context.Context, bool) ([]agent.Tool, error) { return nil, nil },
	}}
	k.Server = mcpserver.New(k.catalog, &o)
	url := k.serveHTTP(t, mcpserver.HTTPOptions{IdleSession: 2 * time.Second})
	gone := func(what string) {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("%s: the session goes on", what)
		}
	}
	run := object{"command": "x"}
	overHTTP(t, url)("sandbox_execute", run)
	gone("idle")
	stateless(t, url)("sandbox_execute", run)
	gone("without a session")
	c := k.connect(t, false)
	c.tool("sandbox_execute", run)
	c.close()
	gone("the end of the pipe")

	url = k.serveHTTP(t, mcpserver.HTTPOptions{ClientSessions: 1})
	first := overHTTP(t, url)
	first("sandbox_execute", run)
	second := session(t, url)
	gone("a newer session of the client")
	send(t, "POST", url, tool("sandbox_execute", `{"command":"x"}`), second...)
	if r := send(t, "DELETE", url, "", second...); r.status != 204 {
		t.Errorf("ending the session: %+v", r)
	}
	gone("at the wish of the client")
}

// ending is a session that tells of its end.
type ending struct {
	client string
	ended  chan string
}

func (*ending) Call(context.Context, string, string) agent.Reply { return agent.Reply{Text: "{}"} }
func (*ending) Load(context.Context, string) string              { return "" }
func (e *ending) End()                                           { e.ended <- fmt.Sprint(e.client) }
