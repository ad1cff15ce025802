package client

import (
	_ "embed"
	"sync"
)

// shared is the folder in a project or a home that clients share.
const shared = ".agents"

// Room bounds the answer to an event of every client, in UTF-16 code units: the
// smallest bound of a client on what is put into a prompt is 10,000, or 2,500
// tokens. The prompt that Copilot wants back does not count.
const Room = 6000

// wrapped is the form of an answer that most clients have taken over from Claude
// Code.
const wrapped = `{"hookSpecificOutput":{"hookEventName":` + MarkEvent + `,"additionalContext":` + MarkText + `}}`

// The fields of all events of a client.
const (
	claudeFields   = `"session_id":` + MarkSession + `,"transcript_path":"","cwd":` + MarkDir + `,"permission_mode":"default","hook_event_name":` + MarkEvent
	codexFields    = `"session_id":` + MarkSession + `,"transcript_path":null,"cwd":` + MarkDir + `,"hook_event_name":` + MarkEvent + `,"model":"","permission_mode":"default"`
	geminiFields   = `"session_id":` + MarkSession + `,"transcript_path":"","cwd":` + MarkDir + `,"hook_event_name":` + MarkEvent + `,"timestamp":"2026-01-01T00:00:00.000Z"`
	qwenFields     = geminiFields + `,"permission_mode":"default"`
	cursorFields   = `"conversation_id":` + MarkSession + `,"generation_id":` + MarkTurn + `,"model":"","hook_event_name":` + MarkEvent + `,"cursor_version":"","workspace_roots":[` + MarkDir + `],"user_email":null,"transcript_path":null`
	openCodeFields = `"hook_event_name":` + MarkEvent + `,"session_id":` + MarkSession + `,"cwd":` + MarkDir
	copilotFields  = `"sessionId":` + MarkSession + `,"timestamp":1767225600000,"cwd":` + MarkDir
	vscodeFields   = `"timestamp":"2026-01-01T00:00:00.000Z","cwd":` + MarkDir + `,"sessionId":` + MarkSession + `,"hookEventName":` + MarkEvent + `,"transcript_path":""`

	samplePrompt = `,"prompt":` + MarkPrompt
	sampleSource = `,"source":` + MarkSource
)

const trustProject = "it reads the files of a project only where you trust the folder: it asks when you start it there"

const afterRestart = "sessions that are open see it after a restart"

// All returns the description of every client but the generic one, in the order
// in which they are shown. It must not be changed.
func All() []Client { return all() }

// Most starts of the program need no description, and a hook asks for them several times.
var all = sync.OnceValue(func() []Client {
	return []Client{claude(), codex(), gemini(), qwen(), cursor(), copilot(), vscode(), openCode(), goose(), amp(), windsurf(), openClaw(), zed()}
})

