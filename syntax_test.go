package repertoire_test

import (
	"errors"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestSyntax asks a catalog as a program would: a query, and what matches.
func TestSyntax(t *testing.T) {
	c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 1, docs("forms", "letters"))}})
	q := repertoire.Query{Text: `"body of form*" NOT letter`, Syntax: true}
	answer, err := c.Search(t.Context(), q)
	must.Do(t, err)
	if len(answer.Hits) != 1 || answer.Hits[0].ID != "forms" || answer.Mode != "syntax" {
		t.Fatalf("%+v", answer)
	}
	list, err := c.Snippets(t.Context(), q, []repertoire.Entry{answer.Hits[0].Entry}, 0)
	must.Do(t, err)
	if s := list[0]; s.Text != "Body of forms." || len(s.Matches) != 2 || s.Text[s.Matches[1][0]:s.Matches[1][1]] != "forms" {
		t.Errorf("snippet %+v", list[0])
	}
	q.Text = `forms NOT`
	var wrong *repertoire.SyntaxError
	if _, err := c.Search(t.Context(), q); !errors.As(err, &wrong) || wrong.Column != 7 || wrong.Offset != 6 {
		t.Errorf("error %v", err)
	}
	if _, err := c.Snippets(t.Context(), q, nil, 0); !errors.As(err, &wrong) {
		t.Errorf("snippets: %v", err)
	}
}
