package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFixRestores: a change that does not remove its finding is undone.
func TestFixRestores(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "SKILL.md")
	const text = "\ufeff---\nname: a\ndescription: Sorts mail. Use when asked.\n---\nSort.\n"
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	src, err := source.Dir(dir, nil)
	must.Do(t, err)
	for _, after := range []string{text + "More.\n", "no skill\n"} {
		list, err := Fixes(t.Context(), []source.Source{src}, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%d fixes, %v", len(list), err)
		}
		list[0].after = []byte(after)
		if err := list[0].Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "was restored") || list[0].Written {
			t.Errorf("%q: %v", after, err)
		}
		if now, err := os.ReadFile(name); err != nil || string(now) != text {
			t.Errorf("%q left %q, %v", after, now, err)
		}
	}
}