func claude() Client {
	dir := variable("CLAUDE_CONFIG_DIR", home(".claude"))
	settings := Places{paths(dir.below("settings.json")), paths(project(".claude/settings.json"))}
	policy := managed(`C:\Program Files\ClaudeCode`, "/Library/Application Support/ClaudeCode", "/etc/claude-code")
	owned := policy.below("managed-settings.json")
	files := layers{settings.User, []string{".claude/settings.json", ".claude/settings.local.json"}, paths(owned)}
	own := variable("CLAUDE_CONFIG_DIR", home("")).below(".claude.json")
	local := project(".claude/settings.local.json")
	return Client{Name: "claude", Title: "Claude Code", Home: dir, Bins: []string{"claude"}, After: afterRestart,
		Folders: []string{".claude"}, Skills: paths(policy.below(".claude/skills"), dir.below("skills")), ProjectVar: "CLAUDE_PROJECT_DIR",
		Commands: Places{paths(dir.below("commands")), paths(project(".claude/commands"))},
		Named: Naming{Places{paths(owned, settings.User[0]), paths(settings.Project[0], local)},
			map[string][]string{"permissions.additionalDirectories": {".claude/skills"}}},
		SkillSwitches: &SkillSwitches{Files: files, Words: []string{"skillOverrides", "Skill"}, Read: readClaude, Full: true},
		Plugins:       recordedPlugins(dir, owned),
		MCP:           MCP{Files: Places{paths(own), paths(project(".mcp.json"))}, Key: []string{"mcpServers"}, Caller: "claude-code", Entry: stdio, Remote: remote(Object{{"type", "http"}}, "url", "${VAR}")},
		Hook: &Hook{Arg: "claude", Files: settings, Also: Places{Project: paths(local)}, Groups: true, Windows: GitBash, Mark: "/",
			Handler: commandSeconds, Lines: []string{"command"}, Switches: claudeSwitches(files),
			Events: []Event{
				{Name: "UserPromptSubmit", Kind: Prompt, Answer: wrapped, SetUp: true, Sample: `{` + claudeFields + `,"prompt_id":` + MarkTurn + samplePrompt + `}`},
				// A person has called a skill or a command: UserPromptSubmit comes as well.
				{Name: "UserPromptExpansion", Kind: Prompt, Answer: wrapped},
				// What was offered is forgotten then.
				{Name: "SessionStart", Kind: Start, Answer: wrapped, SetUp: true, Matcher: "clear|compact", NoMCP: "clear|compact", Sample: `{` + claudeFields + sampleSource + `}`},
				{Name: "PostToolUse", Kind: Tool, SetUp: true, Matcher: "Skill|mcp__%__read_skill", NoMCP: "Skill"},
				{Name: "PreCompact", Kind: Compact},
				{Name: "PostCompact", Kind: Compact},
			},
			Tools: Tools{Skill: []string{"Skill"}, Read: []string{"Read"}, Shell: []string{"Bash"}}},
		// It lists as much as fits into 1 % of a context of 200,000 tokens of 4
		// characters each, "- name: description" and a line feed for each skill.
		Listing: &Listing{Chars: 8000, Tokens: 200_000, Overhead: 5, Cut: 1536, Drops: DropsUnused, Settings: &ListingSettings{
			Files: settings, Read: append(paths(settings.User[0], settings.Project[0]), local),
			Fraction: "skillListingBudgetFraction", Context: 800_000, Cut: "skillListingMaxDescChars", CharsVar: "SLASH_COMMAND_TOOL_CHAR_BUDGET",
			Overrides: "skillOverrides", NameOnly: "name-only", Hidden: []string{"off", "user-invocable-only"},
			Used: own, Uses: []string{"skillUsage"}, Use: "usageCount",
		}}}
}

func codex() Client {
	dir := variable("CODEX_HOME", home(".codex"))
	files := layers{user: paths(on("windows", none, fixed("/etc/codex/config.toml")), dir.below("config.toml")), project: []string{".codex/config.toml"}}
	return Client{Name: "codex", Title: "Codex", Home: dir, Bins: []string{"codex"},
		After: "approve the hook once with /hooks in Codex: until then it does not run", AfterProject: trustProject,
		Folders: []string{shared, ".codex"}, Skills: paths(home(shared+"/skills"), dir.below("skills"), on("windows", none, fixed("/etc/codex/skills"))), Plugins: cachedPlugins(dir),
		SkillSwitches: &SkillSwitches{Files: files, Words: []string{"skills"}, Read: readCodex, Full: true},
		MCP:           MCP{Files: Places{paths(dir.below("config.toml")), paths(project(".codex/config.toml"))}, Format: TOML, Key: []string{"mcp_servers"}, Caller: "codex-mcp-client", Entry: bare, Remote: bearerVariable},
		Hook: &Hook{Arg: "codex", Files: Places{paths(dir.below("hooks.json")), paths(project(".codex/hooks.json"))}, Groups: true, Windows: CmdExe, Mark: "$",
			Handler: commandSeconds, Lines: []string{"command", "command_windows"}, Approvals: dir.below("config.toml"),
			Switches: codexSwitches(files),
			Events: []Event{
				{Name: "UserPromptSubmit", Kind: Prompt, Answer: wrapped, SetUp: true, Sample: `{` + codexFields + `,"turn_id":` + MarkTurn + samplePrompt + `}`},
				{Name: "SessionStart", Kind: Start, Answer: wrapped, Sample: `{` + codexFields + sampleSource + `}`},
				{Name: "PostToolUse", Kind: Tool},
			},
			Tools: Tools{Shell: []string{"Bash", "shell", "exec_command"}}},
		// It lists as much as fits into 2 % of the context, 4 characters a token, "- name: description
		// (file: r0/name/SKILL.md)" and a line feed for each skill, with a name of 17 characters.
		Listing: &Listing{Chars: 21_760, Tokens: 272_000, Overhead: 42, Drops: DropsEvenly}}
}

