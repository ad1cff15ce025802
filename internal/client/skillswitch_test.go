package client

import (
	"fmt"
	"path/filepath"
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
