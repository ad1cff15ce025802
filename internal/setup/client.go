package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Scope says whom an entry is for.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // all projects of the user
	Project Scope = "project" // everybody who works on the project
)

// An Env is the machine on which clients are set up.
type Env struct {
	OS      string // as runtime.GOOS
	Home    string
	Project string                // the root of the project; "": there is none
	Getenv  func(string) string   // of the environment
	Program string                // what clients run, an absolute path
	Flags   []string              // that every command gets
	State   string                // folder of the record and of the backups
	found   func(bin string) bool // for tests; nil: looks along PATH
}

// A Client is a program that can use the catalog.
type Client struct {
	Name  string
	Title string
	After string // what the user has to do when it has been set up

	mcp   *mcpForm
	hook  *hookForm
	homes []string // folders that are there where the client is
	bins  []string
}

// HasMCP and HasHook report what can be set up for a client.
func (c Client) HasMCP() bool  { return c.mcp != nil }
func (c Client) HasHook() bool { return c.hook != nil }

// places maps scopes to files. A file may begin with a name in braces, see
// folder; of several, separated by "|", the first that is there is meant, else
// the first.
type places map[Scope]string

// An mcpForm says how a client names its MCP servers.
type mcpForm struct {
	files  places
	format format
	key    path // of the mapping of servers
	entry  func(name string, words []string) object
}

// places returns the files of a form, none for a client without.
func (f *mcpForm) places() places {
	if f == nil {
		return nil
	}
	return f.files
}

// places returns the files of a form, none for a client without.
func (f *hookForm) places() places {
	if f == nil {
		return nil
	}
	return f.files
}

// A format reads and edits files of one language.
type format interface {
	// decode returns the content as maps, lists, texts and so on, nil for an
	// empty file.
	decode(data []byte) (any, error)
	// set makes the value at a path be v and touches nothing else.
	set(data []byte, p path, v any) ([]byte, error)
	// remove removes the value at a path and touches nothing else.
	remove(data []byte, p path) ([]byte, error)
}

// A hookForm says how a client names its hooks, all of which are in JSON.
type hookForm struct {
	files   places
	also    places // where else they may stand; nothing is written there
	arg     string // of "skills hook"
	top     object // what else the file needs
	groups  bool   // hooks are in groups with a matcher
	windows shell
	events  []hookEvent
	handler func(e *Env, line string) object
	lines   []string // the members of a handler that may hold the command
}

// args returns what may follow "skills hook" in the commands of a form.
func (f *hookForm) args() []string {
	args := []string{f.arg}
	for _, ev := range f.events {
		if ev.arg != "" {
			args = append(args, ev.arg)
		}
	}
	return args
}

// A hookEvent is one that the hook is called for: a prompt, what tells that a
// skill was loaded, or that the session has forgotten what it was told.
type hookEvent struct {
	name    string
	arg     string // of "skills hook"; "": that of the form
	matcher string // "" for none; "%" stands for the name of the server
	noMCP   string // the matcher without the MCP server
}