func gemini() Client {
	dir := variable("GEMINI_CLI_HOME", home("")).below(".gemini")
	settings := Places{paths(dir.below("settings.json")), paths(project(".gemini/settings.json"))}
	files := geminiLayers(settings.User[0], managed(`C:\ProgramData\gemini-cli`, "/Library/Application Support/GeminiCli", "/etc/gemini-cli"), ".gemini/settings.json", "GEMINI_CLI")
	return Client{Name: "gemini", Title: "Gemini CLI", Home: dir, Bins: []string{"gemini"}, After: afterRestart, AfterProject: trustProject,
		Folders: []string{".gemini"}, Skills: paths(dir.below("skills")), Plugins: extensionsIn(dir, "gemini", "gemini-extension.json"),
		SkillSwitches: &SkillSwitches{Files: files, Words: []string{"skills"}, Read: readDisabled},
		MCP:           MCP{Files: settings, Key: []string{"mcpServers"}, Caller: "gemini-cli-mcp-client", Entry: bare, Remote: remote(nil, "httpUrl", "${VAR}")},
		Hook: &Hook{Arg: "gemini", Files: settings, Groups: true, Windows: PowerShell,
			Handler: namedMilliseconds, Lines: []string{"command"}, Markdown: true, Switches: geminiSwitches(files.all(), hookName),
			Events: []Event{
				{Name: "BeforeAgent", Kind: Prompt, Answer: wrapped, SetUp: true, Sample: `{` + geminiFields + samplePrompt + `}`},
				{Name: "AfterTool", Kind: Tool, SetUp: true, Matcher: "activate_skill|.*read_skill", NoMCP: "activate_skill"},
				// It comes before each request, and "auto" does not say that anything is compressed.
				{Name: "PreCompress", Kind: Compact, SetUp: true, Trigger: "manual", Matcher: "manual", NoMCP: "manual"},
				{Name: "SessionStart", Kind: Start, Answer: wrapped, Sample: `{` + geminiFields + sampleSource + `}`},
			},
			Tools: Tools{Skill: []string{"activate_skill"}, Read: []string{"read_file"}, Shell: []string{"run_shell_command"}}},
		Listing: &Listing{Overhead: 139, Whole: true}} // as measured, see docs/clients.md
}

// qwen comes from Gemini CLI, but its hooks are those of Claude Code. A limit of 1,000 and more is
// one of milliseconds in every version.
func qwen() Client {
	dir := variable("QWEN_HOME", home(".qwen"))
	settings := Places{paths(dir.below("settings.json")), paths(project(".qwen/settings.json"))}
	files := geminiLayers(settings.User[0], managed(`C:\ProgramData\qwen-code`, "/Library/Application Support/QwenCode", "/etc/qwen-code"), ".qwen/settings.json", "QWEN_CODE")
	return Client{Name: "qwen", Title: "Qwen Code", Home: dir, Bins: []string{"qwen"}, After: afterRestart,
		Folders: []string{shared, ".qwen"}, Skills: paths(dir.below("skills"), home(shared+"/skills")), Plugins: extensionsIn(dir, "qwen", "qwen-extension.json"),
		SkillSwitches: &SkillSwitches{Files: files, Words: []string{"skills"}, Read: readDisabled},
		MCP:           MCP{Files: settings, Key: []string{"mcpServers"}, Caller: "qwen-code-mcp-client", Entry: bare, Remote: remote(nil, "httpUrl", "${VAR}")},
		Hook: &Hook{Arg: "qwen", Files: settings, Groups: true, Windows: CmdExe, Mark: "/",
			Handler: namedMilliseconds, Lines: []string{"command"}, Markdown: true, Switches: geminiSwitches(files.all(), hookName),
			Events: []Event{
				// After each tool it comes again, with an empty prompt.
				{Name: "UserPromptSubmit", Kind: Prompt, Answer: wrapped, SetUp: true, Sample: `{` + qwenFields + `,"prompt_id":` + MarkTurn + samplePrompt + `}`},
				{Name: "PostToolUse", Kind: Tool, SetUp: true, Matcher: "^(skill|mcp__%__read_skill)$", NoMCP: "^skill$"},
				{Name: "PostCompact", Kind: Compact, SetUp: true},
				{Name: "SessionStart", Kind: Start, Answer: wrapped, Sample: `{` + qwenFields + sampleSource + `}`},
			},
			Tools: Tools{Skill: []string{"skill"}, Read: []string{"read_file"}, Shell: []string{"run_shell_command"}}},
		Listing: &Listing{Overhead: 97, Whole: true}} // as measured
}

