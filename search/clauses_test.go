package search_test

import (
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// TestClauses: a prompt with two needs gets a skill for each, in their order and behind the best for
// the whole; where nothing fits the second need, nothing moves. The order does not depend on the threshold.
func TestClauses(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("incident-review", "Writes the post mortem of an outage: timeline, impact, causes, actions", ""),
		searchtest.Skill("outage-alerts", "Sets up alerts for an outage and its impact, and who writes to customers", ""),
		searchtest.Skill("outage-drill", "Plans a drill of an outage: timeline, roles, causes", ""),
		searchtest.Skill("slide-deck", "Makes slides for a meeting from notes", ""),
		searchtest.Skill("csv", "Reads tables", ""), searchtest.Skill("git", "Finds the commit that broke a test", ""),
	).Refs())
	for text, want := range map[string][2]string{
		"write the incident review, a post mortem of the outage with impact, timeline and causes, then make slides for the meeting": {"incident-review", "slide-deck"},
		"write the incident review, a post mortem of the outage with impact, timeline and causes, then water the green plants":      {"incident-review", "outage-alerts"},
	} {
		usual := searchtest.Ask(t, x, search.Query{Text: text})
		ids := searchtest.IDs(usual.Hits)
		if len(ids) < 2 || ids[0] != want[0] || ids[1] != want[1] {
			t.Fatalf("%q finds %q", text, ids)
		}
		second := usual.Hits[1]
		if part := "then make slides for the meeting"; want[1] == "slide-deck" && (second.Part != part || !second.Relevant) || want[1] != "slide-deck" && second.Part != "" {
			t.Errorf("%q: %s is relevant %t, for %q", text, second.ID, second.Relevant, second.Part)
		}
		if got := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: text, Threshold: search.Always}).Hits); !slices.Equal(got, ids) {
			t.Errorf("%q: %q at any threshold, %q at the usual one", text, got, ids)
		}
	}
}