// Clients returns all clients that can be set up.
func Clients() []Client {
	return []Client{
		{Name: "claude", Title: "Claude Code", homes: []string{"{claude}"}, bins: []string{"claude"},
			mcp: &mcpForm{places{User: "{claude.json}", Project: "{project}/.mcp.json"}, jsonFormat{}, pathTo("mcpServers"), stdio},
			hook: &hookForm{files: places{User: "{claude}/settings.json", Project: "{project}/.claude/settings.json"}, also: places{Project: "{project}/.claude/settings.local.json"}, arg: "claude", groups: true, windows: gitBash,
				events: []hookEvent{
					{name: "UserPromptSubmit"},
					{name: "SessionStart", matcher: "clear|compact", noMCP: "clear|compact"}, // what was offered is forgotten then
					{name: "PostToolUse", matcher: "Skill|mcp__%__read_skill", noMCP: "Skill"},
				}, handler: commandSeconds, lines: []string{"command"}},
			After: "sessions that are open see it after a restart"},
		{Name: "codex", Title: "Codex", homes: []string{"{codex}"}, bins: []string{"codex"},
			mcp: &mcpForm{places{User: "{codex}/config.toml", Project: "{project}/.codex/config.toml"}, tomlFormat{}, pathTo("mcp_servers"), bare},
			hook: &hookForm{files: places{User: "{codex}/hooks.json", Project: "{project}/.codex/hooks.json"}, arg: "codex", groups: true, windows: cmdExe,
				events: []hookEvent{{name: "UserPromptSubmit"}}, handler: commandSeconds, lines: []string{"command", "command_windows"}},
			After: "approve the hook once with /hooks in Codex: until then it does not run"},
		{Name: "gemini", Title: "Gemini CLI", homes: []string{"{gemini}"}, bins: []string{"gemini"},
			mcp: &mcpForm{places{User: "{gemini}/settings.json", Project: "{project}/.gemini/settings.json"}, jsonFormat{}, pathTo("mcpServers"), bare},
			hook: &hookForm{files: places{User: "{gemini}/settings.json", Project: "{project}/.gemini/settings.json"}, arg: "gemini", groups: true, windows: powerShell,
				events: []hookEvent{
					{name: "BeforeAgent"},
					{name: "AfterTool", matcher: "activate_skill|.*read_skill", noMCP: "activate_skill"},
					{name: "PreCompress"},
				}, handler: namedMilliseconds, lines: []string{"command"}},
			After: "sessions that are open see it after a restart"},
		{Name: "cursor", Title: "Cursor", homes: []string{"{home}/.cursor"}, bins: []string{"cursor", "cursor-agent"},
			mcp: &mcpForm{places{User: "{home}/.cursor/mcp.json", Project: "{project}/.cursor/mcp.json"}, jsonFormat{}, pathTo("mcpServers"), stdio},
			hook: &hookForm{files: places{User: "{home}/.cursor/hooks.json", Project: "{project}/.cursor/hooks.json"}, arg: "cursor", top: object{{"version", 1}}, windows: powerShell,
				events: []hookEvent{{name: "beforeSubmitPrompt"}, {name: "sessionStart", arg: "sessionstart"}}, handler: commandOnly, lines: []string{"command"}}},
		{Name: "copilot", Title: "Copilot CLI", homes: []string{"{copilot}"}, bins: []string{"copilot"},
			mcp: &mcpForm{places{User: "{copilot}/mcp-config.json", Project: "{project}/.github/mcp.json"}, jsonFormat{}, pathTo("mcpServers"), localTools},
			hook: &hookForm{files: places{User: "{copilot}/hooks/skills.json", Project: "{project}/.github/hooks/skills.json"}, arg: "copilot", top: object{{"version", 1}}, windows: powerShell,
				events: []hookEvent{{name: "userPromptTransformed"}, {name: "preCompact"}}, handler: perShell, lines: []string{"bash", "powershell", "command"}}},
		{Name: "vscode", Title: "VS Code", homes: []string{"{vscode}"}, bins: []string{"code"},
			mcp: &mcpForm{places{User: "{vscode}/mcp.json", Project: "{project}/.vscode/mcp.json"}, jsonFormat{}, pathTo("servers"), stdio},
			hook: &hookForm{files: places{User: "{copilot}/hooks/skills-vscode.json", Project: "{project}/.github/hooks/skills-vscode.json"}, arg: "sessionstart", windows: cmdExe,
				events: []hookEvent{{name: "SessionStart"}}, handler: commandSeconds, lines: []string{"command", "windows", "linux", "osx"}}},
		{Name: "opencode", Title: "OpenCode", homes: []string{"{opencode}"}, bins: []string{"opencode"},
			mcp: &mcpForm{places{User: "{opencode}/opencode.json|{opencode}/opencode.jsonc|{opencode}/config.json", Project: "{project}/opencode.json|{project}/opencode.jsonc|{project}/.opencode/opencode.json|{project}/.opencode/opencode.jsonc"},
				jsonFormat{}, pathTo("mcp"), localList},
			After: "it has no hook that a program could serve: the model calls the tools by itself"},
		{Name: "goose", Title: "Goose", homes: []string{"{goose}"}, bins: []string{"goose"},
			mcp: &mcpForm{places{User: "{goose}/config.yaml"}, yamlFormat{}, pathTo("extensions"), gooseExtension}},
		{Name: "amp", Title: "Amp", homes: []string{"{amp}"}, bins: []string{"amp"},
			mcp: &mcpForm{places{User: "{amp}/settings.json|{amp}/settings.jsonc", Project: "{project}/.amp/settings.json|{project}/.amp/settings.jsonc"}, jsonFormat{}, pathTo("amp.mcpServers"), bare}},
		{Name: "windsurf", Title: "Windsurf", homes: []string{"{home}/.codeium/windsurf"}, bins: []string{"windsurf"},
			mcp: &mcpForm{places{User: "{home}/.codeium/windsurf/mcp_config.json"}, jsonFormat{}, pathTo("mcpServers"), bare}},
		{Name: "openclaw", Title: "OpenClaw", homes: []string{"{openclaw}"}, bins: []string{"openclaw"},
			mcp:   &mcpForm{places{User: "{openclaw.json}"}, jsonFormat{}, pathTo("mcp", "servers"), bare},
			After: `"openclaw mcp doctor skills --probe" checks it`},
		{Name: "zed", Title: "Zed", homes: []string{"{zed}"}, bins: []string{"zed", "zeditor"},
			mcp: &mcpForm{places{User: "{zed}/settings.json", Project: "{project}/.zed/settings.json"}, jsonFormat{}, pathTo("context_servers"), custom}},
	}
}

// Generic is the name of a client of which nothing is known but a file in JSON
// with its MCP servers.
const Generic = "generic"

