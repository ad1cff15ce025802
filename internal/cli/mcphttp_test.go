package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/server"
)

// An httpServer is a process "skills mcp --http".
type httpServer struct {
	url    string // of /mcp
	cmd    *exec.Cmd
	stderr chan string // what it prints until it ends, after the address
	token  string      // that calls bear; "" means none
}

// serveHTTP starts a server with more arguments and waits for its address.
func serveHTTP(t *testing.T, args ...string) *httpServer {
	t.Helper()
	cmd := exec.Command("skills", append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)...)
	pipe, err := cmd.StderrPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	s := &httpServer{cmd: cmd, stderr: make(chan string, 1)}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	r := bufio.NewReader(pipe)
	address := regexp.MustCompile(`^skills: serving at (http://127\.0\.0\.1:\d+/mcp)\n$`)
	var found []string
	for printed := ""; found == nil; { // a node without its database says that first
		line, err := r.ReadString('\n')
		if printed += line; err != nil {
			t.Fatalf("it says %q, %v", printed, err)
		}
		found = address.FindStringSubmatch(line)
	}
	s.url = found[1]
	go func() {
		rest, err := io.ReadAll(r)
		if err != nil {
			rest = append(rest, err.Error()...)
		}
		s.stderr <- string(rest)
	}()
	return s
}

// interrupt ends the server in good order and returns what it printed.
func (s *httpServer) interrupt(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals here")
	}
	must.Do(t, s.cmd.Process.Signal(syscall.SIGTERM))
	printed := <-s.stderr
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, %s", err, printed)
	}
	return printed
}

// get returns the status and the body of an address.
func get(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	must.Do(t, err)
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	return send(t, http.DefaultClient, req)
}

// send returns the status and the body of the answer to a request.
func send(t *testing.T, c *http.Client, req *http.Request) (int, string) {
	t.Helper()
	resp, err := c.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	return resp.StatusCode, string(data)
}

// healthy waits until the catalog can be asked, and returns what /healthz says.
func (s *httpServer) healthy(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if status, body := get(t, strings.TrimSuffix(s.url, "/mcp")+"/healthz"); status == http.StatusOK {
			return strings.TrimSpace(body)
		}
	}
	t.Fatal("it does not get well")
	return ""
}

// TestServeHTTP runs the process with a token: it prints its address, answers, and ends
// at an interrupt.
func TestServeHTTP(t *testing.T) {
	home := fixture(t)
	const token = "0123456789abcdef"
	file := filepath.Join(home, "token")
	must.Do(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	s := serveHTTP(t, "--token-file", file)
	if health := s.healthy(t); health != `{"status":"ok"}` {
		t.Errorf("health %s", health)
	}
	root := strings.TrimSuffix(s.url, "/mcp")
	if status, _ := get(t, root+"/metrics"); status != http.StatusUnauthorized {
		t.Errorf("metrics without the token: %d", status)
	}
	if status, body := get(t, root+"/metrics", "Authorization", "Bearer "+token); status != http.StatusOK || !strings.Contains(body, "\nrepertoire_skills 2\n") {
		t.Errorf("metrics: %d, %s", status, body)
	}
	for path, want := range map[string]int{"/mcp": 400, "/mcp/keeper": 400, "/mcp/nobody": 404} { // there is no session
		if status, _ := get(t, root+path, "Authorization", "Bearer "+token); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	want := regexp.MustCompile(`^\S+ level=WARN msg="a request was refused" why="no token" path=/metrics client=127.0.0.1/32 status=401\n\S+ .* why=scope path=/mcp/nobody client=127.0.0.1/32 status=404\n$`)
	if printed := s.interrupt(t); !want.MatchString(printed) {
		t.Errorf("it prints %q", printed)
	}
}

// TestServeHTTPSessions: a client that names session after session makes no file, and
// costs neither another client nor a hook on this machine its memory.
func TestServeHTTPSessions(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only 127.0.0.1 is an address of this machine here")
	}
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}}\n")
	hook := func() string {
		out, _ := hookOutput(t, promptEvent("s", home, "feed the cat"), "--deadline", "10s")
		return out
	}
	if out, err := exec.Command("skills", "index").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out := hook(); !strings.Contains(out, "cat") {
		t.Fatalf("the hook says %q", out)
	}
	files := sessionFiles(t)
	s := serveHTTP(t, "--rate", "0")
	s.healthy(t)
	offered := func(want bool, from, path, session string) {
		t.Helper()
		if got := s.suggests(t, from, path, session); got != want {
			t.Errorf("session %s of %s at %q is offered a skill: %t, want %t", session, from, path, got, want)
		}
	}
	offered(true, "127.0.0.1", "", "s")
	offered(true, "127.0.0.2", "", "s")
	offered(true, "127.0.0.1", "/keeper", "s") // a session belongs to a path
	for i := range 250 {
		offered(true, "127.0.0.1", "", fmt.Sprint(i))
	}
	offered(false, "127.0.0.1", "", "249")
	offered(true, "127.0.0.1", "", "s") // too many newer ones
	offered(false, "127.0.0.2", "", "s")
	if got := sessionFiles(t); got != files {
		t.Errorf("%d files of sessions, want %d", got, files)
	}
	if out := hook(); strings.Contains(out, "cat") {
		t.Errorf("the hook has forgotten its session: %q", out)
	}
	s.interrupt(t)
}

