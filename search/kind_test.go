package search_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// TestQuiet: for a prompt of a kind that needs no skill only the skills that it names
// are relevant; the hits of a search stay the same.
func TestQuiet(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(20)
	src["parcels"] = searchtest.Skill("parcels", "Tracks parcels of every carrier and writes to whoever waits for them too long", "body")
	searchtest.Sync(t, x, "a", src.Refs())
	for prompt, want := range map[string]string{
		"track the parcels of this carrier":        "parcels",
		"/model track the parcels of this carrier": "",
		"/parcels":                  "parcels",
		"$ track parcels --carrier": "",
		"parcels/a.go:1:2: undefined: carrier\nparcels/a.go:2:2: undefined: track": "",
	} {
		a := searchtest.Ask(t, x, search.Query{Text: prompt})
		if len(a.Hits) == 0 || a.Hits[0].ID != "parcels" {
			t.Fatalf("%q finds %q", prompt, searchtest.IDs(a.Hits))
		}
		if got := a.Hits[0].Relevant; got != (want != "") {
			t.Errorf("%q (%s): relevant %v", prompt, a.Kind, got)
		}
	}
}
