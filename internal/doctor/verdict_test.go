package doctor_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestVerdict: a verdict counts each skill once, for its most costly finding, and names first
// what keeps a client from all its skills.
func TestVerdict(t *testing.T) {
	of := func(id string, cost doctor.Cost, rule string, severity skill.Severity, hint string) doctor.Finding {
		return doctor.Finding{Skill: id, Cost: cost, Problem: skill.Problem{Rule: rule, Severity: severity, Path: "/x/" + id, Message: "is " + rule, Hint: hint}}
	}
	cat := of("cat", doctor.Author, "unused-file", skill.Note, "")
	dog := of("dog", doctor.Unseen, "shadowed", skill.Warning, "")
	twins := of("cat", doctor.Confusing, "near-duplicate", skill.Warning, "")
	twins.Family = []string{"cat", "dog", "eel"}
	room := of("", doctor.Unseen, "client-budget", skill.Warning, `"skills setup claude" mends it`)
	broken := of("", doctor.Unseen, "client-broken", skill.Error, "")
	odd := of("my cat", doctor.Confusing, "x", skill.Note, `did you mean "skills remove --all"?`)
	broken.Hint = "look at the file"
	unread := of("", doctor.Unseen, "catalog", skill.Error, "")
	dropped := of("", doctor.Unseen, "client-budget", skill.Note, "")
	fine := of("", doctor.Author, "client", skill.Note, "")
	for _, c := range []struct {
		findings   []doctor.Finding
		want, next string
	}{
		{nil, "9 skills: nothing is wrong.", ""},
		{[]doctor.Finding{fine}, "9 skills: nothing is wrong.", ""},
		{[]doctor.Finding{fine, dropped}, "9 skills: nothing is wrong.", ""},                          // as a hook offers the skills
		{[]doctor.Finding{unread}, "9 skills: 1 client or setting needs you. First: is catalog.", ""}, // and nothing more is known
		{[]doctor.Finding{cat}, "9 skills: 1 is for its author to mend. First: cat: is unused-file.", "doctor cat"},
		{[]doctor.Finding{odd}, "9 skills: 1 may confuse models. First: my cat: is x.", `doctor "my cat"`},
		{[]doctor.Finding{twins, cat}, "9 skills: 3 may confuse models. First: is near-duplicate.", "doctor cat"},
		{[]doctor.Finding{twins, cat, dog, room}, "9 skills: 1 is not seen by any model now, 2 may confuse models. First: is client-budget.", "setup claude"},
		{[]doctor.Finding{dog, room, broken}, "9 skills: 1 is not seen by any model now, 1 client or setting needs you. First: is client-broken.", "doctor --all"},
	} {
		v := (&doctor.Report{Skills: 9, Findings: c.findings}).Verdict()
		if v.String() != c.want || v.Next != c.next {
			t.Errorf("verdict %q, next %q; want %q, %q", v, v.Next, c.want, c.next)
		}
	}
}
