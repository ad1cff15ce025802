package agent_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
)

// echo is an executor for tests in which nothing runs.
type echo struct{}

func (echo) Execute(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Stdout: []byte(r.Command)}, nil
}

// runSkills are skills whose scripts run.
var runSkills = map[string]string{
	"pdf/SKILL.md":              "---\nname: pdf\ndescription: Convert PDF files to images.\nallowed-tools: scripts/convert.sh scripts/fields.sh\n---\nConvert.\n",
	"pdf/scripts/convert.sh":    "#!/bin/sh\n# Converts a page to an image.\n#\n# Usage: convert.sh [--dpi N] INPUT OUTPUT\nfor a in \"$@\"; do echo \"<$a>\"; done\necho \"in $(basename \"$PWD\")\" >&2\nexit 3\n",
	"pdf/scripts/fields.sh":     "#!/bin/sh\necho \"fields of $1\"; cat\n",
	"pdf/scripts/forbidden.sh":  "#!/bin/sh\n# Usage: forbidden.sh FILE\necho done\n",
	"other/SKILL.md":            "---\nname: other\ndescription: Nothing to do with it.\n---\nBody.\n",
	"other/scripts/hello.sh":    "#!/bin/sh\n# Usage: hello.sh\necho hello\n",
	"secret/SKILL.md":           "---\nname: secret\ndescription: For nobody.\nallowed-tools: '*'\n---\nBody.\n",
	"secret/scripts/tell.sh":    "#!/bin/sh\n# Usage: tell.sh\necho secret\n",
	"secret/scripts/tellall.sh": "#!/bin/sh\necho all\n",
}

func clerkOf() *repertoire.Agent {
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Exclude.Names = []string{"secret"}
	return clerk
}

// TestRunScript runs scripts of a skill as a model asks for it.
func TestRunScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test need a shell")
	}
	c, _ := toolCatalog(t, runSkills)
	a := newAgent(t, agent.Config{Catalog: c, Agent: clerkOf(), Executor: sandbox.NewPlain(sandbox.Options{AllowUnconfined: true})})
	for _, test := range []struct{ tool, args, want string }{
		{"run_skill_script", `{"skill_name":"pdf","command":"scripts/fields.sh 'a b'","stdin":"x <y>\n"}`, "<script_result skill=\"pdf\" exit_code=\"0\">\n<stdout>\nfields of a b\nx <y>\n</stdout>\n<stderr></stderr>"},
		{"run_skill_script", `{"skill":"pdf","command":"scripts/convert.sh","args":["-x",7,"$HOME"]}`, "exit_code=\"3\">\n<stdout>\n<-x>\n<7>\n<$HOME>\n</stdout>\n<stderr>\nin pdf\n</stderr>"},
		{"run_skill_script", `{"skill_name":"pdf","command":"scripts/forbidden.sh"}`, `scripts/forbidden.sh`},
		{"run_skill_script", `{"skill_name":"pdf","command":"scripts/no.sh"}`, `scripts/no.sh`},
		{"run_skill_script", `{"skill_name":"pdf","command":"scripts/fields.sh | sh"}`, `joins commands with |`},
		{"run_skill_script", `{"skill_name":"pdf","command":"scripts/fields.sh","args":"a b"}`, `Argument args is not a list of texts`},
		{"run_skill_script", `{"skill_name":"secret","command":"scripts/tellall.sh"}`, `Skill 'secret' not found`},
		{"pdf__convert", `{"input":"a b.pdf","output":"$(id)","dpi":"72"}`, "<script_result skill=\"pdf\" exit_code=\"3\">\n<stdout>\n<--dpi>\n<72>\n<a b.pdf>\n<$(id)>\n</stdout>\n<stderr>\nin pdf\n</stderr>"},
		{"pdf__convert", `{"input":"-rf","output":"o"}`, `Argument input starts with -`},
		{"pdf__convert", `{"input":"a"`, `The arguments of 'pdf__convert' are malformed`},
		{"pdf__convert", `{"output":"a"}`, `give a JSON object by the schema {"type":"object"`},
		{"pdf__forbidden", `{"file":"x"}`, `scripts/forbidden.sh`},
		{"pdf__fields", `{}`, `Tool 'pdf__fields' not found`},
		{"secret__tell", `{}`, `Tool 'secret__tell' not found`},
	} {
		if got := a.Call(t.Context(), test.tool, test.args).Text; !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s, want %s", test.tool, test.args, got, test.want)
		}
	}
	if got := a.Call(t.Context(), "pdf__forbidden", `{"file":"x"}`).Text; strings.Contains(got, "done") || !strings.Contains(got, "allowed-tools") {
		t.Errorf("a script that allowed-tools does not name: %s", got)
	}
}