func cursor() Client {
	dir := home(".cursor")
	return Client{Name: "cursor", Title: "Cursor", Home: dir, Bins: []string{"cursor", "cursor-agent"},
		Folders: []string{".cursor"}, Skills: paths(dir.below("skills")),
		MCP: MCP{Files: Places{paths(dir.below("mcp.json")), paths(project(".cursor/mcp.json"))}, Key: []string{"mcpServers"}, Entry: stdio, Remote: remote(Object{{"type", "http"}}, "url", "${env:VAR}")},
		Hook: &Hook{Arg: "cursor", Files: Places{paths(dir.below("hooks.json")), paths(project(".cursor/hooks.json"))}, Top: Object{{"version", 1}}, Windows: PowerShell, Mark: "/",
			Handler: commandOnly, Lines: []string{"command"}, RunsHooksOf: "claude", RunsVar: "CURSOR_VERSION",
			Events: []Event{
				{Name: "beforeSubmitPrompt", Kind: Prompt, Answer: `{"continue":true,"additional_context":` + MarkText + `}`, SetUp: true,
					Sample: `{` + cursorFields + samplePrompt + `,"attachments":[]}`},
				{Name: "sessionStart", Kind: Start, Answer: `{"additional_context":` + MarkText + `}`, SetUp: true, Arg: SessionStart,
					Sample: `{` + cursorFields + `,"session_id":` + MarkSession + `,"is_background_agent":false,"composer_mode":"agent"}`},
				{Name: "postToolUse", Kind: Tool},
				{Name: "preCompact", Kind: Compact},
			},
			Tools: Tools{Read: []string{"Read"}}}}
}

func copilot() Client {
	dir := copilotHome()
	return Client{Name: "copilot", Title: "Copilot CLI", Home: dir, Bins: []string{"copilot"}, AfterProject: trustProject,
		Folders: []string{".github"}, Skills: paths(dir.below("skills")), Plugins: listedPlugins(dir),
		MCP: MCP{Files: Places{paths(dir.below("mcp-config.json")), paths(project(".github/mcp.json"))}, Key: []string{"mcpServers"}, Entry: localTools, Remote: remote(Object{{"type", "http"}}, "url", "${VAR}", Member{"tools", []string{"*"}}),
			Instead: "claude"},
		Hook: &Hook{Arg: "copilot", Files: Places{paths(dir.below("hooks/skills.json")), paths(project(".github/hooks/skills.json"))}, Top: Object{{"version", 1}}, Windows: PowerShell, Mark: "/",
			Handler: perShell, Lines: []string{"bash", "powershell", "command"}, Switches: copilotSwitches(dir),
			Events: []Event{
				{Name: "userPromptTransformed", Kind: Prompt, Field: "transformedPrompt", Answer: `{"modifiedTransformedPrompt":` + MarkPrompt + `}`, SetUp: true,
					Sample: `{` + copilotFields + samplePrompt + `,"transformedPrompt":` + MarkPrompt + `}`},
				{Name: "postToolUse", Kind: Tool, Field: "toolName"},
				{Name: "preCompact", Kind: Compact, Field: "trigger", SetUp: true},
				{Name: "sessionStart", Kind: Start, Field: "source", Answer: `{"additionalContext":` + MarkText + `}`, Sample: `{` + copilotFields + sampleSource + `,"initialPrompt":""}`},
			},
			Tools: Tools{Skill: []string{"skill"}, Read: []string{"view", "read"}, Shell: []string{"bash"}},
			Drops: func(name string, has func(string) bool) bool {
				return name == "UserPromptSubmit" && has("timestamp") && !has("transcript_path")
			}},
		Listing: &Listing{}}
}