// GenericClient returns that client; key is "mcpServers" if it is empty.
func GenericClient(file, key string) Client {
	if key == "" {
		key = "mcpServers"
	}
	return Client{Name: Generic, Title: filepath.Base(file), mcp: &mcpForm{places{User: file, Project: file}, jsonFormat{}, pathTo(key), bare}}
}

// The forms of the entry of a server.

func bare(_ string, words []string) object {
	return object{{"command", words[0]}, {"args", words[1:]}}
}

func stdio(name string, words []string) object {
	return append(object{{"type", "stdio"}}, bare(name, words)...)
}

func custom(name string, words []string) object {
	return append(object{{"source", "custom"}}, append(bare(name, words), member{"env", object{}})...)
}

func localTools(name string, words []string) object {
	return append(object{{"type", "local"}}, append(bare(name, words), member{"tools", []string{"*"}})...)
}

func localList(_ string, words []string) object {
	return object{{"type", "local"}, {"command", words}, {"enabled", true}}
}

func gooseExtension(name string, words []string) object {
	return object{{"type", "stdio"}, {"name", name}, {"enabled", true}, {"cmd", words[0]}, {"args", words[1:]}, {"envs", object{}}, {"timeout", 300}}
}

// runs tells the members of an entry that hold the command: only they are
// brought up to date, since the user may have changed the others.
func runs(key string) bool { return key == "command" || key == "args" || key == "cmd" }

// The forms of a handler. The time limit is far above what a hook takes, and
// far below what people wait for.

func commandOnly(_ *Env, line string) object { return object{{"command", line}} }

func commandSeconds(_ *Env, line string) object {
	return object{{"type", "command"}, {"command", line}, {"timeout", 5}}
}

func namedMilliseconds(_ *Env, line string) object {
	return object{{"name", "skills"}, {"type", "command"}, {"command", line}, {"timeout", 5000}}
}

func perShell(e *Env, line string) object {
	key := "bash"
	if e.OS == "windows" {
		key = "powershell"
	}
	return object{{"type", "command"}, {key, line}, {"timeoutSec", 5}}
}

// Find returns the client of a name.
func Find(name string) (Client, bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// file returns the file of a scope, "" for none.
func (e *Env) file(p places, s Scope) string {
	var first string
	for template := range strings.SplitSeq(p[s], "|") {
		name := e.expand(template)
		if name == "" {
			return ""
		}
		if first == "" {
			first = name
		}
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return first
}

// expand replaces the name in braces that a template begins with.
func (e *Env) expand(template string) string {
	if !strings.HasPrefix(template, "{") {
		return filepath.FromSlash(template)
	}
	name, rest, _ := strings.Cut(template[1:], "}")
	folder := e.folder(name)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// folder returns a folder or file that depends on the machine.
func (e *Env) folder(name string) string {
	env := func(key string, otherwise string) string {
		if v := e.Getenv(key); v != "" {
			return v
		}
		return otherwise
	}
	in := func(dir string, elem ...string) string {
		if dir == "" {
			return "" // there is no home
		}
		return filepath.Join(append([]string{dir}, elem...)...)
	}
	home := func(elem ...string) string { return in(e.Home, elem...) }
	config := env("XDG_CONFIG_HOME", home(".config"))
	roaming := env("APPDATA", home("AppData", "Roaming"))
	windows := e.OS == "windows"
	switch name {
	case "home":
		return e.Home
	case "project":
		return e.Project
	case "claude":
		return env("CLAUDE_CONFIG_DIR", home(".claude"))
	case "claude.json":
		if dir := e.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
			return in(dir, ".claude.json")
		}
		return home(".claude.json")
	case "codex":
		return env("CODEX_HOME", home(".codex"))
	case "gemini":
		return in(env("GEMINI_CLI_HOME", e.Home), ".gemini")
	case "copilot":
		return env("COPILOT_HOME", home(".copilot"))
	case "vscode":
		switch {
		case windows:
			return in(roaming, "Code", "User")
		case e.OS == "darwin":
			return home("Library", "Application Support", "Code", "User")
		}
		return in(config, "Code", "User")
	case "opencode", "amp":
		if name == "amp" && windows {
			return home(".config", "amp")
		}
		return in(config, name)
	case "goose":
		if windows {
			return in(roaming, "Block", "goose", "config")
		}
		return in(config, "goose")
	case "zed":
		if windows {
			return in(roaming, "Zed")
		}
		return in(config, "zed")
	case "openclaw":
		return env("OPENCLAW_STATE_DIR", home(".openclaw"))
	case "openclaw.json":
		return env("OPENCLAW_CONFIG_PATH", in(e.folder("openclaw"), "openclaw.json"))
	}
	return ""
}

// Installed reports whether a client seems to be on the machine.
func (e *Env) Installed(c Client) bool {
	for _, template := range c.homes {
		if dir := e.expand(template); dir != "" {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return true
			}
		}
	}
	for _, bin := range c.bins {
		if e.found != nil {
			if e.found(bin) {
				return true
			}
		} else if _, err := exec.LookPath(bin); err == nil {
			return true
		}
	}
	return false
}
