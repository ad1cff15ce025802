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
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// named returns a client by its name.
func named(t *testing.T, name string) client.Client {
	t.Helper()
	c, ok := client.Find(name)
	if !ok {
		t.Fatalf("no client %q", name)
	}
	return c
}

// TestMoved: entries of a program that has moved are brought up to date, and
// what the user changed in them stays.
func TestMoved(t *testing.T) {
	e := testEnv(t)
	all := client.All()
	run(t, e, Request{Clients: all, Scope: client.User})
	hooks := filepath.Join(e.Home, ".claude", "settings.json")
	changed := strings.ReplaceAll(must.Read(t, hooks), `"timeout": 5`, `"timeout": 9`)
	must.Do(t, os.WriteFile(hooks, []byte(changed), 0o600))
	e.Program = "/new place/skills"
	p := run(t, e, Request{Clients: all, Scope: client.User})
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
	if got := must.Read(t, hooks); strings.Count(got, `"timeout": 9`) != 3 || !strings.Contains(got, `"'/new place/skills' hook claude`) {
		t.Errorf("the hooks of claude are %s", got)
	}
	if p := run(t, e, Request{Clients: all, Scope: client.User}); len(p.Edits) > 0 {
		t.Errorf("a second run changes %s", p.Edits[0].Diff())
	}
	run(t, e, Request{Clients: all, Scope: client.User, Remove: true})
	for name, data := range tree(t, e) {
		if strings.Contains(data, "skills") {
			t.Errorf("%s is left: %s", name, data)
		}
	}
}

