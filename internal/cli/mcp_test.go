package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// A stdioServer is a process of "skills mcp".
type stdioServer struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // of standard output
	stderr bytes.Buffer
}

func startServer(t *testing.T, args ...string) *stdioServer {
	t.Helper()
	s := &stdioServer{t: t, cmd: exec.Command("skills", append([]string{"mcp"}, args...)...), lines: make(chan string, 100)}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, s.cmd.Start())
	timer := time.AfterFunc(60*time.Second, func() { s.cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	go func() {
		defer close(s.lines)
		in := bufio.NewScanner(stdout)
		in.Buffer(nil, 10<<20)
		for in.Scan() {
			s.lines <- in.Text()
		}
	}()
	return s
}

// say writes lines to the server.
func (s *stdioServer) say(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err, s.stderr.String())
	}
}

// hear returns the next message of the server that holds a text.
func (s *stdioServer) hear(text string) map[string]any {
	s.t.Helper()
	for line := range s.lines {
		m := object(s.t, line)
		if m["jsonrpc"] != "2.0" {
			s.t.Errorf("standard output holds %q", line)
		}
		if strings.Contains(line, text) {
			return m
		}
	}
	s.t.Fatalf("the server ended without %q: %s", text, &s.stderr)
	return nil
}

// end waits for the server and returns its exit code.
func (s *stdioServer) end() int {
	s.t.Helper()
	for range s.lines { // Wait closes the pipe
	}
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

func toolCall(tool, args, meta string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + meta + `}}`
}

func TestMCP(t *testing.T) {
	fixture(t)
	for _, modern := range []bool{false, true} {
		s := startServer(t)
		meta, first := "", []string{initialize, initialized}
		if modern {
			meta, first = ","+modernMeta, []string{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`}
		}
		s.say(first...)
		if m := s.hear(`"id":1`); m["result"] == nil {
			t.Errorf("hello: %v", m)
		}
		s.say(toolCall("search_skills", `{"query":"feed the cat"}`, meta))
		if m := s.hear(`"id":2`); !strings.Contains(jsonOf(t, m), "Feeds the cat.") {
			t.Errorf("search: %v", m)
		}
		s.say(`{"jsonrpc":"2.0","id":3,"method":"skills/get","params":{"uri":"skill://cat/SKILL.md"` + meta + `}}`)
		if m := s.hear(`"id":3`); !strings.Contains(jsonOf(t, m), "skill://cat/notes.md") {
			t.Errorf("skills/get: %v", m)
		}
		s.stdin.Close()
		if code := s.end(); code != 0 || s.stderr.Len() > 0 {
			t.Errorf("exit code %d: %s", code, &s.stderr)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must.Do(t, err)
	return string(data)
}

// TestMCPChanges adds a skill, and then a folder of skills, while a client is connected.
func TestMCPChanges(t *testing.T) {
	fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nschedule: \"@every 1s\"\n")
	s := startServer(t, "--verbose")
	s.say(initialize, initialized, toolCall("list_skills", "{}", ""))
	if m := s.hear(`"id":2`); !strings.Contains(jsonOf(t, m), `"total":2`) {
		t.Errorf("list: %v", m)
	}
	for i, file := range []string{".agents/skills/dog/SKILL.md", ".claude/skills/bird/SKILL.md"} {
		must.Write(t, file, "---\nname: "+path.Base(path.Dir(file))+"\ndescription: Walks it.\n---\nWalk it.\n")
		for { // the first scan may be told of too
			s.hear("notifications/resources/list_changed")
			s.say(toolCall("list_skills", "{}", ""))
			if m := s.hear(`"id":2`); strings.Contains(jsonOf(t, m), fmt.Sprintf(`"total":%d`, 3+i)) {
				break
			}
		}
	}
	s.stdin.Close()
	if code := s.end(); code != 0 || !strings.Contains(s.stderr.String(), "added=1") {
		t.Errorf("exit code %d: %s", code, &s.stderr)
	}
}

// TestMCPTerminated ends a server whose client still holds on to it.
func TestMCPTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	fixture(t)
	for _, wait := range []bool{true, false} { // or else while it starts
		s := startServer(t)
		s.say(initialize)
		if wait {
			s.hear(`"id":1`)
		}
		must.Do(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if code := s.end(); wait && (code != 0 || s.stderr.Len() > 0) {
			t.Errorf("exit code %d: %s", code, &s.stderr)
		}
		s.stdin.Close()
	}
	if list := call(t, 0, "list"); strings.Count(list, "\n") != 2 {
		t.Errorf("the catalog afterwards: %s", list)
	}
}

// TestMCPSuggests: what a session was offered, or has read, is not offered
// again; whoever works elsewhere is not offered the skills of the project.
func TestMCPSuggests(t *testing.T) {
	home := fixture(t)
	project, inside := t.TempDir(), "sub"
	must.Write(t, filepath.Join(project, ".git/config"), "")
	must.Write(t, filepath.Join(project, inside, "x"), "")
	must.Write(t, filepath.Join(project, ".agents/skills/roses/SKILL.md"), "---\nname: roses\ndescription: Waters the roses of the castle.\n---\n")
	t.Setenv("CLAUDE_PROJECT_DIR", project)
	t.Chdir(t.TempDir()) // wherever the client starts its servers

	s := startServer(t)
	s.say(initialize, initialized)
	suggested := func(session, dir, prompt string) (names []string) {
		t.Helper()
		s.say(toolCall("suggest_skills", jsonOf(t, map[string]string{"session": session, "cwd": dir, "prompt": prompt}), ""))
		var m struct {
			Result struct{ Content []struct{ Text string } }
		}
		must.Do(t, json.Unmarshal([]byte(jsonOf(t, s.hear(`"id":2`))), &m))
		block := m.Result.Content[0].Text
		for _, found := range regexp.MustCompile(`<skill name="([^"]*)">`).FindAllStringSubmatch(block, -1) {
			names = append(names, found[1])
		}
		if (len(names) > 0) != strings.Contains(block, "`read_skill` of the MCP server skills") {
			t.Errorf("block for %v: %q", names, block)
		}
		return names
	}
	want := func(got []string, names ...string) {
		t.Helper()
		if !slices.Equal(got, names) {
			t.Errorf("suggested %v, want %v", got, names)
		}
	}
	const cat, roses = "feed the cat", "water the roses of the castle"
	want(suggested("a", project, cat), "cat")
	want(suggested("a", project, cat))
	want(suggested("b", project, cat), "cat")
	s.say(toolCall("read_skill", `{"id":"roses"}`, ""))
	s.hear(`"id":2`)
	want(suggested("b", project, roses))
	want(suggested("a", filepath.Join(project, inside), roses), "roses")
	want(suggested("c", home, roses))
	want(suggested("d", project+"-2", roses))
	want(suggested("c", home, cat), "cat")
	want(suggested("", "", roses), "roses")
	s.stdin.Close()
	if code := s.end(); code != 0 || s.stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &s.stderr)
	}

	for session, want := range map[string]bool{"b": false, "e": true} {
		out, _ := hookOutput(t, promptEvent(session, project, roses), "--deadline", "10s")
		if strings.Contains(out, "<name>\nroses\n</name>") != want {
			t.Errorf("a hook of session %s was answered %q", session, out)
		}
	}
}
