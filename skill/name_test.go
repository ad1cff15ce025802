package skill_test

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
)

func TestIsPortableName(t *testing.T) {
	for name, want := range map[string]bool{
		"pdf": true, "pdf-forms": true, "3d-print-2": true, strings.Repeat("a", 64): true,
		"": false, "-pdf": false, "pdf-": false, "pdf--forms": false, "PDF": false, "pdf_forms": false, "pdf forms": false,
		"größe": false, "ﬁt": false, "a/b": false, "con": false, "aux": false, "com1": false, "con-1": true, "com": true, strings.Repeat("a", 65): false,
	} {
		if got := skill.IsPortableName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
