package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// client returns a client by its name.
func client(t *testing.T, name string) Client {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("no client %q", name)
	}
	return c
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMoved: entries of a program that has moved are brought up to date, and
// what the user changed in them stays.
func TestMoved(t *testing.T) {
	e := testEnv(t)
	var all []Client
	for _, c := range Clients() {
		all = append(all, c)
	}
	run(t, e, Request{Clients: all, Scope: User})
	hooks := filepath.Join(e.Home, ".claude", "settings.json")
	changed := strings.ReplaceAll(read(t, hooks), `"timeout": 5`, `"timeout": 9`)
	if err := os.WriteFile(hooks, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	e.Program = "/new place/skills"
	p := run(t, e, Request{Clients: all, Scope: User})
	for _, c := range p.Changes {
		if c.Action != Updated {
			t.Errorf("%s %s is %s: %s", c.Client, c.Kind, c.Action, c.Message)
		}
	}
	for name, data := range tree(t, e) {
		if strings.Contains(data, program) {
			t.Errorf("%s still has the old place: %s", name, data)
		}
	}
	if got := read(t, hooks); strings.Count(got, `"timeout": 9`) != 3 || !strings.Contains(got, `"'/new place/skills' hook claude`) {
		t.Errorf("the hooks of claude are %s", got)
	}
	if p := run(t, e, Request{Clients: all, Scope: User}); len(p.Edits) > 0 {
		t.Errorf("a second run changes %s", p.Edits[0].Diff())
	}
	run(t, e, Request{Clients: all, Scope: User, Remove: true})
	for name, data := range tree(t, e) {
		if strings.Contains(data, "skills") {
			t.Errorf("%s is left: %s", name, data)
		}
	}
}

// TestEquivalent: a server that runs the same under another name is enough.
func TestEquivalent(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.cursor/mcp.json", []byte(`{"mcpServers": {"mine": {"command": "/usr/bin/skills", "args": ["mcp"]}}}`))
	p := run(t, e, Request{Clients: []Client{client(t, "cursor")}, MCP: true, Scope: User})
	want := []Change{{Client: "cursor", Kind: MCP, Scope: User, File: filepath.Join(e.Home, ".cursor", "mcp.json"), Action: Unchanged, Message: `it is there under the name "mine"`}}
	if d := cmp.Diff(want, p.Changes); d != "" {
		t.Error(d)
	}
	// One for an agent is not the same.
	e.Flags = []string{"--agent", "reviewer"}
	p = run(t, e, Request{Clients: []Client{client(t, "cursor")}, MCP: true, Scope: User})
	if p.Changes[0].Action != Added {
		t.Errorf("with other flags: %+v", p.Changes)
	}
}

// TestChangedSince: what the user wrote after the setup stays when it is
// removed, and containers that were made for it go.
func TestChangedSince(t *testing.T) {
	e := testEnv(t)
	file := filepath.Join(e.Home, ".gemini", "settings.json")
	write(t, e, "home/.gemini/settings.json", []byte("{\n  \"theme\": \"a\"\n}\n"))
	gemini := []Client{client(t, "gemini")}
	run(t, e, Request{Clients: gemini, Scope: User})
	text := strings.Replace(read(t, file), `"theme": "a"`, `"theme": "b"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, e, Request{Clients: gemini, Scope: User, Remove: true})
	if got, want := read(t, file), "{\n  \"theme\": \"b\"\n}\n"; got != want {
		t.Errorf("left is %q, want %q", got, want)
	}
}

// TestParts: the server and the hook in one file can be removed one after the
// other, and then every byte is as it was.
func TestParts(t *testing.T) {
	e := testEnv(t)
	original := "{ \"theme\":\"a\",\n  \"mcpServers\": { } }"
	file := filepath.Join(e.Home, ".gemini", "settings.json")
	write(t, e, "home/.gemini/settings.json", []byte(original))
	gemini := []Client{client(t, "gemini")}
	run(t, e, Request{Clients: gemini, Scope: User, MCP: true})
	run(t, e, Request{Clients: gemini, Scope: User, Hook: true})
	if got := read(t, file); !strings.Contains(got, "--mcp-server skills") {
		t.Errorf("the hook does not know of the server: %s", got)
	}
	run(t, e, Request{Clients: gemini, Scope: User, MCP: true, Remove: true})
	if got := read(t, file); strings.Contains(got, `"mcp"`) || !strings.Contains(got, "hook gemini") {
		t.Errorf("after the removal of the server: %s", got)
	}
	run(t, e, Request{Clients: gemini, Scope: User, Remove: true})
	if got := read(t, file); got != original {
		t.Errorf("left is %q, want %q", got, original)
	}
}

// TestConcurrent: a file that somebody writes to between reading and writing is
// left alone.
func TestConcurrent(t *testing.T) {
	for _, before := range []string{"", "{}\n"} {
		e := testEnv(t)
		file := filepath.Join(e.Home, ".claude.json")
		if before != "" {
			write(t, e, "home/.claude.json", []byte(before))
		}
		p, err := NewPlan(e, Request{Clients: []Client{client(t, "claude"), client(t, "cursor")}, MCP: true, Scope: User})
		if err != nil {
			t.Fatal(err)
		}
		write(t, e, "home/.claude.json", []byte(`{"x": 1}`))
		if err := p.Apply(e); !errors.Is(err, ErrChanged) {
			t.Errorf("the error is %v", err)
		}
		if got := read(t, file); got != `{"x": 1}` {
			t.Errorf("the file is %q", got)
		}
		if p.Changes[0].Action != Refused || p.Changes[1].Action != Added {
			t.Errorf("the changes are %+v", p.Changes)
		}
		if left, _ := filepath.Glob(filepath.Join(e.Home, "*.tmp")); len(left) > 0 {
			t.Errorf("%s is left", left)
		}
	}
}

// TestFiles: links are written through, permissions kept, folders made for
// their owner only, and what must not be written is not.
func TestFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions, and links need a right")
	}
	e := testEnv(t)
	write(t, e, "home/dotfiles/claude.json", []byte("{}\n"))
	target := filepath.Join(e.Home, "dotfiles", "claude.json")
	link := filepath.Join(e.Home, ".claude.json")
	for _, err := range []error{os.Chmod(target, 0o640), os.Symlink("dotfiles/claude.json", link),
		os.Symlink(filepath.Join(e.Home, "dotfiles"), filepath.Join(e.Home, ".cursor"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, e, "home/.gemini/settings.json", []byte("{}"))
	if err := os.Chmod(filepath.Join(e.Home, ".gemini", "settings.json"), 0o400); err != nil {
		t.Fatal(err)
	}
	clients := []Client{client(t, "claude"), client(t, "cursor"), client(t, "codex"), client(t, "gemini")}
	p := run(t, e, Request{Clients: clients, MCP: true, Scope: User})
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	modes := map[string]fs.FileMode{target: 0o640, filepath.Join(e.Home, "dotfiles", "mcp.json"): 0o600,
		filepath.Join(e.Home, ".codex"): fs.ModeDir | 0o700, filepath.Join(e.Home, ".codex", "config.toml"): 0o600}
	for name, want := range modes {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	last := p.Changes[len(p.Changes)-1]
	if last.Action != Refused || !strings.HasSuffix(last.Message, "is read-only") || last.Snippet == "" {
		t.Errorf("of a read-only file: %+v", last)
	}
	run(t, e, Request{Clients: clients, MCP: true, Scope: User, Remove: true})
	if got := read(t, target); got != "{}\n" {
		t.Errorf("left is %q", got)
	}
}

// TestHuge: Claude Code keeps the history of all projects in one file.
func TestHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 20 MB")
	}
	e := testEnv(t)
	var b bytes.Buffer
	b.WriteString("{\n  \"projects\": {")
	for i := range 20_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    \"/p" + strings.Repeat("x", 1000) + "\": {\"history\": []}")
	}
	b.WriteString("\n  }\n}\n")
	// Names that stand there twice do not matter where nothing is looked for.
	write(t, e, "home/.claude.json", b.Bytes())
	p := run(t, e, Request{Clients: []Client{client(t, "claude")}, MCP: true, Scope: User})
	if p.Changes[0].Action != Added {
		t.Fatalf("%+v", p.Changes)
	}
	if d := p.Edits[0].Diff(); len(d) > 2000 || !strings.Contains(d, `+    "skills": {`) {
		t.Errorf("a diff of %d bytes: %.2000s", len(d), d)
	}
	run(t, e, Request{Clients: []Client{client(t, "claude")}, MCP: true, Scope: User, Remove: true})
	if got := read(t, filepath.Join(e.Home, ".claude.json")); got != b.String() {
		t.Error("not restored")
	}
}

// TestLongLine: of a file on one line the diff shows what differs.
func TestLongLine(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.claude.json", []byte(`{"a":"`+strings.Repeat("x", 5000)+`","mcpServers":{}}`))
	p := run(t, e, Request{Clients: []Client{client(t, "claude")}, MCP: true, Scope: User})
	if d := p.Edits[0].Diff(); len(d) > 1200 || !strings.Contains(d, `"skills":{"type":"stdio"`) {
		t.Errorf("a diff of %d bytes: %s", len(d), d)
	}
}

// TestScopes: both scopes at once are told, since a prompt would be answered
// twice.
func TestScopes(t *testing.T) {
	e := testEnv(t)
	gemini := []Client{client(t, "gemini")}
	run(t, e, Request{Clients: gemini, Hook: true, Scope: User})
	p := run(t, e, Request{Clients: gemini, Hook: true, Scope: Project})
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "twice") {
		t.Errorf("the warnings are %q", p.Warnings)
	}
	e.Project = ""
	p = run(t, e, Request{Clients: gemini, Scope: Project})
	for _, c := range p.Changes {
		if c.Action != Refused || c.Message != "the working folder belongs to no project" {
			t.Errorf("without a project: %+v", c)
		}
	}
	p = run(t, e, Request{Clients: []Client{client(t, "goose")}, Scope: Project})
	if c := p.Changes[0]; c.Action != Refused || !strings.Contains(c.Message, "no such settings in a project") {
		t.Errorf("of goose in a project: %+v", c)
	}
	p = run(t, e, Request{Clients: []Client{client(t, "zed")}, Hook: true, Scope: User})
	if c := p.Changes[0]; c.Action != Refused || c.Message != "Zed has no hook that could be set up" {
		t.Errorf("of the hook of zed: %+v", c)
	}
}

// TestFolders: variables of the environment choose where settings are.
func TestFolders(t *testing.T) {
	e := testEnv(t)
	vars := map[string]string{"CLAUDE_CONFIG_DIR": "/c/claude", "CODEX_HOME": "/c/codex", "XDG_CONFIG_HOME": "/c/xdg", "COPILOT_HOME": "/c/copilot", "OPENCLAW_STATE_DIR": "/c/claw"}
	e.Getenv = func(key string) string { return vars[key] }
	want := map[string]string{
		"claude": "/c/claude/.claude.json", "codex": "/c/codex/config.toml", "opencode": "/c/xdg/opencode/opencode.json", "goose": "/c/xdg/goose/config.yaml",
		"amp": "/c/xdg/amp/settings.json", "zed": "/c/xdg/zed/settings.json", "vscode": "/c/xdg/Code/User/mcp.json", "copilot": "/c/copilot/mcp-config.json",
		"openclaw": "/c/claw/openclaw.json",
	}
	for name, file := range want {
		if got := e.file(client(t, name).mcp.files, User); got != filepath.FromSlash(file) {
			t.Errorf("%s: %s, want %s", name, got, file)
		}
	}
	e.Home, e.Getenv = "", func(string) string { return "" }
	for _, c := range Clients() {
		if got := e.file(c.mcp.files, User); got != "" {
			t.Errorf("%s without a home: %s", c.Name, got)
		}
	}
}

// TestQuote has a shell read back what is written for it.
func TestQuote(t *testing.T) {
	words := []string{"/opt/my tools/skills", "it's", `a"b`, "$HOME", "`id`", `back\slash`, "plain", "", "*", "a;b", "ü"}
	if sh, err := exec.LookPath("sh"); err == nil {
		out, err := exec.Command(sh, "-c", posix.line(append([]string{"printf", `%s\n`}, words...))).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, words) {
			t.Errorf("sh reads %q, %v", got, err)
		}
	}
	if got := wordsOf(posix.line(words), false); !slices.Equal(got, words) {
		t.Errorf("read back: %q", got)
	}
	windows := []string{`C:\Program Files\skills\skills.exe`, "hook", "claude"}
	for s, want := range map[shell]string{
		gitBash:    `"C:/Program Files/skills/skills.exe" hook claude`,
		cmdExe:     `"C:\Program Files\skills\skills.exe" hook claude`,
		powerShell: `& 'C:\Program Files\skills\skills.exe' hook claude`,
	} {
		if got := s.line(windows); got != want {
			t.Errorf("%d: %s, want %s", s, got, want)
		}
		if (&Env{}).hookWords(want, "claude") == nil {
			t.Errorf("%s is not recognised", want)
		}
		if (&Env{}).hookWords(s.line([]string{`C:\bin\skills.exe`, "hook", "claude", "--root", `D:\a b`}), "claude") == nil {
			t.Errorf("%d: a plain path is not recognised", s)
		}
	}
	for _, other := range []string{"", "skills", "echo skills hook claude", "/bin/other hook claude", "skills hook codex", "skills search hook"} {
		if words := (&Env{}).hookWords(other, "claude"); words != nil {
			t.Errorf("%q is taken for ours: %q", other, words)
		}
	}
}
