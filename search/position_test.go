package search_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// TestPosition: a skill is first for its own description, and not for a prompt that fits
// another skill, even if the prompt names it. A copy says which skill stands for it.
func TestPosition(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("crane", "Folds paper cranes for lovers of origami", "Fold the paper twice."),
		searchtest.Skill("kettle", "Boils water for tea", "Fill it."),
		searchtest.Skill("form", "Fills in forms of offices", essay(100)),
		searchtest.Skill("form-fork", "Fills in forms of offices", essay(100)),
	).Refs())
	for _, c := range []struct {
		id, prompt string
		rank       int
		copyOf     string
	}{
		{"crane", "", 1, ""},
		{"kettle", "", 1, ""},
		{"kettle", "use the skill kettle: fold paper cranes", 2, ""},
		{"form", "", 1, ""},
		{"form-fork", "", 0, "form"},
		{"crane", "xyzzy", 0, ""},
	} {
		s, err := x.Position(t.Context(), c.id, c.prompt)
		if err != nil || s.Rank != c.rank || s.CopyOf != c.copyOf || c.rank > 0 && len(s.Above) != c.rank-1 {
			t.Errorf("%s, %q: %+v, %v", c.id, c.prompt, s, err)
		}
	}
	if _, err := x.Position(t.Context(), "none", ""); err == nil {
		t.Error("a skill that is not there has a standing")
	}
}
