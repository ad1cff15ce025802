package clientstest

import (
	"context"
	_ "embed"
	"fmt"
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

	settings func(url string) map[string]string // see Settings
	environ  func(url string) []string
	args     func(prompt string) []string
}

// Settings returns the files that the client needs before setup, by their paths in the home: where
// the model is, and that nothing else is asked.
func (c *Client) Settings(url string) map[string]string {
	if c.settings == nil {
		return nil
	}
	return c.settings(url)
}

// Ask sends a prompt and returns what the client prints.
func (c *Client) Ask(ctx context.Context, h *Home, url, prompt string) (string, error) {
	return h.Run(ctx, c.environ(url), filepath.Join(h.modules, filepath.FromSlash(c.Program)), c.args(prompt)...)
}

// Clients returns the clients that are run.
func Clients() []Client {
	return []Client{
		{Name: "claude", Package: "@anthropic-ai/claude-code", Program: "@anthropic-ai/claude-code-" + platform() + "/claude", Copies: ".claude/backups",
			environ: func(url string) []string {
				return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
			},
			args: func(prompt string) []string {
				return []string{"-p", prompt, "--allowedTools", "mcp__skills__read_skill"}
			}},
		{Name: "codex", Package: "@openai/codex", Program: ".bin/codex",
			settings: func(url string) map[string]string {
				return map[string]string{".codex/config.toml": fmt.Sprintf(`model = %q
model_provider = "test"
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.test]
name = "test"
base_url = "%s/v1"
wire_api = "responses"
env_key = "TEST_KEY"

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
`, Model, url)}
			},
			environ: func(string) []string { return []string{"TEST_KEY=none"} },
			args: func(prompt string) []string {
				return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt}
			}},
		{Name: "gemini", Package: "@google/gemini-cli", Program: ".bin/gemini",
			settings: func(string) map[string]string {
				return map[string]string{".gemini/settings.json": `{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}
}
`}
			},
			environ: func(url string) []string {
				return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
			},
			args: func(prompt string) []string {
				return []string{"-m", "gemini-2.5-pro", "-p", prompt, "--skip-trust", "--approval-mode", "yolo"}
			}},
		{Name: "copilot", Package: "@github/copilot", Program: ".bin/copilot",
			environ: func(url string) []string {
				return []string{"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_MODEL=" + Model, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false"}
			},
			args: func(prompt string) []string { return []string{"-p", prompt, "--allow-all-tools"} }},
		{Name: "opencode", Package: "opencode-ai", Program: "opencode-" + platform() + "/bin/opencode",
			settings: func(url string) map[string]string {
				return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false,
  "share": "disabled",
  "model": "test/%[1]s",
  "small_model": "test/%[1]s",
  "provider": {
    "test": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "test",
      "options": {"baseURL": "%[2]s/v1", "apiKey": "none"},
      "models": {"%[1]s": {"name": "test"}}
    }
  }
}
`, Model, url)}
			},
			environ: func(string) []string {
				return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "npm_config_offline=true"}
			},
			args: func(prompt string) []string { return []string{"run", "-m", "test/" + Model, prompt} }},
		{Name: "qwen", Package: "@qwen-code/qwen-code", Program: ".bin/qwen",
			settings: func(string) map[string]string {
				return map[string]string{".qwen/settings.json": `{
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}
}
`}
			},
			environ: func(url string) []string {
				return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=" + Model, "QWEN_CODE_TRUST_WORKSPACE=true"}
			},
			args: func(prompt string) []string { return []string{"-p", prompt, "--approval-mode", "yolo"} }},
	}
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