// TestSandboxExecute runs commands in a sandbox that lasts, with the files of a skill.
func TestSandboxExecute(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the virtual executor does not run on Windows")
	}
	c, _ := toolCatalog(t, runSkills)
	a := newAgent(t, agent.Config{Catalog: c, Agent: clerkOf(), Executor: virtual.New(virtual.Options{}), Offer: []string{"read_skill", "sandbox_execute"}})
	talk := a.NewConversation()
	tools, err := talk.Tools(t.Context(), "")
	must.Do(t, err)
	if got := toolNames(tools); !slices.Equal(got, []string{"read_skill", "sandbox_execute"}) {
		t.Errorf("tools %q", got)
	}
	for _, test := range []struct{ tool, args, want string }{
		{"read_skill", `{"skill_name":"pdf"}`, `Its folder: /.sandbox/skills/pdf`},
		{"sandbox_execute", `{"command":"echo b > /.sandbox/tmp/x; echo a >> /.sandbox/tmp/x; sort /.sandbox/tmp/x | head -n 1"}`, "<script_result exit_code=\"0\">\n<stdout>\na\n</stdout>"},
		{"sandbox_execute", `{"command":"cat /.sandbox/tmp/x"}`, "<stdout>\nb\na\n</stdout>"},
		{"sandbox_execute", `{"command":"./scripts/fields.sh form </dev/null && pwd","skill_name":"pdf"}`, "<stdout>\nfields of form\n/.sandbox/skills/pdf\n</stdout>"},
		{"sandbox_execute", `{"command":"cat /.sandbox/skills/pdf/SKILL.md | head -n 2"}`, `name: pdf`},
		{"sandbox_execute", `{"command":"ls /etc"}`, `exit_code="`},
		{"sandbox_execute", `{"command":"curl example.com"}`, `exit_code="127"`},
		{"sandbox_execute", `{"command":"cat x","skill_name":"secret"}`, `Skill 'secret' not found`},
		{"run_skill_script", `{"skill_name":"other","command":"sh scripts/hello.sh"}`, "<stdout>\nhello\n</stdout>"},
	} {
		if got := talk.Call(t.Context(), test.tool, test.args).Text; !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s, want %s", test.tool, test.args, got, test.want)
		}
	}
}

// TestScriptTools: a conversation offers the scripts of the skills that it has loaded.
func TestScriptTools(t *testing.T) {
	c, _ := toolCatalog(t, runSkills)
	refuse := errors.New("the user said no")
	a := newAgent(t, agent.Config{Catalog: c, Agent: clerkOf(), Executor: echo{}, Allow: func(_ context.Context, b contextprovider.Body, _ string) error {
		if b.ID == "other" {
			return refuse
		}
		return nil
	}, Model: answers(func(q agent.Question) agent.Message {
		names := toolNames(q.Tools)
		switch len(q.Messages) {
		case 1:
			if slices.Contains(names, "pdf__convert") {
				t.Errorf("before loading: tools %q", names)
			}
			return agent.Message{Calls: []agent.Call{
				{ID: "1", Name: "pdf__convert", Arguments: `{"input":"a","output":"b"}`},
				{ID: "2", Name: "get_skill", Arguments: `{"skill_name":"pdf"}`},
				{ID: "3", Name: "get_skill", Arguments: `{"skill_name":"other"}`},
				{ID: "4", Name: "pdf__convert", Arguments: `{"input":"a","output":"b"}`},
				{ID: "5", Name: "other__hello", Arguments: ``},
			}}
		}
		if want := []string{"pdf__convert", "pdf__forbidden", "other__hello"}; !slices.Equal(names[len(names)-3:], want) {
			t.Errorf("after loading: tools %q", names)
		}
		for i, want := range []string{"which is not loaded", `"instructions":"Convert."`, `"name":"other"`, "<stdout>\nscripts/convert.sh", "the user said no"} {
			if got := q.Messages[2+i].Text; !strings.Contains(got, want) {
				t.Errorf("result %d: %s, want %s", i+1, got, want)
			}
		}
		return agent.Message{Text: "done"}
	})})
	got, err := a.NewConversation().Chat(t.Context(), "Convert this PDF to an image")
	if err != nil || got.Text != "done" {
		t.Errorf("%+v, %v", got, err)
	}
	tools, problems, err := a.ScriptTools(t.Context(), "pdf", "other")
	if names := toolNames(tools); err != nil || len(problems) > 0 || len(names) != 3 {
		t.Errorf("tools %q, problems %v, error %v", names, problems, err)
	}
	if _, _, err := a.ScriptTools(t.Context(), "secret"); err == nil {
		t.Error("a skill outside of the scope has tools")
	}
}

func toolNames(tools []agent.Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// answers is a model that is a function.
type answers func(q agent.Question) agent.Message

func (f answers) Answer(_ context.Context, q agent.Question, _ func(string)) (agent.Message, error) {
	return f(q), nil
}
