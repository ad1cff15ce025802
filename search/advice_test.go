package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestAdvice: advice names words that tell the skill apart in its catalog, of its language, whole and no numbers.
func TestAdvice(t *testing.T) {
	t.Parallel()
	skills := []*skill.Skill{
		searchtest.Skill("letters", "Writes letters for the office.", "Use the letterhead of the company."),
		searchtest.Skill("briefe", "Schreibt Briefe und Rechnungen für die Firma.", "Der Briefkopf ist in der Vorlage."),
	}
	for i := range 40 {
		skills = append(skills, searchtest.Skill(fmt.Sprintf("s%02d", i), "Checks the report of a customer.", "A report."))
	}
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(skills...).Refs())
	for _, tt := range []struct{ id, prompt, want string }{
		{"letters", "put my letterhead and a watermark on the customer report", "letterhead, watermark"},
		{"letters", "number 4711 twice, please, with 3 stamps", "stamps"},
		{"letters", "bitte den Stempel auf die Rechnung und auf das Letterhead", "letterhead, stamp, invoice"},
		{"letters", "печать на письмо", "print"},
		{"letters", "给信件盖章 stamp", "stamp"},
		{"briefe", "bitte den Stempel auf die Vorderseite", "stempel, vorderseite"},
		{"briefe", "please put the stamp on the back of it", ""},
	} {
		e, err := x.Why(t.Context(), tt.id, search.Query{Text: tt.prompt, Threshold: 1})
		must.Do(t, err)
		if got := strings.Join(e.Advice(), ", "); got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.id, tt.prompt, got, tt.want)
		}
	}
}
