package client

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestDepth: a file of settings that is nested without end, which a project may have, is an
// error; no parser overflows the stack. Brackets in texts and comments count for nothing.
func TestDepth(t *testing.T) {
	const many = 2_000_000
	home, project := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		must.Write(t, name, text)
	}
	write(filepath.Join(home, ".claude/plugins/installed_plugins.json"), `{"plugins": {"a@b": []}}`)
	write(filepath.Join(project, ".claude/settings.json"), strings.Repeat(`["]",/*]*/`, many/10))
	m := &Machine{OS: "linux", Home: home, Getenv: func(string) string { return "" }}
	if _, errs := m.Plugins([]string{project}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "nested too deeply") {
		t.Errorf("the errors are %v", errs)
	}
	for text, deep := range map[string]bool{
		strings.Repeat("[", maxDepth):                                       false,
		strings.Repeat("[", maxDepth+1):                                     true,
		strings.Repeat(`{"]}": `, maxDepth+1):                               true,
		strings.Repeat("// \" ] \n[", maxDepth+1):                           true,
		strings.Repeat(`["\"]", /* " ] */ `, maxDepth+1):                    true,
		strings.Repeat("[]", many):                                          false,
		`"` + strings.Repeat("[", many) + `"//` + strings.Repeat("[", many): false,
		"/*" + strings.Repeat("[", many):                                    false,
		`"\`:                                                                false,
	} {
		if err := CheckDepth([]byte(text)); deep != (err != nil) {
			t.Errorf("%.20q…: %v", text, err)
		}
	}
}
