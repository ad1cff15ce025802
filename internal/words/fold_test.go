package words

import (
	"testing"
	"unicode/utf8"
)

// FuzzFold: folding only the parts beyond ASCII gives the same result as folding the whole
// text.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "plain", "é", "e\u0301x", "x\u0301\u0301 y", "ﬁx ½ Å\u0327b", "日本 a\u3099", "ΑΆ\u0345z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // what norm makes of other bytes depends on those around
		}
		if got, want := Fold(s), foldPart(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	})
}
