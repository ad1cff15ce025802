package repertoire_test

import (
	"errors"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/source"
)

// TestSyntax asks a catalog as a program would.
func TestSyntax(t *testing.T) {
	c := scanned(t, repertoire.Config{Sources: []*source.FS{memory(t, "a", 1, docs("forms", "letters"))}})
	q := repertoire.Query{Text: `"body of form*" NOT letter`, Syntax: true}
	answer, err := c.Search(t.Context(), q)
	try(t, err)
	if len(answer.Hits) != 1 || answer.Hits[0].ID != "forms" || answer.Mode != "syntax" {
		t.Fatalf("%+v", answer)
	}
	q.Text = `forms NOT`
	var wrong *repertoire.SyntaxError
	if _, err := c.Search(t.Context(), q); !errors.As(err, &wrong) || wrong.Column != 7 || wrong.Offset != 6 {
		t.Errorf("error %v", err)
	}
}
