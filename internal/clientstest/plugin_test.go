package clientstest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// prompts sends a prompt to the plugin as OpenCode does, and prints the texts of its parts then.
const prompts = `const { Repertoire } = await import(process.argv[1])
const hooks = await Repertoire({ directory: process.cwd() })
const parts = [{ id: "prt_1", type: "text", text: "typed" }, { id: "prt_2", type: "text", text: "added by the host", synthetic: true }]
await hooks["chat.message"]({}, { message: { id: "msg_1", sessionID: "ses_1" }, parts })
await hooks["tool.execute.after"]({ tool: "read", sessionID: "ses_1", args: {} }, {})
await hooks.event({ event: { type: "session.compacted" } })
console.log(JSON.stringify(parts.map((part) => part.text)))
`

// TestPlugin: whatever the command of OpenCode's plugin does, the prompt goes on.
func TestPlugin(t *testing.T) {
	testsize.Long(t)
	node, err := exec.LookPath("node")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no Node.js, or no POSIX shell")
	}
	c, _ := client.Find("opencode")
	const before = `["typed","added by the host"]`
	for name, tt := range map[string]struct{ command, want string }{
		"answers":   {`grep -q '"prompt":"typed"' && echo '{"hookSpecificOutput":{"additionalContext":"a skill"}}'`, `["typed","added by the host","a skill"]`},
		"silent":    {"cat", before},
		"nothing":   {"true", before},
		"fails":     {"exit 2", before},
		"not there": {"/nowhere/skills hook opencode", before},
		"other":     {"echo '{\"a\":1}'", before},
		"no JSON":   {"echo '{'", before},
		"hangs":     {"exec sleep 60", before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _, err := edit.Set(edit.Script(c.Hook.Script), nil, edit.Path{"hooks", "chat.message", 0, "command"}, tt.command)
			must.Do(t, err)
			file := filepath.Join(t.TempDir(), "plugin.mjs")
			must.Do(t, os.WriteFile(file, text, 0o600))
			out, err := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", prompts, file).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
				t.Errorf("the plugin leaves %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// TestPluginIsOurs: the plugin is the program of the descriptor around its settings.
func TestPluginIsOurs(t *testing.T) {
	c, _ := client.Find("opencode")
	for _, mark := range []string{edit.ScriptBegin, edit.ScriptEnd} {
		if n := strings.Count(c.Hook.Script, mark); n != 1 {
			t.Errorf("the plugin has %q %d times", mark, n)
		}
	}
}
