package intent

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
)

func TestClauses(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   nil,
		"fix the login page": nil,
		"search and replace": nil, // too few words beside "and"
		"write release notes, with links to pulls":                                       nil,
		"write the post mortem of the outage and make slides for the monday meeting":     {"write the post mortem of the outage", "and make slides for the monday meeting"},
		"First, merge the three invoices. Then send my customer an answer. Thanks":       {"First, merge the three invoices.", "Then send my customer an answer. Thanks"},
		"please:\n- deploy the new service\n- warn the support team":                     {"please:\n- deploy the new service", "warn the support team"},
		"Prüfe die Rechnung vom Mai und schreib dem Kunden eine Mahnung":                 {"Prüfe die Rechnung vom Mai", "und schreib dem Kunden eine Mahnung"},
		"整理会议记录。把结论发给客户。":                                                                {"整理会议记录。", "把结论发给客户。"},
		"write the post mortem with impact and causes, then make slides for the meeting": {"write the post mortem with impact and causes,", "then make slides for the meeting"},
		"bump v1.2.3 of example.com/module in go.mod":                                    nil, // dots inside of words
	} {
		if got := Clauses(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzClauses: the clauses of a text stand in it, one behind the other, and nothing is left out between
// them but blanks and marks.
func FuzzClauses(f *testing.F) {
	f.Add("write the post mortem of the outage and make slides for the monday meeting. Thanks")
	f.Add("a b c\n\n d e f;g h i")
	f.Fuzz(func(t *testing.T, text string) {
		rest, list := text, Clauses(text)
		for i, c := range list {
			before, after, ok := strings.Cut(rest, c)
			if !ok || i > 0 && strings.ContainsFunc(before, words.IsLetter) {
				t.Fatalf("%q: %q does not follow", text, c)
			}
			rest = after
		}
		if len(list) == 1 || len(list) > 0 && strings.ContainsFunc(rest, words.IsLetter) {
			t.Errorf("%q: %q", text, list)
		}
	})
}
