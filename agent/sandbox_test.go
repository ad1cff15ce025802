package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
	"github.com/repertoire-skills/repertoire/search"
)

// boxed returns an agent whose commands run in a sandbox with files of its own, and the folder
// of its skills.
func boxed(t *testing.T, cfg agent.Config) (*agent.Agent, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the virtual executor does not run on Windows")
	}
	c, dir := toolCatalog(t, runSkills)
	must.Do(t, os.Chmod(filepath.Join(dir, "other", "scripts", "hello.sh"), 0o644)) // "sh FILE" needs no permission to run it
	cfg.Catalog = c
	if cfg.Executor == nil {
		cfg.Executor = virtual.New(virtual.Options{})
	}
	return newAgent(t, cfg), dir
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %s, want %s", what, text, part)
		}
	}
}

// TestConversationsApart: two conversations see nothing of each other. What one writes over a
// script of a skill, the other does not run, nor is it on disk.
func TestConversationsApart(t *testing.T) {
	box := virtual.New(virtual.Options{})
	a, dir := boxed(t, agent.Config{Executor: box})
	one, other := a.NewConversation(), a.NewConversation()
	shell := func(c *agent.Conversation, command string) string {
		return c.Call(t.Context(), "sandbox_execute", encode(t, map[string]string{"command": command, "skill_name": "other"})).Text
	}
	has(t, "one", shell(one, "echo 'echo replaced' > scripts/hello.sh; echo secret > /note; sh scripts/hello.sh"), "<stdout>\nreplaced\n</stdout>")
	has(t, "one, later", shell(one, "sh scripts/hello.sh; cat /note"), "<stdout>\nreplaced\nsecret\n</stdout>")
	has(t, "other", shell(other, "sh scripts/hello.sh; cat /note"), "<stdout>\nhello\n</stdout>", "/note: No such file")
	has(t, "without a conversation", a.Call(t.Context(), "sandbox_execute", `{"command":"echo x > /f; cat /f /note"}`).Text, "<stdout>\nx\n</stdout>", "/note: No such file")
	has(t, "the next call", a.Call(t.Context(), "sandbox_execute", `{"command":"cat /f"}`).Text, "/f: No such file")
	if res, err := box.Run(t.Context(), "ls /"); err != nil || strings.Contains(string(res.Stdout), "note") {
		t.Errorf("the executor of the program has %s, %v", res.Stdout, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "other", "scripts", "hello.sh")); err != nil || !strings.Contains(string(data), "echo hello") {
		t.Errorf("the skill on disk is %s, %v", data, err)
	}

	// What the program put into the sandbox, each conversation begins with.
	_, err := box.Run(t.Context(), "echo given > /given")
	must.Do(t, err)
	has(t, "a new conversation", shell(a.NewConversation(), "cat /given"), "<stdout>\ngiven\n</stdout>")
}

// TestSandboxToolText: the tool says whether files stay.
func TestSandboxToolText(t *testing.T) {
	a, _ := boxed(t, agent.Config{Offer: []string{"sandbox_execute"}})
	for want, define := range map[string]func(context.Context, string) ([]agent.Tool, error){
		"Each call has a new sandbox": a.Tools, "stay from one call to the next": a.NewConversation().Tools} {
		tools, err := define(t.Context(), "")
		must.Do(t, err)
		has(t, "the tool", tools[0].Description, want)
	}
}

