package skill

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimilar(t *testing.T) {
	names := []string{"pdf-forms", "pdf-merge", "code-review", "review", "sql", "scripts/fields.py", "Überblick"}
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"pdf-form", []string{"pdf-forms"}},
		{"PDF-FORMS", []string{"pdf-forms"}},
		{"reveiw", []string{"review"}},
		{"review", []string{"review", "code-review"}},
		{"fields.py", []string{"scripts/fields.py"}},
		{"uberblick", []string{"Überblick"}},
		{"sqk", []string{"sql"}},
		{"kubernetes", nil},
		{"", nil},
		{strings.Repeat("pdf-forms", 40), nil},
	} {
		if diff := cmp.Diff(tt.want, Similar(tt.name, names, 3)); diff != "" {
			t.Errorf("Similar(%q) (-want +got):\n%s", tt.name, diff)
		}
	}
	if got := Similar("pdf", names, 1); len(got) != 1 {
		t.Errorf("Similar(pdf) with a limit of 1 = %q", got)
	}
}