// TestEquivalent: a server that runs the same under another name is enough.
func TestEquivalent(t *testing.T) {
	e := testEnv(t)
	write(t, e, "bin/skills", nil)
	old := filepath.Join(filepath.Dir(e.Home), "bin", "skills")
	write(t, e, "home/.cursor/mcp.json", []byte(`{"mcpServers": {"mine": {"command": `+strconv.Quote(old)+`, "args": ["mcp"]}}}`))
	p := run(t, e, Request{Clients: []client.Client{named(t, "cursor")}, MCP: true, Scope: client.User})
	want := []Change{{Client: "cursor", Kind: MCP, Scope: client.User, File: filepath.Join(e.Home, ".cursor", "mcp.json"), Action: Unchanged, Message: `it is there under the name "mine"`}}
	if d := cmp.Diff(want, p.Changes); d != "" {
		t.Error(d)
	}
	run(t, e, Request{Clients: []client.Client{named(t, "cursor")}, Hook: true, Scope: client.User})
	if got := must.Read(t, filepath.Join(e.Home, ".cursor", "hooks.json")); !strings.Contains(got, "--mcp-server mine") {
		t.Errorf("the hook does not know the name of the server: %s", got)
	}
	// A program that is gone is replaced, under the name that it has.
	must.Do(t, os.Remove(old))
	p = run(t, e, Request{Clients: []client.Client{named(t, "cursor")}, MCP: true, Scope: client.User})
	want[0].Action = Updated
	if d := cmp.Diff(want, p.Changes); d != "" {
		t.Error(d)
	}
	if got := must.Read(t, filepath.Join(e.Home, ".cursor", "mcp.json")); !strings.Contains(got, `{"mine": {"command": "`+program+`", "args": ["mcp"]}}`) {
		t.Errorf("the server is %s", got)
	}
	// One for an agent is not the same.
	e.Flags = []string{"--agent", "reviewer"}
	p = run(t, e, Request{Clients: []client.Client{named(t, "cursor")}, MCP: true, Scope: client.User})
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
	gemini := []client.Client{named(t, "gemini")}
	run(t, e, Request{Clients: gemini, Scope: client.User})
	text := strings.Replace(must.Read(t, file), `"theme": "a"`, `"theme": "b"`, 1)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	run(t, e, Request{Clients: gemini, Scope: client.User, Remove: true})
	if got, want := must.Read(t, file), "{\n  \"theme\": \"b\"\n}\n"; got != want {
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
	gemini := []client.Client{named(t, "gemini")}
	run(t, e, Request{Clients: gemini, Scope: client.User, MCP: true})
	run(t, e, Request{Clients: gemini, Scope: client.User, Hook: true})
	if got := must.Read(t, file); !strings.Contains(got, "--mcp-server skills") {
		t.Errorf("the hook does not know of the server: %s", got)
	}
	run(t, e, Request{Clients: gemini, Scope: client.User, MCP: true, Remove: true})
	if got := must.Read(t, file); strings.Contains(got, `"mcp"`) || !strings.Contains(got, "hook gemini") || strings.Contains(got, "--mcp-server") || strings.Contains(got, "read_skill") {
		t.Errorf("after the removal of the server: %s", got)
	}
	run(t, e, Request{Clients: gemini, Scope: client.User, Remove: true})
	if got := must.Read(t, file); got != original {
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
		p, err := NewPlan(e, Request{Clients: []client.Client{named(t, "claude"), named(t, "cursor")}, MCP: true, Scope: client.User})
		must.Do(t, err)
		write(t, e, "home/.claude.json", []byte(`{"x": 1}`))
		if err := p.Apply(e); !errors.Is(err, errChanged) {
			t.Errorf("the error is %v", err)
		}
		if got := must.Read(t, file); got != `{"x": 1}` {
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
		must.Do(t, err)
	}
	write(t, e, "home/.gemini/settings.json", []byte("{}"))
	must.Do(t, os.Chmod(filepath.Join(e.Home, ".gemini", "settings.json"), 0o400))
	clients := []client.Client{named(t, "claude"), named(t, "cursor"), named(t, "codex"), named(t, "gemini")}
	p := run(t, e, Request{Clients: clients, MCP: true, Scope: client.User})
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
	run(t, e, Request{Clients: clients, MCP: true, Scope: client.User, Remove: true})
	if got := must.Read(t, target); got != "{}\n" {
		t.Errorf("left is %q", got)
	}
}

// TestHuge: Claude Code keeps the history of all projects in one file.
func TestHuge(t *testing.T) {
	testsize.Long(t)
	e := testEnv(t)
	var b bytes.Buffer
	b.WriteString("{\n  \"projects\": {")
	for i := range testsize.Rounds(4000, 20_000) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    \"/p" + strings.Repeat("x", 1000) + "\": {\"history\": []}")
	}
	b.WriteString("\n  }\n}\n")
	// Names that stand there twice do not matter where nothing is looked for.
	write(t, e, "home/.claude.json", b.Bytes())
	p := run(t, e, Request{Clients: []client.Client{named(t, "claude")}, MCP: true, Scope: client.User})
	if p.Changes[0].Action != Added {
		t.Fatalf("%+v", p.Changes)
	}
	if d := p.Edits[0].Diff(); len(d) > 2000 || !strings.Contains(d, `+    "skills": {`) {
		t.Errorf("a diff of %d bytes: %.2000s", len(d), d)
	}
	run(t, e, Request{Clients: []client.Client{named(t, "claude")}, MCP: true, Scope: client.User, Remove: true})
	if got := must.Read(t, filepath.Join(e.Home, ".claude.json")); got != b.String() {
		t.Error("not restored")
	}
}

// TestLongLine: of a file on one line the diff shows what differs.
func TestLongLine(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.claude.json", []byte(`{"a":"`+strings.Repeat("x", 5000)+`","mcpServers":{}}`))
	p := run(t, e, Request{Clients: []client.Client{named(t, "claude")}, MCP: true, Scope: client.User})
	if d := p.Edits[0].Diff(); len(d) > 1200 || !strings.Contains(d, `"skills":{"type":"stdio"`) {
		t.Errorf("a diff of %d bytes: %s", len(d), d)
	}
}

