package clientstest

import (
	"context"
	_ "embed"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed versions.txt
var versions string

// A Client is an agent client that is run.
type Client struct {
	Name    string // as setup calls it
	Package string // of npm
	Program string // in node_modules
	Copies  string // a folder in the home where the client keeps old settings; "": none

	// What it needs to ask our model and nobody else. Words in braces stand for what they name.
	file, settings string // a file in the home, and what is in it before setup; "": none
	environ, args  []string

	// What a file in the home holds where the person trusts a project; "": the client reads the
	// files of a project anyhow, or is told with each prompt that it may.
	trustFile, trust string
}

// Clients returns the clients that are run.
func Clients() []Client {
	return []Client{
		{Name: "claude", Package: "@anthropic-ai/claude-code", Program: "@anthropic-ai/claude-code-" + platform() + "/claude", Copies: ".claude/backups",
			environ: []string{"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_API_KEY=none", "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			args:    []string{"-p", "{PROMPT}", "--allowedTools", "mcp__skills__read_skill"}},
		{Name: "codex", Package: "@openai/codex", Program: ".bin/codex",
			file: ".codex/config.toml", settings: codexSettings,
			trustFile: ".codex/config.toml", trust: codexSettings + "\n[projects.\"{PROJECT}\"]\ntrust_level = \"trusted\"\n",
			environ: []string{"TEST_KEY=none"},
			args:    []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "{PROMPT}"}},
		{Name: "gemini", Package: "@google/gemini-cli", Program: ".bin/gemini",
			file: ".gemini/settings.json", settings: geminiSettings,
			environ: []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL={URL}", "GEMINI_CLI_TRUST_WORKSPACE=true"},
			args:    []string{"-m", "gemini-2.5-pro", "-p", "{PROMPT}", "--skip-trust", "--approval-mode", "yolo"}},
		{Name: "qwen", Package: "@qwen-code/qwen-code", Program: ".bin/qwen",
			file: ".qwen/settings.json", settings: qwenSettings,
			environ: []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL={URL}/v1", "OPENAI_MODEL={MODEL}"},
			args:    []string{"-p", "{PROMPT}", "--approval-mode", "yolo"}},
		{Name: "copilot", Package: "@github/copilot", Program: ".bin/copilot",
			environ:   []string{"COPILOT_PROVIDER_BASE_URL={URL}/v1", "COPILOT_MODEL={MODEL}", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false"},
			trustFile: ".copilot/config.json", trust: `{"trustedFolders": ["{PROJECT}"]}`,
			args: []string{"-p", "{PROMPT}", "--allow-all-tools"}},
		{Name: "opencode", Package: "opencode-ai", Program: "opencode-" + platform() + "/bin/opencode",
			file: ".config/opencode/opencode.json", settings: openCodeSettings,
			environ: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "npm_config_offline=true"},
			args:    []string{"run", "-m", "test/{MODEL}", "{PROMPT}"}},
	}
}

const codexSettings = `model = "{MODEL}"
model_provider = "test"
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.test]
name = "test"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "TEST_KEY"

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
`

const geminiSettings = `{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}
}
`

const qwenSettings = `{
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}
}
`

const openCodeSettings = `{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false,
  "share": "disabled",
  "model": "test/{MODEL}",
  "small_model": "test/{MODEL}",
  "provider": {
    "test": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "test",
      "options": {"baseURL": "{URL}/v1", "apiKey": "none"},
      "models": {"{MODEL}": {"name": "test"}}
    }
  }
}
`

// Settings returns the files that the client needs before setup, by their paths in the home.
func (c *Client) Settings(url string) map[string]string {
	if c.file == "" {
		return nil
	}
	return map[string]string{c.file: filled([]string{c.settings}, url, "")[0]}
}

// Ask sends a prompt and returns what the client prints.
func (c *Client) Ask(ctx context.Context, h *Home, url, prompt string) (string, error) {
	return h.Run(ctx, filled(c.environ, url, ""), filepath.Join(h.modules, filepath.FromSlash(c.Program)), filled(c.args, url, prompt)...)
}

// NeedsTrust reports whether the client reads the files of a project only where the person trusts it.
func (c *Client) NeedsTrust() bool { return c.trust != "" }

// Trust has the client trust the project of a home.
func (c *Client) Trust(h *Home, url string) error {
	return h.write(c.trustFile, strings.ReplaceAll(filled([]string{c.trust}, url, "")[0], "{PROJECT}", h.Project))
}

// filled returns texts with what the words in them stand for.
func filled(texts []string, url, prompt string) []string {
	words := strings.NewReplacer("{URL}", url, "{MODEL}", Model, "{PROMPT}", prompt)
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = words.Replace(text)
	}
	return list
}

// Version returns the version of a client that is pinned.
func (c *Client) Version() string {
	for line := range strings.Lines(versions) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), c.Package+"@"); ok {
			return v
		}
	}
	return ""
}

// platform is the end of the names of packages with programs for this machine.
func platform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// node is the package with Node.js.
func node() string { return "node-" + platform() }