// TestSandboxFlow replays an ordinary conversation in both modes: the skill is loaded, and then
// run where the answer says that it is.
func TestSandboxFlow(t *testing.T) {
	at := "/.sandbox/skills/other"
	tools := agenttest.New(
		agenttest.Turn{Calls: []agent.Call{{Name: "get_skill", Arguments: `{"skill_name":"other"}`}}},
		agenttest.Turn{Want: []agenttest.Want{{Text: `"mount_path":"` + at + `"`}}, Calls: []agent.Call{{Name: "sandbox_execute", Arguments: `{"command":"sh ` + at + `/scripts/hello.sh && ls"}`}}},
		agenttest.Turn{Want: []agenttest.Want{{Text: "exit_code=\"0\">\n<stdout>\nhello\nother\n</stdout>"}}, Text: "It says hello."})
	tags := agenttest.New(
		agenttest.Turn{Text: "<use_skill>other</use_skill>"},
		agenttest.Turn{Want: []agenttest.Want{{Text: `root="` + at + `"`}}, Text: `<execute_script skill="other">sh ` + at + `/scripts/hello.sh</execute_script>`},
		agenttest.Turn{Want: []agenttest.Want{{Text: "hello"}}, Text: "It says hello."})
	always := agenttest.New(
		agenttest.Turn{Want: []agenttest.Want{{In: agenttest.System, Text: `root="` + at + `"`}}, Calls: []agent.Call{{Name: "sandbox_execute", Arguments: `{"command":"sh other/scripts/hello.sh"}`}}},
		agenttest.Turn{Want: []agenttest.Want{{Text: "exit_code=\"0\">\n<stdout>\nhello\n</stdout>"}}, Text: "It says hello."})
	user := clerkOf()
	user.Uses = []string{"other"}
	for _, cfg := range []agent.Config{
		{Model: always, Offer: []string{"sandbox_execute"}, Agent: user},
		{Model: tools, Offer: []string{"get_skill", "sandbox_execute"}},
		{Model: tags, Instructions: true},
	} {
		a, _ := boxed(t, cfg)
		answer, err := a.Chat(t.Context(), "Greet me with the skill other.")
		if err != nil || answer.Text != "It says hello." {
			t.Errorf("the answer is %q, %v; events %+v", answer.Text, err, answer.Events)
		}
	}
}

// TestMountAsked: a skill whose scripts the user does not let run is not in the sandbox, and a
// command that names its path says so. One that is there has no say.
func TestMountAsked(t *testing.T) {
	asked := 0
	a, _ := boxed(t, agent.Config{Agent: clerkOf(), Allow: func(_ context.Context, b contextprovider.Body, _ string) error {
		if asked++; b.ID == "other" {
			return &sandbox.Error{Reason: sandbox.Refused, Fact: "the user said no", Hint: "go on"}
		}
		return nil
	}})
	c := a.NewConversation()
	handle := func(tool, args string) string { return c.Call(t.Context(), tool, args).Text }
	handle("get_skill", `{"skill_name":"other"}`)
	handle("get_skill", `{"skill_name":"pdf"}`)
	if asked != 0 {
		t.Errorf("the user was asked %d times before anything runs", asked)
	}
	has(t, "what is loaded", handle("sandbox_execute", `{"command":"ls"}`), "<stdout>\npdf\n</stdout>")
	has(t, "a path of it", handle("sandbox_execute", `{"command":"sh /.sandbox/skills/other/scripts/hello.sh"}`), "the user said no")
	has(t, "out of scope", handle("sandbox_execute", `{"command":"ls /.sandbox/skills/secret"}`), "No such file")
	has(t, "a path that is none", handle("sandbox_execute", `{"command":"ls /.sandbox/skills/ /.sandbox/skills/$x /.sandbox/skills/\"none\""}`), "No such file")
}

// TestExecutorOfSkill: where a skill is depends on the executor that its configuration names.
func TestExecutorOfSkill(t *testing.T) {
	clerk := clerkOf()
	clerk.Script.Executor = "virtual"
	box := virtual.New(virtual.Options{Root: "/elsewhere"})
	executors := func(search.Script) (sandbox.Executor, error) { return box, nil }
	a, dir := boxed(t, agent.Config{Executor: echo{}, Executors: executors})
	has(t, "the usual executor", a.Call(t.Context(), "get_skill", `{"skill_name":"other"}`).Text, `"mount_path":`+encode(t, filepath.Join(dir, "other")))
	a, _ = boxed(t, agent.Config{Executor: echo{}, Executors: executors, Agent: clerk})
	has(t, "its own", a.Call(t.Context(), "get_skill", `{"skill_name":"other"}`).Text, `"mount_path":"/elsewhere/skills/other"`)
	has(t, "its own", a.Call(t.Context(), "run_skill_script", `{"skill_name":"other","command":"sh /elsewhere/skills/other/scripts/hello.sh"}`).Text, "<stdout>\nhello\n</stdout>")
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must.Do(t, err)
	return string(data)
}
