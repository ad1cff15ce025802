package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
)

// fits fails if a summary does not fit on a screen of 24 lines with the next prompt, or does
// not say where the rest is.
func fits(t *testing.T, what, text string, width int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 23 {
		t.Errorf("%s: %d lines\n%s", what, len(lines), text)
	}
	for _, line := range lines {
		if w := lipgloss.Width(line); w > width {
			t.Errorf("%s: a line of %d: %s", what, w, line)
		}
	}
}

// TestSummaryFits: whatever is wrong, with however many skills, a summary fits on a screen and
// shows each group.
func TestSummaryFits(t *testing.T) {
	testsize.Long(t)
	rules := doctor.Rules()
	costs := doctor.Groups()
	for _, c := range []struct{ skills, kinds, width int }{
		{0, 1, 80}, {1, 1, 80}, {7, 1, 80}, {7, 3, 20}, {500, 1, 80}, {500, 3, 60}, {500, 40, 80}, {500, len(rules), 20}, {500, len(rules), 80}, {500, len(rules), 200},
		{20_101, 3, 80}, {20_101, len(rules), 80},
	} {
		r := &doctor.Report{Skills: c.skills}
		for i := range c.skills {
			rule := rules[i%c.kinds]
			name := fmt.Sprintf("skill-%d-%s", i, strings.Repeat("名", i%40))
			r.Findings = append(r.Findings, doctor.Finding{Source: "s", Skill: name, Cost: costs[i%4], Problem: skill.Problem{Rule: rule.ID, Severity: rule.Severity,
				Path: "/s/" + name, Message: strings.Repeat("a long message ", i%20), Hint: `"skills setup claude" helps`}})
			if i%5 == 0 {
				r.Findings = append(r.Findings, doctor.Finding{Cost: costs[i%4], Problem: skill.Problem{Rule: rule.ID, Severity: rule.Severity,
					Path: fmt.Sprintf("/a/%d", i), Line: i, Message: strings.Repeat("it cannot be read, ", i%50)}})
			}
		}
		text := page{c.width, ""}.summary(r)
		fits(t, fmt.Sprintf("%+v", c), text, c.width)
		for _, s := range r.Sections() {
			if !strings.Contains(text, cut(s.Group.Title(), c.width)) {
				t.Errorf("%+v: no group %s in\n%s", c, s.Group, text)
			}
			if _, lines, ok := strings.Cut(text, "\n"+cut(headingOf(s), c.width)+"\n"); ok && c.width >= 80 {
				shown := 0
				for line := range strings.Lines(lines) {
					var more int
					if n, _ := fmt.Sscanf(strings.ReplaceAll(line, ",", ""), "  … and %d more", &more); n == 1 {
						shown += more
						break
					}
					if !strings.HasPrefix(line, "  ") {
						break
					}
					if !strings.HasPrefix(line, "   ") { // else it goes on
						shown++
					}
				}
				if shown != len(s.Rows) {
					t.Errorf("%+v: of %s %d rows are shown or counted, not %d, in\n%s", c, s.Group, shown, len(s.Rows), text)
				}
			}
			if n := " (" + count(s.Skills, "skill") + ")\n"; s.Skills > 0 && c.width >= 80 && !strings.Contains(text, n) {
				t.Errorf("%+v: no%q in\n%s", c, n, text)
			}
		}
	}
}

// TestDoctorFits: so does what doctor prints for a folder of many skills with many problems.
func TestDoctorFits(t *testing.T) {
	testsize.Long(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "config.yaml"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	write := func(name, text string) {
		name = filepath.Join(home, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write("config.yaml", "bundled: false\nembedder: none\n")
	const all = 500
	for i := range all {
		about, body := fmt.Sprintf("Cooks dish number %d of the %d on the menu. ", i, all), "Cook it."
		switch i % 7 {
		case 0:
			about += "Use when it is ordered."
		case 1:
			body = "Read references/recipe.md and scripts/cook.sh."
		case 2:
			body = "Turn \u202e it."
		case 3:
			about = "'"
		case 4:
			body = ""
		case 5:
			about = ""
		}
		write(fmt.Sprintf(".claude/skills/dish-%03d/SKILL.md", i), fmt.Sprintf("---\nname: dish-%03d\ndescription: %s\n---\n%s\n", i, about, body))
	}
	text := call(t, 1, "doctor")
	fits(t, "500 skills", text, 80)
	for _, want := range []string{"500 skills: ", "\nNext: skills ", "\nNot seen now (", "\nMay confuse models (", "142 empty-description (", "72 missing-resource ("} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestWithin: a row of which only a part fits says so.
func TestWithin(t *testing.T) {
	rows := [][]string{{"  one two", "    three"}, {"  four"}}
	if got := strings.Join(within(rows, 2, 2), "|"); got != "  one …|  … and 1 more" {
		t.Errorf("two lines: %q", got)
	}
	if got := strings.Join(within(rows, 3, 2), "|"); got != "  one two|    three|  four" {
		t.Errorf("three lines: %q", got)
	}
}