// TestScopes: a setup in both scopes is reported, since a prompt would be answered
// twice.
func TestScopes(t *testing.T) {
	e := testEnv(t)
	gemini := []client.Client{named(t, "gemini")}
	run(t, e, Request{Clients: gemini, Hook: true, Scope: client.User})
	p := run(t, e, Request{Clients: gemini, Hook: true, Scope: client.Project})
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "twice") {
		t.Errorf("the warnings are %q", p.Warnings)
	}
	e.Project = ""
	p = run(t, e, Request{Clients: gemini, Scope: client.Project})
	for _, c := range p.Changes {
		if c.Action != Refused || c.Message != "the working folder belongs to no project" {
			t.Errorf("without a project: %+v", c)
		}
	}
	p = run(t, e, Request{Clients: []client.Client{named(t, "goose")}, Scope: client.Project})
	if c := p.Changes[0]; c.Action != Refused || !strings.Contains(c.Message, "no such settings in a project") {
		t.Errorf("of goose in a project: %+v", c)
	}
	p = run(t, e, Request{Clients: []client.Client{named(t, "zed")}, Hook: true, Scope: client.User})
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
		if got := e.File(named(t, name).MCP.Files, client.User); got != filepath.FromSlash(file) {
			t.Errorf("%s: %s, want %s", name, got, file)
		}
	}
	e.Home, e.Getenv = "", func(string) string { return "" }
	for _, c := range client.All() {
		if got := e.File(c.MCP.Files, client.User); got != "" {
			t.Errorf("%s without a home: %s", c.Name, got)
		}
	}
}

// TestQuote has a shell read back what is written for it.
func TestQuote(t *testing.T) {
	words := []string{"/opt/my tools/skills", "it's", `a"b`, "$HOME", "`id`", `back\slash`, "plain", "", "*", "a;b", "ü"}
	if sh, err := exec.LookPath("sh"); err == nil {
		out, err := exec.Command(sh, "-c", commandLine(client.Posix, append([]string{"printf", `%s\n`}, words...))).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, words) {
			t.Errorf("sh reads %q, %v", got, err)
		}
	}
	if got := wordsOf(commandLine(client.Posix, words), false); !slices.Equal(got, words) {
		t.Errorf("read back: %q", got)
	}
	windows := []string{`C:\Program Files\skills\skills.exe`, "hook", "claude"}
	for s, want := range map[client.Shell]string{
		client.GitBash:    `"C:/Program Files/skills/skills.exe" hook claude`,
		client.CmdExe:     `"C:\Program Files\skills\skills.exe" hook claude`,
		client.PowerShell: `& 'C:\Program Files\skills\skills.exe' hook claude`,
	} {
		if got := commandLine(s, windows); got != want {
			t.Errorf("%d: %s, want %s", s, got, want)
		}
		if (&Env{}).hookWords(want, "claude") == nil {
			t.Errorf("%s is not recognised", want)
		}
		if (&Env{}).hookWords(commandLine(s, []string{`C:\bin\skills.exe`, "hook", "claude", "--root", `D:\a b`}), "claude") == nil {
			t.Errorf("%d: a plain path is not recognised", s)
		}
	}
	for _, other := range []string{"", "skills", "echo skills hook claude", "/bin/other hook claude", "skills hook codex", "skills search hook"} {
		if words := (&Env{}).hookWords(other, "claude"); words != nil {
			t.Errorf("%q is taken for ours: %q", other, words)
		}
	}
}