// sessionFiles returns how many sessions the state folder has.
func sessionFiles(t *testing.T) int {
	t.Helper()
	state, err := config.StateDir()
	must.Do(t, err)
	files, err := filepath.Glob(filepath.Join(state, "sessions", "*.json"))
	must.Do(t, err)
	return len(files)
}

// suggests reports whether a session of a client, an address of this machine, is offered
// a skill.
func (s *httpServer) suggests(t *testing.T, from, path, session string) bool {
	t.Helper()
	data := s.call(t, from, path, "tools/call", "suggest_skills", `{"prompt":"feed the cat","session":"`+session+`"}`)
	if !strings.Contains(data, `"content"`) {
		t.Fatal(data)
	}
	return strings.Contains(data, `name=\"cat\"`)
}

// call calls a method, perhaps with a tool, from an address of this machine, and returns the
// answer.
func (s *httpServer) call(t *testing.T, from, path, method, tool, arguments string) string {
	t.Helper()
	params := ""
	if tool != "" {
		params = `"name":"` + tool + `","arguments":` + arguments + `,`
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(body))
	must.Do(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": tool,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, data)
	}
	return string(data)
}

// TestServeHTTPRuns: with a token, clients run scripts of trusted skills of their scope, and
// /metrics counts them.
func TestServeHTTPRuns(t *testing.T) {
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nusage: true\nagents: {keeper: {include: {names: [cat]}}, other: {include: {names: [post]}}}\nscripts: [{skills: [cat], executor: virtual}]\n")
	must.Write(t, ".agents/skills/cat/scripts/feed.sh", "echo fed with $1\n")
	const token = "0123456789abcdef"
	must.Write(t, "token", token)
	if out, err := exec.Command("skills", "mcp", "--http", "127.0.0.1:0", "--allow-run").CombinedOutput(); err == nil || !strings.Contains(string(out), "needs a token") {
		t.Fatalf("without a token: %v, %s", err, out)
	}
	s := serveHTTP(t, "--allow-run", "--allow-unconfined", "--token-file", filepath.Join(home, "token"))
	s.token = token
	s.healthy(t)
	feed := func(path string) string {
		return s.call(t, "127.0.0.1", path, "tools/call", "run_skill_script", `{"skill_name":"cat","command":"sh scripts/feed.sh fish"}`)
	}
	if out := feed("/keeper"); !strings.Contains(out, "does not trust it as it is now") {
		t.Error(out)
	}
	if out, err := exec.Command("skills", "trust", "cat", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if out := feed("/keeper"); !strings.Contains(out, "fed with fish") {
		t.Error(out)
	}
	if out := feed("/other"); !strings.Contains(out, "Skill 'cat' not found") {
		t.Error(out)
	}
	_, counts := get(t, strings.TrimSuffix(s.url, "/mcp")+"/metrics", "Authorization", "Bearer "+token)
	for _, want := range []string{"\nrepertoire_agent_runs_total 1\n", `repertoire_agent_skill_events_total{skill="cat",event="ran"} 1`} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %s in\n%s", want, counts)
		}
	}
	if out, err := exec.Command("skills", "stats", "--json").Output(); err != nil || !strings.Contains(string(out), `"ran": 1`) {
		t.Errorf("%v, %s", err, out)
	}
}

