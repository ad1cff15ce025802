package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// machine is a computer with an empty home, and with variables.
func machine(t *testing.T, vars map[string]string) *client.Machine {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", "") // no client is there
	return &client.Machine{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"),
		Getenv: func(key string) string { return vars[key] }}
}

// TestDescriptions: each description is complete.
func TestDescriptions(t *testing.T) {
	m := machine(t, nil)
	seen := make(map[string]bool)
	for _, c := range client.All() {
		if c.Name == "" || c.Title == "" || seen[c.Name] || c.Name == client.Generic || c.Name == client.SessionStart {
			t.Errorf("a client is called %q, %q", c.Name, c.Title)
		}
		seen[c.Name] = true
		if c.Home == nil || len(c.Bins) == 0 || m.Installed(c) {
			t.Errorf("%s: it is not known where it is installed, or it is here", c.Name)
		}
		if m.File(c.MCP.Files, client.User) == "" || len(c.MCP.Key) == 0 || len(c.MCP.Entry("skills", []string{"/bin/skills", "mcp"})) == 0 {
			t.Errorf("%s: how it names servers is not known", c.Name)
		}
		if c.Hook != nil {
			checkHook(t, m, c)
		}
		if l := c.Listing; l != nil && (l.Chars > 0 && l.Whole || (l.Chars > 0 || l.Whole) != (l.Overhead > 0) || len(m.SkillDirs(c, client.User)) == 0) {
			t.Errorf("%s: of its listing something is not known: %+v", c.Name, l)
		}
	}
}

var mark = regexp.MustCompile(`\$[A-Z]+`)

func checkHook(t *testing.T, m *client.Machine, c client.Client) {
	h := c.Hook
	if m.File(h.Files, client.User) == "" || len(h.Lines) == 0 || len(h.SetUp()) == 0 {
		t.Errorf("%s: the description of its hook is not complete", c.Name)
	}
	for _, system := range []string{"linux", "windows"} {
		handler := h.Handler(system, "LINE")
		if !slices.ContainsFunc(handler, func(m client.Member) bool { return m.Value == "LINE" && slices.Contains(h.Lines, m.Key) }) {
			t.Errorf("%s: the command of %v is in none of %q", c.Name, handler, h.Lines)
		}
	}
	if h.Arg != c.Name && h.Arg != client.SessionStart {
		t.Errorf("%s: its hook is called for %s", c.Name, h.Arg)
	}
	if _, ok := h.Event(client.Prompt); ok != (h.Arg == c.Name) {
		t.Errorf("%s: has an event for a prompt: %t, and a hook of its own: %t", c.Name, ok, !ok)
	}
	if other, ok := client.Find(c.MCP.Instead); c.MCP.Instead != "" && (!ok || len(other.MCP.Files.Project) == 0) {
		t.Errorf("%s: it reads the file of %q in a project", c.Name, c.MCP.Instead)
	}
	if _, ok := client.Find(h.RunsHooksOf); h.RunsHooksOf != "" && (!ok || h.RunsVar == "") {
		t.Errorf("%s: runs the hooks of %q, says so by %q", c.Name, h.RunsHooksOf, h.RunsVar)
	}
	for _, ev := range h.Events {
		takes := ev.Kind == client.Prompt || ev.Kind == client.Start
		if ev.Name == "" || ev.Kind == client.Other || takes != (ev.Answer != "") {
			t.Errorf("%s: event %+v", c.Name, ev)
		}
		if answer := mark.ReplaceAllString(ev.Answer, `""`); takes && (answer == ev.Answer || !json.Valid([]byte(answer))) {
			t.Errorf("%s: the answer to %s is %s", c.Name, ev.Name, ev.Answer)
		}
	}
}

// TestSkillFolders: the order decides which of two skills of a name is offered.
func TestSkillFolders(t *testing.T) {
	want := []string{".agents", ".claude", ".codex", ".cursor", ".gemini", ".github", ".goose", ".opencode", ".opencode/skill", ".qwen", ".windsurf", ".adal", ".agent", ".aider-desk"}
	got := client.SkillFolders()
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(got))); len(sorted) != len(got) || len(got) < 60 {
		t.Errorf("%d folders, %d of them different", len(got), len(sorted))
	}
	for _, c := range client.Others() {
		if c.Title == "" || len(c.Folders)+len(c.Skills) == 0 {
			t.Errorf("%+v: its title or its folders are not known", c)
		}
	}
}