// TestListing: overrides are set where the user has none, and only those that
// were set are taken back.
func TestListing(t *testing.T) {
	e := testEnv(t)
	file := filepath.Join(e.Home, ".claude", "settings.json")
	original := "{\n  \"skillOverrides\": {\n    \"mine\": \"off\"\n  }\n}\n"
	write(t, e, "home/.claude/settings.json", []byte(original))
	list := func(names ...string) *Plan {
		t.Helper()
		skills := make(map[string]bool)
		for _, name := range names {
			shown, off := strings.CutPrefix(name, "-")
			skills[shown] = off
		}
		p, err := NewListingPlan(e, named(t, "claude"), client.User, skills, false)
		must.Do(t, err)
		must.Do(t, p.Apply(e))
		return p
	}
	if p := list(); p.Changes[0].Action != Absent {
		t.Errorf("nothing to take back: %+v", p.Changes)
	}
	list("cat", "mine", "dog", "cat")
	want := "{\n  \"skillOverrides\": {\n    \"mine\": \"off\",\n    \"cat\": \"name-only\",\n    \"dog\": \"name-only\"\n  }\n}\n"
	if got := must.Read(t, file); got != want {
		t.Errorf("set: %s", got)
	}
	if p := list("cat", "dog"); p.Changes[0].Action != Unchanged || len(p.Edits) > 0 {
		t.Errorf("a second time: %+v", p.Changes)
	}
	// It is kept in step: what is disabled is not listed, what is new is, what is gone has no entry.
	list("-cat", "-mine", "bird")
	kept := "{\n  \"skillOverrides\": {\n    \"mine\": \"off\",\n    \"cat\": \"off\",\n    \"bird\": \"name-only\"\n  }\n}\n"
	if got := must.Read(t, file); got != kept {
		t.Errorf("kept in step: %s", got)
	}
	if set, err := ListingsSet(e, named(t, "claude")); err != nil || len(set) != 1 || set[0] != client.User {
		t.Errorf("set in %v, %v", set, err)
	}
	if p := list("cat", "dog"); p.Changes[0].Action != Updated {
		t.Errorf("back: %+v", p.Changes)
	}
	if got := must.Read(t, file); got != want {
		t.Errorf("back: %s", got)
	}
	// One that the user changes stays.
	must.Do(t, os.WriteFile(file, []byte(strings.Replace(want, `"dog": "name-only"`, `"dog": "off"`, 1)), 0o600))
	if p := list(); p.Changes[0].Action != Removed {
		t.Errorf("taken back: %+v", p.Changes)
	}
	if got := must.Read(t, file); !strings.Contains(got, `"dog": "off"`) || strings.Contains(got, "cat") {
		t.Errorf("left: %s", got)
	}

	// What the user has removed stays away, unless all is set anew; with all of it gone nothing is kept in step.
	list("cat", "bird")
	keep := func(names ...string) {
		t.Helper()
		skills := make(map[string]bool)
		for _, name := range names {
			skills[name] = false
		}
		p, err := NewListingPlan(e, named(t, "claude"), client.User, skills, true)
		must.Do(t, err)
		must.Do(t, p.Apply(e))
	}
	must.Do(t, os.WriteFile(file, []byte(strings.Replace(must.Read(t, file), ",\n    \"bird\": \"name-only\"", "", 1)), 0o600))
	for _, name := range []string{"ant", "bee"} { // it is remembered
		keep("cat", "bird", name)
		if got := must.Read(t, file); strings.Contains(got, "bird") || !strings.Contains(got, name) {
			t.Errorf("kept with %s: %s", name, got)
		}
	}
	list("cat", "bird")
	if got := must.Read(t, file); !strings.Contains(got, "bird") {
		t.Errorf("set anew: %s", got)
	}
	must.Do(t, os.WriteFile(file, []byte("{}"), 0o600))
	if set, err := ListingsSet(e, named(t, "claude")); err != nil || len(set) != 0 {
		t.Errorf("all is removed, and set in %v, %v", set, err)
	}

	// Without an override of the user the file is as it was.
	e = testEnv(t)
	file = filepath.Join(e.Home, ".claude", "settings.json")
	write(t, e, "home/.claude/settings.json", []byte("{ }"))
	run(t, e, Request{Clients: []client.Client{named(t, "claude")}, Hook: true, Scope: client.User})
	list("cat", "dog")
	run(t, e, Request{Clients: []client.Client{named(t, "claude")}, Scope: client.User, Remove: true})
	if got := must.Read(t, file); got != "{ }" {
		t.Errorf("left is %q", got)
	}
}

