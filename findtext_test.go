package repertoire_test

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFindTextByEncoder: the built-in encoder finds what a text says in other words, in a catalog
// that ranks with it; the text of files goes to no other encoder.
func TestFindTextByEncoder(t *testing.T) {
	testsize.Long(t) // under the race detector a passage takes longer than a question waits
	builtIn, err := contextual.Default()
	must.Do(t, err)
	archive, err := txtar.ParseFile("internal/sections/testdata/own/expenses.txtar")
	must.Do(t, err)
	files := make(map[string]string)
	for _, f := range archive.Files[:len(archive.Files)-1] { // the last has questions
		files["expense-audit/"+f.Name] = string(f.Data)
	}
	other := struct{ embed.Embedder }{builtIn} // as one on a server
	for name, tt := range map[string]struct {
		encoder embed.Embedder
		found   bool
		mode    string
	}{"built in": {builtIn, true, "hybrid, contextual"}, "none": {embed.None{}, false, "hybrid"}, "other": {other, false, "hybrid"}} {
		c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "office", 0, files)}, Contextual: tt.encoder})
		found := false
		for range 20 { // a slow machine keeps what it has encoded for the next time
			p, err := c.FindText(t.Context(), contextprovider.TextQuery{Skill: "expense-audit", Text: "is a speeding ticket reimbursed", Limit: 3}, nil)
			must.Do(t, err)
			if late := p.Mode == "hybrid, encoder late"; late != (p.Unusual() != "") || !late && p.Mode != tt.mode {
				t.Errorf("%s: mode %q, unusual %q", name, p.Mode, p.Unusual())
			}
			found = found || slices.ContainsFunc(p.Passages, func(p contextprovider.Passage) bool {
				return p.Path == "references/policy.md" && p.First <= 24 && p.Last >= 25
			})
		}
		if found != tt.found {
			t.Errorf("%s: found %t, want %t", name, found, tt.found)
		}
	}
}
