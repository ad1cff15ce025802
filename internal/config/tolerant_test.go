package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestTolerantJSON: files of clients are read as clients read them, with a byte order mark, comments
// and trailing commas.
func TestTolerantJSON(t *testing.T) {
	tolerant := func(text string) string {
		return "\ufeff// mine\n" + strings.TrimSuffix(text, "}") + ", /* and no more */ }\n"
	}
	files := map[string]string{
		".claude/settings.json":                                  `{"enabledPlugins": {"alpha@market": true}, "permissions": {"additionalDirectories": ["~/docs"]}}`,
		".claude/plugins/installed_plugins.json":                 `{"version": 2, "plugins": {"alpha@market": [{"scope": "user", "installPath": "cache/alpha"}]}}`,
		".claude/plugins/cache/alpha/.claude-plugin/plugin.json": `{"name": "first", "skills": ["./more"]}`,
		".copilot/config.json":                                   `{"installed_plugins": [{"name": "on", "enabled": true, "cache_path": "HOME/on"}]}`,
		".gemini/extensions/ext/gemini-extension.json":           `{"name": "ext"}`,
		".gemini/extensions/off/gemini-extension.json":           `{"name": "off"}`,
		".gemini/extensions/extension-enablement.json":           `{"off": {"overrides": ["!/*"]}}`,
		".openclaw/openclaw.json":                                `{"skills": {"load": {"extraDirs": ["~/packs"]}}}`,
		".config/opencode/opencode.json":                         `{"skills": {"paths": ["~/paths"]}}`,
	}
	home, project := homeWith(t, nil)
	for name, text := range files {
		must.Write(t, filepath.Join(home, filepath.FromSlash(name)), tolerant(strings.ReplaceAll(text, "HOME", filepath.ToSlash(home))))
	}
	for _, at := range []string{"docs/.claude/skills/a", ".claude/plugins/cache/alpha/more/b", "on/skills/c", ".gemini/extensions/ext/skills/d", ".gemini/extensions/off/skills/no", "packs/e", "paths/f"} {
		must.Write(t, filepath.Join(home, filepath.FromSlash(at), "SKILL.md"), aSkill(at[strings.LastIndexByte(at, '/')+1:]))
	}
	_, found, warned := skills(t, project)
	want := []string{"plugin:ext d", "plugin:first b", "plugin:on c", "user:docs/.claude a", "user:packs e", "user:paths f"}
	if diff := cmp.Diff(want, found); diff != "" || len(warned) > 0 {
		t.Errorf("skills (-want +got):\n%s\nwarnings %v", diff, warned)
	}
}