func TestBudgets(t *testing.T) {
	e := testEnv(t)
	vars := map[string]string{}
	e.Getenv = func(key string) string { return vars[key] }
	skills := make([]Listed, 119)
	for i := range skills {
		skills[i] = Listed{Name: "skill-" + strings.Repeat("n", 4), Description: strings.Repeat("ü", 130)}
	}
	skills[0].Name, skills[0].Description = "long", strings.Repeat("x", 2000)
	one := 5 + 10 + 130
	budgets := func(name string) []budget { return budgetsOf(e, named(t, name), skills) }
	check := func(name string, got []budget, want ...budget) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	check("claude", budgets("claude"), budget{119, 118*one + 5 + 4 + 1536, 118*(5+10) + 5 + 4, 8000, "characters"})
	check("codex", budgets("codex"), budget{119, 118*(one+37) + 42 + 4 + 2000, 0, 21_760, "characters"})
	check("openclaw", budgets("openclaw"), budget{119, 118*(one+92) + 97 + 4 + 2000, 0, 30_000, "characters"}, budget{119, 119, 0, 150, "skills"})
	check("cursor", budgets("cursor"))
	if b := budgets("claude")[0]; !b.over() || (budget{Needs: 8000, Lists: 8000}).over() {
		t.Errorf("%+v", b)
	}
	write(t, e, "home/.claude/settings.json", []byte(`{"skillListingBudgetFraction": 0.02, "skillListingMaxDescChars": 10, "skillOverrides": {"long": "off"}}`))
	check("claude with settings", budgets("claude"), budget{119, 118 * (5 + 10 + 10), 118 * (5 + 10), 16_000, "characters"})
	write(t, e, "project/.claude/settings.local.json", []byte(`{"skillOverrides": {"long": "name-only"}}`))
	vars["SLASH_COMMAND_TOOL_CHAR_BUDGET"] = "500"
	check("claude with the environment", budgets("claude"), budget{119, 118*(5+10+10) + 5 + 4, 118*(5+10) + 5 + 4, 500, "characters"})
}

// TestTrust: Codex keeps approvals by the place of the handler.
func TestTrust(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.codex/hooks.json", []byte(`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "log"}]}]}}`))
	run(t, e, Request{Clients: []client.Client{named(t, "codex")}, Hook: true, Scope: client.User})
	found := func() trust {
		for _, st := range Scan(e) {
			for _, r := range st.Registrations {
				return trustOf(e, st, r)
			}
		}
		t.Fatal("no hook found")
		return 0
	}
	if got := found(); got != pending {
		t.Errorf("without a config: %v", got)
	}
	state := func(place, values string) string {
		return "[hooks.state.\"" + filepath.ToSlash(filepath.Join(e.Home, ".codex", "hooks.json")) + ":user_prompt_submit:" + place + "\"]\n" + values + "\n"
	}
	for _, c := range []struct {
		config string
		want   trust
	}{
		{state("0:0", `trusted_hash = "sha256:1"`), pending}, // the user's own
		{state("1:0", `trusted_hash = "sha256:1"`), given},
		{state("1:0", "enabled = false\ntrusted_hash = \"sha256:1\""), disabled},
		{state("1:0", "enabled = true"), pending},
		{"broken = ", pending},
	} {
		write(t, e, "home/.codex/config.toml", []byte(c.config))
		if got := found(); got != c.want {
			t.Errorf("%s: %v, want %v", c.config, got, c.want)
		}
	}
}

// TestScan: what is there is found, also at places that setup does not write.
func TestScan(t *testing.T) {
	e := testEnv(t)
	self, err := os.Executable()
	must.Do(t, err)
	self = filepath.ToSlash(self)
	e.Program = self
	write(t, e, "project/.claude/settings.local.json", []byte(`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "/gone/skills hook claude"}]}]}}`))
	write(t, e, "home/.cursor/mcp.json", []byte(`{"mcpServers": {"a": {"command": "`+self+`", "args": ["mcp"]}, "b": {"command": "`+self+`", "args": ["mcp"]}, "c": {"command": "x"}}}`))
	write(t, e, "home/.gemini/settings.json", []byte(`{`))
	var got []string
	statuses := Scan(e)
	for _, st := range statuses {
		for _, r := range st.Registrations {
			got = append(got, strings.TrimRight(strings.Join([]string{st.Client.Name, r.Kind, string(r.Scope), r.Name, map[bool]string{true: "gone"}[r.Gone]}, " "), " "))
		}
		for _, p := range st.Problems {
			got = append(got, strings.ReplaceAll(p.Message, filepath.Dir(e.Home), "$W"))
		}
	}
	want := []string{"claude hook project  gone", filepath.FromSlash("$W/home/.gemini/settings.json") + ":1:2: parsing value: unexpected EOF", "cursor mcp user a", "cursor mcp user b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := doublesOf(statuses); len(d) != 1 || !strings.Contains(d[0].Message, `as "a"`) {
		t.Errorf("doubles: %+v", d)
	}
}

