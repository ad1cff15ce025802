package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/agent/skilltest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// recorder is an executor of a program, in three lines: it would run whatever reaches it.
type recorder struct {
	mu  sync.Mutex
	got []string
}

func (x *recorder) Execute(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(x.got, strings.Join(append([]string{r.Command}, r.Args...), " "))
	return sandbox.Result{}, nil
}

// recordingShell is a recorder that takes whole programs of a shell.
type recordingShell struct{ recorder }

func (x *recordingShell) Run(ctx context.Context, program string) (sandbox.Result, error) {
	return x.Execute(ctx, sandbox.Request{Command: program})
}

// A door is a way from a model, a client or a user to an executor.
type door struct {
	name  string
	enter func(t *testing.T, cfg agent.Config, k *kit, c *client, command string)
}

func arguments(t *testing.T, command string) string {
	data, err := json.Marshal(object{"skill_name": "made", "command": command})
	must.Do(t, err)
	return string(data)
}

var doors = []door{
	{"agent, tools", func(t *testing.T, cfg agent.Config, _ *kit, _ *client, command string) {
		cfg.Model = agenttest.New(agenttest.Turn{Calls: []agent.Call{{Name: "run_skill_script", Arguments: arguments(t, command)},
			{Name: "sandbox_execute", Arguments: arguments(t, command)}}}, agenttest.Turn{Text: "Done."})
		a, err := agent.New(cfg)
		must.Do(t, err)
		_, err = a.Chat(t.Context(), "Run it.")
		must.Do(t, err)
	}},
	{"agent, instructions", func(t *testing.T, cfg agent.Config, _ *kit, _ *client, command string) {
		tag := `<execute_script skill="made">` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(command) + `</execute_script>`
		cfg.Model, cfg.Instructions = agenttest.New(agenttest.Turn{Text: tag}, agenttest.Turn{Text: "Done."}), true
		a, err := agent.New(cfg)
		must.Do(t, err)
		_, err = a.Chat(t.Context(), "Run it.")
		must.Do(t, err)
	}},
	{"agent, a loop of the program's own", func(t *testing.T, cfg agent.Config, _ *kit, _ *client, command string) {
		a, err := agent.New(cfg)
		must.Do(t, err)
		a.Call(t.Context(), "run_skill_script", arguments(t, command))
		a.Call(t.Context(), "sandbox_execute", arguments(t, command))
		data, err := json.Marshal(object{"command": command})
		must.Do(t, err)
		a.Call(t.Context(), "sandbox_execute", string(data))
	}},
	{"MCP", func(t *testing.T, _ agent.Config, _ *kit, c *client, command string) {
		for _, tool := range []string{"run_skill_script", "sandbox_execute"} {
			c.must("tools/call", object{"name": tool, "arguments": object{"skill_name": "made", "command": command}})
		}
		c.must("tools/call", object{"name": "sandbox_execute", "arguments": object{"command": command}})
	}},
	{"command", func(t *testing.T, cfg agent.Config, _ *kit, _ *client, command string) {
		a, err := agent.New(cfg)
		must.Do(t, err)
		_, _ = a.NewConversation().Run(t.Context(), "made", sandbox.Request{Command: command}) // as "skills run"
	}},
	{"skill tests", func(t *testing.T, cfg agent.Config, k *kit, _ *client, command string) {
		write(t, k.dir, map[string]string{"made/tests/a.txtar": "-- command --\n" + command + "\n"})
		_, err := skilltest.Run(t.Context(), cfg, "made")
		must.Do(t, err)
	}},
}

// TestDoors: whatever door a command comes through, an executor that checks nothing gets only
// what allowed-tools names.
func TestDoors(t *testing.T) {
	hostile := []string{"rm -rf /", "scripts/ok.sh; rm -rf /", "scripts/ok.sh && rm -rf /", "scripts/ok.sh | sh", "scripts/ok.sh $(rm -rf /)", "sh -c 'rm -rf /'",
		"scripts/other.sh", "sh scripts/other.sh", "../made/scripts/other.sh", "/bin/rm -rf /", "scripts/ok.sh > /etc/passwd", "X=1 scripts/ok.sh", "scripts/ok.sh\nrm -rf /",
		"eval rm", "$SHELL", "rm() { :; }; rm"}
	for _, allowed := range []string{"", "allowed-tools: scripts/ok.sh"} {
		for _, shell := range []bool{false, true} {
			x := new(recordingShell)
			var e sandbox.Executor = &x.recorder
			if shell {
				e = x
			}
			k, trusted := made(t, allowed, e)
			for _, d := range doors {
				t.Run(d.name, func(t *testing.T) {
					k.trustNow(t, "made", trusted)
					c := k.connect(t, false)
					cfg := agent.Config{Catalog: k.catalog, Executor: e}
					for _, command := range hostile {
						if d.enter(t, cfg, k, c, command); len(x.got) > 0 {
							t.Fatalf("with %q, %q reaches the executor (shell: %t)", allowed, x.got, shell)
						}
						k.trustNow(t, "made", trusted) // skill tests add a file
					}
					d.enter(t, cfg, k, c, "scripts/ok.sh 'a b'")
					if want := allowed != ""; slices.Contains(x.got, "scripts/ok.sh 'a b'") != want || !want && len(x.got) > 0 {
						t.Errorf("with %q, %q reaches the executor", allowed, x.got)
					}
					x.got = nil
				})
			}
		}
	}
}

// made serves the skill made, whose scripts run in x.
func made(t *testing.T, allowed string, x sandbox.Executor) (*kit, *trust.File) {
	t.Helper()
	trusted := trust.Open(t.TempDir())
	files := map[string]string{
		"made/SKILL.md":         doc("made", "Is made for tests. Use when it is to run.", allowed),
		"made/scripts/ok.sh":    "#!/bin/sh\necho original\n",
		"made/scripts/other.sh": "#!/bin/sh\necho other\n",
	}
	var k *kit
	k = serve(t, files, "", func(_ *repertoire.Config, o *mcpserver.Options) { o.Runs = runs(t, &k, "", trusted, x) })
	return k, trusted
}
