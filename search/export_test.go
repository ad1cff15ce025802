package search

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	Depth     = depth
	BodyStart = bodyStart
)

// CheckSnippet checks what is true of every snippet.
func CheckSnippet(t testing.TB, s Snippet, length int) {
	t.Helper()
	if length <= 0 {
		length = snippetLength
	}
	if n := utf8.RuneCountInString(s.Text); n > max(length, 4) || !utf8.ValidString(s.Text) || (s.Text == "") != (len(s.Matches) == 0) {
		t.Fatalf("%d characters of %d, %d matches: %q", n, length, len(s.Matches), s.Text)
	}
	if i := strings.IndexFunc(s.Text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' }); i >= 0 {
		t.Fatalf("%q has %q", s.Text, s.Text[i:])
	}
	end := -1
	for _, m := range s.Matches {
		if m[0] <= end || m[1] <= m[0] || m[1] > len(s.Text) || !utf8.ValidString(s.Text[m[0]:m[1]]) {
			t.Fatalf("matches %v in %q", s.Matches, s.Text)
		}
		end = m[1]
	}
}

// Compiled returns what SQLite gets of a query in the query language.
func Compiled(text string) string {
	q, err := query.Parse(text)
	if err != nil {
		return err.Error()
	}
	return q.FTS()
}

// MostScopes bounds how many scopes a set remembers.
const MostScopes = mostScopes

// Scopes returns how many scopes the current set remembers.
func Scopes(t testing.TB, x *Searcher) int {
	t.Helper()
	set, err := x.sets.Current(t.Context())
	must.Do(t, err)
	return len(memoryOf[viewKey, *snapshot.Scope](set).values)
}
