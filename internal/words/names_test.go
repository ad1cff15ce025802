package words

import (
	"fmt"
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
		{"slq", []string{"sql"}},
		{"qsl", []string{"sql"}},
		{"lsq", nil},
		{"kubernetes", nil},
		{"", nil},
		{strings.Repeat("pdf-forms", 40), nil},
	} {
		if diff := cmp.Diff(tt.want, Similar(tt.name, names)); diff != "" {
			t.Errorf("Similar(%q) (-want +got):\n%s", tt.name, diff)
		}
	}
	if got := Similar("e", []string{"a", "b", "c", "d"}); len(got) != 3 {
		t.Errorf("Similar(e) = %q, want three", got)
	}
}

func TestNameKey(t *testing.T) {
	for _, same := range [][2]string{{"PDF", "pdf"}, {" pdf\n", "pdf"}, {"ｐｄｆ", "pdf"}, {"e\u0301", "\u00c9"},
		{"Straße", "STRASSE"}, {"STRAẞE", "straße"}, {"Ёлка", "елка"}, {"е\u0308лка", "ёлка"}, {"ΣΟΦΌΣ", "σοφός"}, {"ё\u0308\u0300", "е\u0300"}} {
		if a, b := NameKey(same[0]), NameKey(same[1]); a != b {
			t.Errorf("%q has the key %q, %q has %q", same[0], a, same[1], b)
		} else if NameKey(a) != a {
			t.Errorf("the key %q has the key %q", a, NameKey(a))
		}
	}
	for _, other := range [][2]string{{"pdf-forms", "pdf forms"}, {"café", "cafe"}, {"й", "и"}, {"ö", "oe"}} {
		if SameName(other[0], other[1]) {
			t.Errorf("%q and %q are one name", other[0], other[1])
		}
	}
}

func TestSuggest(t *testing.T) {
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprintf("n%02d", i))
	}
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"pdf", nil, ""},
		{"pfd", []string{"sql", "zip"}, "; there are: sql, zip"},
		{"sqk", []string{"zip", "sql"}, "; did you mean sql?"},
		{"n1", many[10:14], "; did you mean n10, n11, n12?"},
		{"zip", many[:20], "; there are: " + strings.Join(many[:20], ", ")},
		{"zip", many, "; there are 21, such as " + strings.Join(many[:10], ", ")},
	} {
		if got := Suggest(tt.name, tt.known); got != tt.want {
			t.Errorf("Suggest(%q, %q) = %q, want %q", tt.name, tt.known, got, tt.want)
		}
	}
}
