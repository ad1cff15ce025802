package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestFlow replays one conversation by two users at once: the hook offers a skill, and the
// command, a server on a pipe and the library give the same texts for it and for what is
// wrong. What one session was offered is news to the other.
func TestFlow(t *testing.T) {
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\n")
	call(t, 0, "index")
	c, err := repertoire.OpenDefault(t.Context(), home)
	must.Do(t, err)
	defer c.Close()
	a, err := agent.New(agent.Config{Catalog: c})
	must.Do(t, err)
	var users sync.WaitGroup
	for _, user := range []string{"ann", "bob"} {
		server := startServer(t)
		server.say(initialize, initialized)
		server.hear(`"id":1`)
		doors := map[string]func(tool, args string) string{
			"library": func(tool, args string) string { return a.Call(t.Context(), tool, args).Text },
			"command": func(tool, args string) string {
				out, err := exec.Command("skills", "call", tool, args).Output()
				failed, ok := errors.AsType[*exec.ExitError](err)
				switch {
				case err != nil && !ok:
					t.Error(err)
				case ok: // what is wrong goes to standard error
					out = bytes.TrimPrefix(failed.Stderr, []byte("skills: "))
				}
				return string(out)
			},
			"pipe": func(tool, args string) string {
				server.say(toolCall(tool, args, ""))
				return textOf(t, server.hear(`"id":2`))
			},
		}
		users.Go(func() {
			offers := func(prompt string) bool {
				block, _ := hookOutput(t, promptEvent(user, home, prompt), "--deadline", "1m")
				return strings.Contains(block, "cat")
			}
			if !offers("feed the cat") {
				t.Errorf("%s: the hook offers nothing", user)
			}
			for _, step := range []struct{ tool, args, want string }{
				{"search_skills", `{"query":"feed the cat"}`, "- cat"},
				{"read_skill", `{"name":"cat"}`, "Feed it."},
				{"read_skill_resource", `{"skill_id":"cat","path":"notes.md"}`, "Notes."},
				{"search_skill_files", `{"query":"notes","name":"cat"}`, "Skill cat, notes.md, lines 1-1"},
				{"read_skill", `{"name":"cat","section":"food"}`, `skill cat has no section "food"`},
				{"read_skill", `{"name":"cats"}`, "did you mean cat?"},
				{"read_skill", `{}`, "Argument name is missing"},
			} {
				texts := make(map[string]string)
				for door, ask := range doors {
					if texts[door] = strings.TrimSuffix(ask(step.tool, step.args), "\n"); !strings.Contains(texts[door], step.want) {
						t.Errorf("%s, %s: %s %s: %q, want %q in it", user, door, step.tool, step.args, texts[door], step.want)
					}
				}
				if texts["command"] != texts["library"] || texts["pipe"] != texts["library"] {
					t.Errorf("%s: %s %s: the doors differ: %q", user, step.tool, step.args, texts)
				}
			}
			if offers("feed the cat") {
				t.Errorf("%s: the hook offers again what the session has", user)
			}
		})
	}
	users.Wait()
}

// textOf returns the text of a tool's answer over MCP.
func textOf(t *testing.T, message map[string]any) string {
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	data, err := json.Marshal(message)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || len(m.Result.Content) != 1 {
		t.Errorf("no text in %v: %v", message, err)
		return ""
	}
	return m.Result.Content[0].Text
}
