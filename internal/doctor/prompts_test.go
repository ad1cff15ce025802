package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/doctor"
)

// TestPrompts: a skill whose own description or eval leads to another one collides with
// it; skills with prompts of their own do not.
func TestPrompts(t *testing.T) {
	files := map[string]string{
		"m/SKILL.md":            skillFile("m", "Migrates web apps to native apps.", "Look at the screens first, then at the network."),
		"swan/SKILL.md":         skillFile("swan", "Folds napkins. Use before a dinner.", "Fold."),
		"swan/evals/a.json":     `{"should_trigger": ["fold a napkin", "make a paper crane for origami lovers"], "should_not_trigger": ["tea"]}`,
		"crane/SKILL.md":        skillFile("crane", "Makes paper cranes for lovers of origami. Use for origami.", "Fold a paper crane."),
		"kettle/SKILL.md":       skillFile("kettle", "Boils water. Use when somebody wants tea.", "Fill it."),
		"kettle/evals/bad.json": `[`,
	}
	for i, extra := range []string{"with Expo, keeping routes and screens", "for phones, in steps that a team reviews", "by rewriting views in Swift", "and ships them to stores"} {
		files[fmt.Sprintf("n%d/SKILL.md", i)] = skillFile(fmt.Sprintf("migrate-web-apps-to-native-apps-%d", i), "Migrates web apps to native apps "+extra+". Use when an app must go native.",
			strings.Repeat("Migrate web apps to native apps "+extra+". ", 4))
	}
	var body strings.Builder
	for i := range 40 {
		fmt.Fprintf(&body, "Open page %d, then read field %d of form %d. ", i, i+1, i+2)
	}
	files["pdf/SKILL.md"] = skillFile("pdf", "Fills in forms. Use when a form is a PDF file.", body.String())
	files["pdf-fork/SKILL.md"] = skillFile("pdf-fork", "Fills in forms. Use when a form is a PDF file.", body.String())
	r := examine(t, files)
	var got []string
	for _, rule := range []string{"trigger-collision", "unreachable", "copy"} {
		for _, f := range of(r, rule) {
			score := regexp.MustCompile(`\(\d\.\d\d\)`)
			got = append(got, fmt.Sprint(f.Severity, " ", f.Cost, " ", f.Skill, " ", f.Family, " ", score.ReplaceAllString(f.Message, "(x)")))
		}
	}
	want := []string{
		"warning confusing m [m migrate-web-apps-to-native-apps-3] m: its own description “Migrates web apps to native apps.” ranks it 5th (x), after migrate-web-apps-to-native-apps-3 (x)",
		"warning confusing swan [crane swan] swan: its eval “make a paper crane for origami lovers” ranks it 3rd (x), after crane (x)",
		"warning unseen m [] not even its own description leads to it: it ranks 5th, after migrate-web-apps-to-native-apps-3, migrate-web-apps-to-native-apps-1, migrate-web-apps-to-native-apps-2",
		"note author pdf-fork [] Hidden: a copy of pdf, which is offered instead.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	fails := of(r, "evals-fail")
	if len(fails) != 1 || fails[0].Skill != "swan" || !strings.HasPrefix(fails[0].Message, "1 of 3 prompts of its evals fail: “make a paper crane for origami lovers” is lost to crane") ||
		!strings.Contains(fails[0].Hint, "[crane for origami lovers]") && !strings.Contains(fails[0].Hint, "[paper crane for origami]") {
		t.Errorf("failing evals: %+v", fails)
	}
	bad := of(r, "evals-unusable")
	if len(bad) != 1 || bad[0].Skill != "kettle" || bad[0].Line != 1 || !strings.HasSuffix(bad[0].Path, "bad.json") {
		t.Errorf("malformed evals: %+v", bad)
	}
}

// TestCancelled: whoever has no time for all skills gets an error, and no report of some.
func TestCancelled(t *testing.T) {
	c, _, _ := catalog(t)
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	r, err := doctor.Catalog(ctx, c, entries(t, c), doctor.Options{Step: func(done, all int) {
		steps++
		if cancel(); done > all {
			t.Errorf("step %d of %d", done, all)
		}
	}})
	if !errors.Is(err, context.Canceled) || r != nil || steps == 0 {
		t.Errorf("%v, %v after %d steps", r, err, steps)
	}
}
