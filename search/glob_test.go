package search

import (
	"path"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "x", false}, {"git", "GIT", true}, {"git", "gitt", false}, {" Git ", "git", true},
		{"*", "", true}, {"*", "a/b", true}, {"*", "secret/..", true}, {"*", "line\nfeed", true}, {"*", "\xff", true},
		{"secret*", "secret/b", true}, {"secret*", "a/secret", false}, {"*/b", "secret/a/b", true}, {"a*b*c", "a/b/b/c", true}, {"a*b*c", "acb", false},
		{"a?c", "a/c", true}, {"a?c", "aжc", true}, {"a?c", "ac", false}, {"?", "", false},
		{"x[a-c]", "xB", true}, {"x[a-c]", "xd", false}, {"x[^a-c]", "xd", true}, {"x[^a-c]", "x/", true}, {"x[^a-c]", "x", false}, {"[А-Я]*", "ёлка", true}, {"[А-Я]*", "Юла", true},
		{`a\*b`, "a*b", true}, {`a\*b`, "axb", false}, {`\[x]`, "[x]", true}, {`x[\]\-]`, "x-", true}, {`a\B`, "ab", true},
		{"ﬁle", "file", true}, {"file", "ﬁle", true}, {"＊", "x", false}, {"＊", "*", true}, {"e\u0301*", "Été", true},
		{"straße", "STRASSE", true}, {"strass*", "Straße", true}, {"*ße", "Strasse", true}, {"stra?e", "Straße", true}, {"stra??e", "Straße", true}, {"stra?e", "strasse", false},
		{"stra[ß]e", "STRAẞE", true}, {"?straße-gro?", "xStraße-groß", true}, {"pa?", "pass", false}, {"[ё]лка", "елка", true}, {"[а-ё]ук", "жук", true}, {"[^ё]лка", "елка", true}, {"[^ё]лка", "ёлка", false},
	} {
		g, err := parseGlob(tt.pattern)
		if err != nil || g.matchName(tt.name) != tt.want {
			t.Errorf("%q matches %q: %t, %v", tt.pattern, tt.name, !tt.want, err)
		}
	}
	for _, pattern := range []string{"[", "[]", "[^]", "[]a]", "[a", "[a-", "[a-]", "[-a]", "[z-a]", `\`, `a\`, `[\`, "x[y"} {
		if g, err := parseGlob(pattern); err == nil {
			t.Errorf("%q is a pattern: %+v", pattern, g)
		}
	}
}

// FuzzGlob: any text is a pattern or an error, a name as a literal matches itself, and
// where path.Match means the same, both say the same.
func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{"*", "a*b?c", "[a-c]*", `\*`, "[^x]y", "*a*b*c*", "plain"} {
		f.Add(pattern, "abc")
	}
	f.Add("*", "a/b\n\xff")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		key := words.NameKey(name)
		literal := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(strings.TrimSpace(name))
		if g, err := parseGlob(literal); err != nil || !g.matchName(name) {
			t.Errorf("%q does not match itself: %+v, %v", name, g, err)
		}
		g, err := parseGlob(pattern)
		if err != nil {
			return
		}
		got := g.match(key)
		if !strings.HasPrefix(key, g.prefix()) && got {
			t.Errorf("%q matches %q, which does not begin with %q", pattern, key, g.prefix())
		}
		plain := strings.TrimSpace(strings.ToLower(pattern)) == pattern && !strings.ContainsFunc(pattern+key, func(r rune) bool { return r == '/' || r > 126 })
		if want, err := path.Match(pattern, key); plain && (err != nil || got != want) {
			t.Errorf("%q matches %q: %t, but path.Match says %t, %v", pattern, key, got, want, err)
		}
	})
}