// TestServeHTTPProposals: everybody may propose, and only the reviewer decides, where it is
// served and for what it sees.
func TestServeHTTPProposals(t *testing.T) {
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}, other: {}}\n")
	s := serveHTTP(t, "--allow-proposals", "--reviewer", "keeper")
	s.healthy(t)
	for path, reviews := range map[string]bool{"": false, "/keeper": true, "/other": false} {
		list := s.call(t, "127.0.0.1", path, "tools/list", "", "")
		if !strings.Contains(list, `"propose_skill_update"`) || strings.Contains(list, `"approve_proposal"`) != reviews {
			t.Errorf("%q: %s", path, list)
		}
	}
	propose := func(id, path string) string {
		out := s.call(t, "127.0.0.1", path, "tools/call", "propose_skill_update",
			`{"id":"`+id+`","diff":"@@\n-F`+map[string]string{"cat": "eed it", "post": "etch them"}[id]+`.\n+Well done.\n","justification":"Better."}`)
		found := regexp.MustCompile(`"proposal":"([0-9a-z-]+)"`).FindStringSubmatch(out)
		if found == nil {
			t.Fatal(out)
		}
		return found[1]
	}
	cat, post := propose("cat", "/other"), propose("post", "")
	if out := s.call(t, "127.0.0.1", "/keeper", "tools/call", "approve_proposal", `{"proposal":"`+post+`","reason":"x"}`); !strings.Contains(out, "no such proposal") {
		t.Error(out)
	}
	if out := s.call(t, "127.0.0.1", "/keeper", "tools/call", "approve_proposal", `{"proposal":"`+cat+`","reason":"x"}`); !strings.Contains(out, "is changed") {
		t.Error(out)
	}
	data, err := os.ReadFile(filepath.Join(home, ".agents", "skills", "cat", "SKILL.md"))
	if err != nil || !strings.Contains(string(data), "Well done.") {
		t.Errorf("%s, %v", data, err)
	}
	if out := call(t, 0, "proposals"); !strings.Contains(out, post) || !strings.Contains(out, "\tclient test\t") || strings.Contains(out, cat) {
		t.Error(out)
	}
}

// TestMCPFlags: each flag says what its name says.
func TestMCPFlags(t *testing.T) {
	var o mcpOptions
	f := pflag.NewFlagSet("mcp", pflag.ContinueOnError)
	o.flags(f)
	err := f.Parse([]string{"--http", "8080", "--allow-proposals", "--reviewer", "keeper", "--allow-run", "--executor", "virtual", "--allow-unconfined",
		"--token-file", "token", "--oidc-issuer", "https://login.example", "--oidc-audience", "skills", "--oidc-claim", "groups",
		"--oidc-agent", "zoo=keeper", "--oidc-agent", "all=", "--public-url", "https://skills.example", "--audit", "log", "--audit-prompts", "--ui",
		"--allow-host", "host", "--allow-origin", "https://origin.example", "--rate", "7"})
	must.Do(t, cmp.Or(err, o.check(""), o.checkHTTP()))
	if !o.Propose || o.Reviewer != "keeper" || !o.Run || o.Executor != "virtual" || !o.Unconfined {
		t.Errorf("%+v", o.Options)
	}
	want := server.HTTPOptions{
		Admission: server.Admission{
			TokenFile: "token", PublicURL: "https://skills.example",
			Issuer: access.OIDCOptions{Issuer: "https://login.example", Audience: "skills", Claim: "groups", Agents: []access.Claimed{{Value: "zoo", Agent: "keeper"}, {Value: "all"}}},
		},
		Addr: "8080", Hosts: []string{"host"}, Origins: []string{"https://origin.example"}, Rate: 7, Audit: "log", AuditPrompts: true, Page: true,
	}
	if diff := gocmp.Diff(want, o.http); diff != "" {
		t.Error(diff)
	}
}
