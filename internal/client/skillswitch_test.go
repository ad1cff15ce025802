package client

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestReadSwitches: what each client's settings say of skills, in the forms that the client takes.
func TestReadSwitches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ client, text, want string }{
		{"claude", `{"skillOverrides": {"a": "off", "b": "user-invocable-only", "c": "name-only", "d": "on", "e": 7}}`, "a off, b user, c on, d on"},
		{"claude", "{ // mine\n\"permissions\": {\"deny\": [\"Skill(x)\", \"Skill(y:*)\", \"Skill(p:x)\", \"Skill(z *)\", \"Bash(rm)\", \"SkillX\", 3,]}}", "x off!, y* off!, p:x off!, z off!"},
		{"claude", `{"permissions": {"deny": ["Skill"]}}`, "* off!"},
		{"codex", "[[skills.config]]\nname = \"x\"\nenabled = false\n[[skills.config]]\nname = \"y\"\n[[skills.config]]\nname = \"z\"\nenabled = true\n", "x off, z on"},
		{"gemini", `{"skills": {"disabled": ["X", 1]}}`, "X off!"},
		{"qwen", `{"skills": {"enabled": false}}`, "* off!"},
		{"opencode", `{"permission": {"skill": {"*": "allow", "in-*": "deny", "in-a": "ask"}}}`, "* on, in-* off, in-a on"},
		{"opencode", `{"permission": "deny"}`, "* off"},
		{"opencode", `{"tools": {"skill": false}, "permission": {"bash": "deny"}}`, "* off"},
		{"openclaw", `{"skills": {"entries": {"x": {"enabled": false}, "y": {"enabled": true}, "z": true}}}`, "x off"},
		{"openclaw", "// mine\n{skills: {entries: {'x-y': {enabled: false,}, \"it's\": {enabled: false}, /* all */ z: {enabled: true}}}, more: [.5, 0xFF, +1., -Infinity, 'a\\\nb']}", "it's off, x-y off"},
		{"claude", `{"hooks": {}}`, ""}, {"codex", "model = \"m\"\n", ""},
	} {
		c, _ := Find(tt.client)
		file := filepath.Join(t.TempDir(), "settings")
		must.Write(t, file, tt.text)
		list, err := new(Machine).ReadSwitches(c, file)
		must.Do(t, err)
		var got []string
		for _, s := range list {
			final := map[bool]string{true: "!"}[s.Final]
			got = append(got, fmt.Sprint(s.Names, " ", [...]string{"on", "user", "off"}[s.Use], final))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %s says %q, want %s", tt.client, tt.text, got, tt.want)
		}
		if tt.want != "" {
			must.Write(t, file, tt.text[:len(tt.text)/2]+"\x00[[")
			if list, err := new(Machine).ReadSwitches(c, file); err == nil && len(list) > 0 {
				t.Errorf("%s: half of %s says %v", tt.client, tt.text, list)
			}
		}
	}
	if list, err := new(Machine).ReadSwitches(claude(), filepath.Join(t.TempDir(), "none")); list != nil || err != nil {
		t.Errorf("no file says %v, %v", list, err)
	}
}

// TestOwnedSettings: hooks and skills are switched off in the same files of whoever manages the
// machine, also where a variable moves them.
func TestOwnedSettings(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"gemini": "GEMINI_CLI", "qwen": "QWEN_CODE"} {
		c, _ := Find(name)
		env := map[string]string{prefix + "_SYSTEM_SETTINGS_PATH": "/rules/all.json"}
		m := &Machine{OS: "linux", Home: "/home/me", Project: "/work", Getenv: func(key string) string { return env[key] }}
		want := []string{"/rules/system-defaults.json", "/home/me/." + name + "/settings.json", "/work/." + name + "/settings.json", "/rules/all.json"}
		for i := range want {
			want[i] = filepath.FromSlash(want[i])
		}
		var hooks []string
		for _, at := range c.Hook.Switches[0].Files {
			hooks = append(hooks, at(m))
		}
		for what, got := range map[string][]string{"skills": m.SwitchFiles(c, []string{"/work"}), "hooks": hooks} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s in %q, want %q", name, what, got, want)
			}
		}
		env[prefix+"_SYSTEM_DEFAULTS_PATH"] = "/own.json"
		if got, want := m.SwitchFiles(c, nil)[0], filepath.FromSlash("/own.json"); got != want {
			t.Errorf("%s: defaults in %s, want %s", name, got, want)
		}
	}
}