// TestUserFolders: the labels are the same wherever variables lead, unless they lead
// elsewhere than to the usual folder of a client.
func TestUserFolders(t *testing.T) {
	m := machine(t, map[string]string{"XDG_CONFIG_HOME": "/x/conf", "CLAUDE_CONFIG_DIR": "/c/claude", "VIBE_HOME": "/v"})
	got := make(map[string]string)
	for _, f := range m.UserFolders() {
		if got[f.Label] != "" {
			t.Errorf("%s is there twice", f.Label)
		}
		got[f.Label] = f.Path
	}
	for label, want := range map[string]string{
		".copilot":                 filepath.Join(m.Home, ".copilot", "skills"),
		".codeium/windsurf":        filepath.Join(m.Home, ".codeium", "windsurf", "skills"),
		".openclaw":                filepath.Join(m.Home, ".openclaw", "skills"),
		".pi/agent":                filepath.Join(m.Home, ".pi", "agent", "skills"),
		".config/goose":            filepath.FromSlash("/x/conf/goose/skills"),
		".config/amp":              filepath.FromSlash("/x/conf/amp/skills"),
		".config/agents":           filepath.FromSlash("/x/conf/agents/skills"),
		"/c/claude":                filepath.FromSlash("/c/claude/skills"),
		"/v":                       filepath.FromSlash("/v/skills"),
		"/etc/codex":               filepath.FromSlash("/etc/codex/skills"),
		"/etc/claude-code/.claude": filepath.FromSlash("/etc/claude-code/.claude/skills"),
		".claude":                  "", // discovery looks there by itself, as in a project
		".snowflake/cortex":        filepath.Join(m.Home, ".snowflake", "cortex", "skills"),
		".gemini/antigravity":      filepath.Join(m.Home, ".gemini", "antigravity", "skills"),
	} {
		if got[label] != want {
			t.Errorf("%s is %q, want %q", label, got[label], want)
		}
	}
}

func TestHookArgs(t *testing.T) {
	want := []string{"claude", "codex", "gemini", "qwen", "cursor", "copilot", "opencode", "sessionstart"}
	if diff := cmp.Diff(want, client.HookArgs()); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// TestFile: of several files the first that exists is meant, else the first.
func TestFile(t *testing.T) {
	m := machine(t, nil)
	c, _ := client.Find("opencode")
	dir := filepath.Join(m.Home, ".config", "opencode")
	if got := m.File(c.MCP.Files, client.User); got != filepath.Join(dir, "opencode.json") {
		t.Errorf("without a file: %s", got)
	}
	second := filepath.Join(dir, "opencode.jsonc")
	for _, err := range []error{os.MkdirAll(dir, 0o700), os.WriteFile(second, nil, 0o600)} {
		must.Do(t, err)
	}
	if got := m.File(c.MCP.Files, client.User); got != second {
		t.Errorf("with the second file: %s", got)
	}
	if !m.Installed(c) {
		t.Error("its folder is there, and it does not count as installed")
	}
	m.Project = ""
	if got := m.File(c.MCP.Files, client.Project); got != "" {
		t.Errorf("without a project: %s", got)
	}
}

// TestSkillDirs: variables of the environment move the folder of the user only.
func TestSkillDirs(t *testing.T) {
	m := machine(t, map[string]string{"CLAUDE_CONFIG_DIR": "/c/claude"})
	c, _ := client.Find("claude")
	for scope, want := range map[client.Scope]string{client.User: filepath.FromSlash("/etc/claude-code/.claude/skills /c/claude/skills"), client.Project: filepath.Join(m.Project, ".claude", "skills")} {
		if got := strings.Join(m.SkillDirs(c, scope), " "); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}

func TestProjectDir(t *testing.T) {
	vars := map[string]string{"CLAUDE_PROJECT_DIR": "/p"}
	if got := client.ProjectDir(func(key string) string { return vars[key] }); got != "/p" {
		t.Errorf("with the variable: %q", got)
	}
	if got := client.ProjectDir(func(string) string { return "" }); got != "" {
		t.Errorf("without: %q", got)
	}
}

// TestSystems: the folders of some clients depend on the operating system.
func TestSystems(t *testing.T) {
	for system, want := range map[string]string{"linux": ".config/Code/User", "darwin": "Library/Application Support/Code/User", "windows": "AppData/Roaming/Code/User"} {
		m := machine(t, nil)
		m.OS = system
		c, _ := client.Find("vscode")
		if got := c.Home(m); got != filepath.Join(m.Home, filepath.FromSlash(want)) {
			t.Errorf("%s: %s", system, got)
		}
	}
}

func TestGeneric(t *testing.T) {
	c := client.NewGeneric("/x/settings.json", "")
	m := machine(t, nil)
	if c.Name != client.Generic || c.Title != "settings.json" || m.File(c.MCP.Files, client.Project) != "/x/settings.json" || c.MCP.Key[0] != "mcpServers" {
		t.Errorf("%+v", c)
	}
	if names := client.Names(); names[len(names)-1] != client.Generic || len(names) != len(client.All())+1 {
		t.Errorf("names %q", names)
	}
}
