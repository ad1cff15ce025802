package index

import "testing"

// TestQuiet: a prompt of a kind that wants no skill gets what it names, and the
// hits of a search are the same.
func TestQuiet(t *testing.T) {
	x := newIndex(t, nil)
	src := manySkills(20)
	src["parcels"] = newSkill("parcels", "Tracks parcels of every carrier and writes to whoever waits for them too long", "body")
	syncTree(t, x, "a", src.refs())
	for prompt, want := range map[string]string{
		"track the parcels of this carrier":        "parcels",
		"/model track the parcels of this carrier": "",
		"/parcels":                  "parcels",
		"$ track parcels --carrier": "",
		"parcels/a.go:1:2: undefined: carrier\nparcels/a.go:2:2: undefined: track": "",
	} {
		a := search(t, x, Query{Text: prompt})
		if len(a.Hits) == 0 || a.Hits[0].ID != "parcels" {
			t.Fatalf("%q finds %q", prompt, idsOf(a.Hits))
		}
		if got := a.Hits[0].Relevant; got != (want != "") {
			t.Errorf("%q (%s): relevant %v", prompt, a.Kind, got)
		}
	}
}