func copilotHome() Path { return variable("COPILOT_HOME", home(".copilot")) }

func vscode() Client {
	dir := on("windows", roaming("Code/User"), on("darwin", home("Library/Application Support/Code/User"), config("Code/User")))
	return Client{Name: "vscode", Title: "VS Code", Home: dir, Bins: []string{"code"},
		MCP: MCP{Files: Places{paths(dir.below("mcp.json")), paths(project(".vscode/mcp.json"))}, Key: []string{"servers"}, Entry: stdio, Remote: remote(Object{{"type", "http"}}, "url", "${env:VAR}")},
		Hook: &Hook{Arg: SessionStart, Files: Places{paths(copilotHome().below("hooks/skills-vscode.json")), paths(project(".github/hooks/skills-vscode.json"))}, Windows: CmdExe,
			Handler: commandSeconds, Lines: []string{"command", "windows", "linux", "osx"},
			Switches: []Switch{{Files: paths(dir.below("settings.json"), project(".vscode/settings.json")), Key: []string{"chat.useHooks"}, Off: false}},
			Events:   []Event{{Name: "SessionStart", Kind: Start, Answer: wrapped, SetUp: true, Sample: `{` + vscodeFields + sampleSource + `}`}},
			Drops:    func(_ string, has func(string) bool) bool { return has("hookEventName") }}}
}

