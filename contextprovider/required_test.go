package contextprovider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// tower is a catalog in which a prompt about towers wants two skills, that require others.
func tower(t *testing.T) *kit {
	return open(t, memory(t, "tools", map[string]string{
		"tower/SKILL.md":   doc("tower", "Zibbel snarks towers.", "", "requires: [stone, ladder]"),
		"spire/SKILL.md":   doc("spire", "Zibbel snarks towers that are spires.", "", "dependencies: [ladder, nowhere]"),
		"stone/SKILL.md":   doc("stone", "Cuts stones of every size for walls, arches and the floors of chapels. It takes a while.", "", "requires: [quarry, tower]"),
		"quarry/SKILL.md":  doc("quarry", "Digs.", "", "requires: [road]"),
		"road/SKILL.md":    doc("road", "Leads there.", "", "requires: [map]"),
		"map/SKILL.md":     doc("map", "Shows the way.", ""),
		"ladder/SKILL.md":  doc("ladder", "Climbs.", "", "requires: [ladder]"),
		"unasked/SKILL.md": doc("unasked", "Needs a moat.", "", "requires: [moat]"),
		"moat/SKILL.md":    doc("moat", "Keeps foes out.", ""),
	}), everyday(t))
}

// withRequired returns the listed skills of a block, each with the skill that requires it.
func withRequired(b contextprovider.Block) string {
	var ids []string
	for _, h := range b.Skills {
		id := h.ID
		if h.RequiredBy != "" {
			id += "<" + h.RequiredBy
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

// TestRequired: what listed skills require follows them, within the budget, the scope and
// a bound of steps, each once.
func TestRequired(t *testing.T) {
	k := tower(t)
	only := func(names ...string) *search.Agent {
		return &search.Agent{Name: "a", Include: search.Rules{Names: names}}
	}
	first := k.block(t, "zibbel snarks towers", contextprovider.Budget{Skills: 1, Threshold: search.Always}, nil)
	tests := []struct {
		name   string
		budget contextprovider.Budget
		agent  *search.Agent
		want   string
	}{
		{"all", contextprovider.Budget{}, nil, "tower stone<tower quarry<stone road<quarry ladder<tower spire"},
		{"a full list", contextprovider.Budget{Skills: 2}, nil, "tower spire"},
		{"room for one", contextprovider.Budget{Skills: 3}, nil, "tower stone<tower spire"},
		{"few tokens", contextprovider.Budget{Tokens: first.Tokens + 5}, nil, "tower"},
		{"scope", contextprovider.Budget{}, only("tower", "ladder"), "tower ladder<tower"},
		{"pinned with its instructions", contextprovider.Budget{}, &search.Agent{Name: "a", Pinned: []string{"stone"}}, "tower ladder<tower spire"},
		{"pinned in the list", contextprovider.Budget{ListPinned: true}, &search.Agent{Name: "a", Pinned: []string{"spire"}}, "spire ladder<spire tower stone<tower quarry<stone road<quarry"},
		{"chosen", contextprovider.Budget{Choose: func(hits []search.Hit) []search.Hit {
			return slices.DeleteFunc(hits, func(h search.Hit) bool { return h.ID == "stone" })
		}}, nil, "tower ladder<tower spire"},
		{"nothing listed", contextprovider.Budget{Threshold: .999}, nil, ""},
	}
	for _, tt := range tests {
		if tt.budget.Threshold == 0 {
			tt.budget.Threshold = search.Always
		}
		b := k.block(t, "zibbel snarks towers", tt.budget, tt.agent)
		if got := withRequired(b); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRequiredText: every format says why a skill is there, in few words.
func TestRequiredText(t *testing.T) {
	k := tower(t)
	for _, format := range contextprovider.Formats() {
		for _, form := range contextprovider.Forms() {
			b := k.block(t, "zibbel snarks towers", contextprovider.Budget{Format: format, Form: form, Threshold: search.Always}, nil)
			if strings.Count(b.Text, "Required by tower. Cuts stones of every size") != 1 || strings.Contains(b.Text, "It takes a while") {
				t.Errorf("%s, %s:\n%s", format, form, b.Text)
			}
		}
	}
}

// TestBodyAndRequired: bodies come with the skills that are required, within a bound, and
// once.
func TestBodyAndRequired(t *testing.T) {
	k := tower(t)
	for id, want := range map[string]string{"tower": "stone ladder quarry road", "map": "", "ladder": "", "spire": "ladder"} {
		b, err := k.BodyAndRequired(t.Context(), id, nil)
		must.Do(t, err)
		var ids []string
		for _, r := range b.Required {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != want || b.ID != id {
			t.Errorf("%s with %q, want %q", b.ID, got, want)
		}
	}
	long := memory(t, "long", map[string]string{
		"a/SKILL.md": doc("a", "A.", "", "requires: [b, c]"),
		"b/SKILL.md": doc("b", "B.", strings.Repeat("Many words in it. ", 4000)),
		"c/SKILL.md": doc("c", "C.", "Short."),
	})
	b, err := open(t, long).BodyAndRequired(t.Context(), "a", nil)
	must.Do(t, err)
	if len(b.Required) != 1 || b.Required[0].ID != "c" {
		t.Errorf("loaded %d, want the short one", len(b.Required))
	}
}