// TestWindows: there each client has a shell of its own.
func TestWindows(t *testing.T) {
	e := testEnv(t)
	e.OS, e.Program = "windows", `C:\Program Files\skills\skills.exe`
	roaming := filepath.Join(e.Home, "Roaming")
	e.Getenv = func(key string) string { return map[string]string{"APPDATA": roaming}[key] }
	run(t, e, Request{Clients: client.All(), Scope: client.User})
	for name, want := range map[string]string{
		".claude/settings.json":                  `"command": "\"C:/Program Files/skills/skills.exe\" hook claude --mcp-server skills"`,
		".codex/hooks.json":                      `"command": "\"C:\\Program Files\\skills\\skills.exe\" hook codex --mcp-server skills"`,
		".gemini/settings.json":                  `"command": "& 'C:\\Program Files\\skills\\skills.exe' hook gemini --mcp-server skills"`,
		".copilot/hooks/skills.json":             `"powershell": "& 'C:\\Program Files\\skills\\skills.exe' hook copilot --mcp-server skills"`,
		".codex/config.toml":                     `command = "C:\\Program Files\\skills\\skills.exe"`,
		"Roaming/Code/User/mcp.json":             `"command": "C:\\Program Files\\skills\\skills.exe"`,
		"Roaming/Block/goose/config/config.yaml": `cmd: "C:\\Program Files\\skills\\skills.exe"`,
		"Roaming/Zed/settings.json":              `"context_servers"`,
	} {
		if got := must.Read(t, filepath.Join(e.Home, filepath.FromSlash(name))); !strings.Contains(got, want) {
			t.Errorf("%s does not have %s: %s", name, want, got)
		}
	}
	if p := run(t, e, Request{Clients: client.All(), Scope: client.User}); len(p.Edits) > 0 {
		t.Errorf("a second run changes %s", p.Edits[0].Diff())
	}
	run(t, e, Request{Clients: client.All(), Scope: client.User, Remove: true})
	if left := tree(t, e); len(left) != 2 {
		t.Errorf("left are %v", left)
	}
}

// TestLinked: settings that have another name elsewhere, as in a folder under version
// control, are the same file after a setup and a removal.
func TestLinked(t *testing.T) {
	e := testEnv(t)
	const before = "{\n  \"theme\": \"dark\"\n}\n"
	write(t, e, "home/.cursor/mcp.json", []byte(before))
	name, other := filepath.Join(e.Home, ".cursor", "mcp.json"), filepath.Join(e.Home, "versioned.json")
	if err := os.Link(name, other); err != nil {
		t.Skip(err)
	}
	req := Request{Clients: []client.Client{named(t, "cursor")}, MCP: true, Scope: client.User}
	if run(t, e, req); !strings.Contains(must.Read(t, other), "skills") || must.Read(t, other) != must.Read(t, name) {
		t.Errorf("set up, the files hold %q and %q", must.Read(t, name), must.Read(t, other))
	}
	req.Remove = true
	if run(t, e, req); must.Read(t, name) != before || must.Read(t, other) != before {
		t.Errorf("removed, the files hold %q and %q", must.Read(t, name), must.Read(t, other))
	}
}

// TestOtherName: what is written for a program of another name is found again.
func TestOtherName(t *testing.T) {
	e := testEnv(t)
	e.Program = "/opt/bin/repertoire"
	run(t, e, Request{Clients: client.All(), Scope: client.User})
	e.Program = program // as the same program under its usual name sees it
	for _, st := range Scan(e) {
		kinds := make(map[string]bool)
		for _, r := range st.Registrations {
			kinds[r.Kind] = true
			if r.Words[0] != "/opt/bin/repertoire" || r.Kind == Hook && !r.Asks(st.Client.Hook) {
				t.Errorf("%s: %+v", st.Client.Name, r)
			}
		}
		if !kinds[MCP] || kinds[Hook] != (st.Client.Hook != nil) {
			t.Errorf("%s: found are %v", st.Client.Name, kinds)
		}
	}
	run(t, e, Request{Clients: client.All(), Scope: client.User, Remove: true})
	for name, data := range tree(t, e) {
		if strings.Contains(data, "repertoire") {
			t.Errorf("%s is left: %s", name, data)
		}
	}
}