func openCode() Client {
	dir, more := config("opencode"), variable("OPENCODE_CONFIG_DIR", none)
	files := Places{
		paths(dir.below("opencode.json"), dir.below("opencode.jsonc"), dir.below("config.json")),
		paths(project("opencode.json"), project("opencode.jsonc"), project(".opencode/opencode.json"), project(".opencode/opencode.jsonc")),
	}
	read := Places{append(paths(variable("OPENCODE_CONFIG", none), more.below("opencode.json"), more.below("opencode.jsonc")), files.User...), files.Project}
	return Client{Name: "opencode", Title: "OpenCode", Home: dir, Bins: []string{"opencode"}, After: afterRestart,
		Folders: []string{".opencode", ".opencode/skill"}, Skills: paths(dir.below("skills"), dir.below("skill"), more.below("skills"), more.below("skill")),
		Named: Naming{read, map[string][]string{"skills.paths": {"."}}},
		SkillSwitches: &SkillSwitches{Files: layers{
			user:    paths(dir.below("config.json"), dir.below("opencode.json"), dir.below("opencode.jsonc"), variable("OPENCODE_CONFIG", none), more.below("opencode.json"), more.below("opencode.jsonc")),
			project: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"}}, Words: []string{"permission", "tools"}, Read: readPermission},
		MCP: MCP{Files: files, Key: []string{"mcp"}, Caller: "opencode", Entry: localList, Remote: remote(Object{{"type", "remote"}}, "url", "{env:VAR}", Member{"enabled", true})},
		Hook: &Hook{Arg: "opencode", Files: Places{paths(dir.below("plugins/repertoire.js")), paths(project(".opencode/plugins/repertoire.js"))},
			Script: openCodePlugin, Windows: CmdExe, Handler: commandOnly, Lines: []string{"command"},
			Events: []Event{
				{Name: "chat.message", Kind: Prompt, Answer: wrapped, SetUp: true, Sample: `{` + openCodeFields + `,"prompt_id":` + MarkTurn + samplePrompt + `}`},
				{Name: "tool.execute.after", Kind: Tool, SetUp: true},
				{Name: "session.compacted", Kind: Compact, SetUp: true},
			},
			Tools: Tools{Skill: []string{"skill"}, Read: []string{"read"}, Shell: []string{"bash"}}},
		Listing: &Listing{Overhead: 148, Whole: true}} // as measured
}

// openCodePlugin is a plugin of OpenCode 1 that calls the commands in it. The
// names of events are OpenCode's, their fields are the plugin's.
//
//go:embed opencode.js
var openCodePlugin string

func goose() Client {
	dir := on("windows", roaming("Block/goose/config"), config("goose"))
	return Client{Name: "goose", Title: "Goose", Home: dir, Bins: []string{"goose"},
		Folders: []string{".goose"}, Skills: paths(config("goose/skills")), Plugins: pluginsIn(home(shared + "/plugins")),
		MCP: MCP{Files: Places{User: paths(dir.below("config.yaml"))}, Format: YAML, Key: []string{"extensions"}, Entry: gooseExtension, Remote: gooseRemote}}
}

func amp() Client {
	dir := on("windows", home(".config/amp"), config("amp"))
	return Client{Name: "amp", Title: "Amp", Home: dir, Bins: []string{"amp"},
		Folders: []string{shared}, Skills: paths(dir.below("skills"), config("amp/skills"), config("agents/skills")),
		MCP: MCP{Files: Places{
			paths(dir.below("settings.json"), dir.below("settings.jsonc")),
			paths(project(".amp/settings.json"), project(".amp/settings.jsonc")),
		}, Key: []string{"amp.mcpServers"}, Entry: bare, Remote: remote(nil, "url", "${VAR}")}}
}

func windsurf() Client {
	dir := home(".codeium/windsurf")
	return Client{Name: "windsurf", Title: "Windsurf", Home: dir, Bins: []string{"windsurf"},
		Folders: []string{".windsurf"}, Skills: paths(dir.below("skills")),
		MCP: MCP{Files: Places{User: paths(dir.below("mcp_config.json"))}, Key: []string{"mcpServers"}, Entry: bare, Remote: remote(nil, "serverUrl", "${env:VAR}")}}
}

func openClaw() Client {
	dir := variable("OPENCLAW_STATE_DIR", home(".openclaw"))
	settings := Places{User: paths(variable("OPENCLAW_CONFIG_PATH", dir.below("openclaw.json")))}
	workspace := []string{"skills", ".agents/skills"} // the folders of skills in one, which come first
	return Client{Name: "openclaw", Title: "OpenClaw", Home: dir, Bins: []string{"openclaw"},
		After:         `"openclaw mcp doctor skills --probe" checks it`,
		Skills:        paths(dir.below("workspace/skills"), dir.below("workspace/.agents/skills"), dir.below("skills"), home(shared+"/skills")),
		Named:         Naming{settings, map[string][]string{"agents.defaults.workspace": workspace, "agents.list.*.workspace": workspace, "skills.load.extraDirs": {"."}}},
		SkillSwitches: &SkillSwitches{Files: layers{user: settings.User}, Words: []string{"entries"}, Read: readEntries},
		MCP: MCP{Files: settings,
			Key: []string{"mcp", "servers"}, Caller: "openclaw-bundle-mcp", Entry: bare, Remote: remote(nil, "url", "${VAR}", Member{"transport", "streamable-http"})},
		Listing: &Listing{Chars: 30_000, Skills: 150, Overhead: 97}} // the tags around a skill
}

func zed() Client {
	dir := on("windows", roaming("Zed"), config("zed"))
	return Client{Name: "zed", Title: "Zed", Home: dir, Bins: []string{"zed", "zeditor"},
		MCP: MCP{Files: Places{paths(dir.below("settings.json")), paths(project(".zed/settings.json"))}, Key: []string{"context_servers"}, Entry: custom, Remote: remote(nil, "url", "TOKEN"), Plain: true}}
}

func paths(list ...Path) []Path { return list }