// TestMayRun: what a project's settings hold runs only as setup wrote it, with this program.
func TestMayRun(t *testing.T) {
	e := testEnv(t)
	claude := []client.Client{named(t, "claude")}
	run(t, e, Request{Clients: claude, Scope: client.Project, Hook: true})
	may := func() error { return e.MayRun(ScanOf(e, claude)[0].Registrations[0]) }
	if err := may(); err != nil {
		t.Errorf("as it was written: %v", err)
	}
	e.Program = "/another/skills"
	if may() == nil {
		t.Error("another program may run")
	}
	e.Program = program
	file := filepath.Join(e.Project, ".claude", "settings.json")
	changed := strings.Replace(must.Read(t, file), "hook claude", "hook claude --agent x && rm y", 1)
	must.Do(t, os.WriteFile(file, []byte(changed), 0o600))
	if may() == nil {
		t.Error("what somebody has added may run")
	}
	write(t, e, "home/.claude/settings.json", []byte(changed))
	e.Project = ""
	if err := may(); err != nil {
		t.Errorf("in the settings of the user: %v", err)
	}
}

// TestMayRunFound: setup keeps what it finds in a project's settings, but what was there may
// not run, also where it looks like an entry of ours.
func TestMayRunFound(t *testing.T) {
	const found = `{"mcpServers": {
		"ours": {"command": "` + program + `", "args": ["mcp"], "env": {"LD_PRELOAD": "evil.so"}},
		"other": {"command": "` + program + `", "args": ["--config", "evil.yaml", "mcp"]}}}`
	e := testEnv(t)
	write(t, e, "project/.gemini/settings.json", []byte(found))
	all := slices.DeleteFunc(slices.Clone(client.All()), func(c client.Client) bool { return len(c.MCP.Files.Project) == 0 })
	run(t, e, Request{Clients: all, Scope: client.Project, Name: "ours", MCP: true})
	run(t, e, Request{Clients: all, Scope: client.Project, Name: "ours", Hook: true})
	for _, st := range ScanOf(e, all) {
		if len(st.Registrations) == 0 {
			t.Errorf("%s is not set up", st.Client.Name)
		}
		for _, r := range st.Registrations {
			strange := st.Client.Name == "gemini" && r.Kind == MCP
			if err := e.MayRun(r); strange != (err != nil) {
				t.Errorf("%s, %q: %v", st.Client.Name, r.command(), err)
			}
		}
	}
}

// TestDeep: settings of a project that are nested without end are left alone, with a message.
func TestDeep(t *testing.T) {
	e := testEnv(t)
	for _, text := range []string{strings.Repeat("[", 2_000_000), "// it begins with a comment\n" + strings.Repeat(`{"a":`, 400_000)} {
		write(t, e, "project/.mcp.json", []byte(text))
		for _, st := range Scan(e) {
			if st.Client.Name == "claude" && (len(st.Problems) != 1 || !strings.Contains(st.Problems[0].Message, "nested too deeply")) {
				t.Errorf("the problems are %v", st.Problems)
			}
		}
	}
}

// TestPlugin: the program around the commands is renewed, also where the commands are the same,
// and goes with them, whoever wrote it.
func TestPlugin(t *testing.T) {
	e := testEnv(t)
	file := filepath.Join(e.Home, ".config/opencode/plugins/repertoire.js")
	openCode := []client.Client{named(t, "opencode")}
	run(t, e, Request{Clients: openCode, Scope: client.User})
	now := must.Read(t, file)
	if p := run(t, e, Request{Clients: openCode, Scope: client.User}); len(p.Edits) > 0 {
		t.Errorf("the second time: %+v", p.Changes)
	}
	old := strings.ReplaceAll(now, "safely", "surely")
	must.Write(t, file, old)
	p := run(t, e, Request{Clients: openCode, Scope: client.User})
	if got := must.Read(t, file); got != now || old == now || p.Changes[1].Action != Updated {
		t.Errorf("%+v: %s", p.Changes, got)
	}
	must.Write(t, file, old)
	must.Do(t, os.RemoveAll(e.State))
	run(t, e, Request{Clients: openCode, Scope: client.User, Remove: true})
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plugin is still there: %v", err)
	}
}
