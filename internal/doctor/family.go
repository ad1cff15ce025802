package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// namedMembers is how many skills of a family a message names.
const namedMembers = 5

// members lists the skills of a family in a message.
func members(ids []string) string {
	if n := len(ids) - namedMembers; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:namedMembers], ", "), n)
	}
	return strings.Join(ids, ", ")
}

// twins reports offered skills whose descriptions or instructions are nearly the same.
func (d *diagnosis) twins(list []search.Twins) {
	for _, t := range list {
		ids := make([]string, len(t.Skills))
		for i := range t.Skills {
			ids[i] = t.Skills[i].ID
			d.family.Join(ids[0], ids[i])
		}
		p := skill.Problem{Rule: "near-duplicate", Severity: skill.Warning, Message: alike(ids, &t), Hint: "say in each description what sets it apart, or keep one"}
		if t.Copies {
			p.Message = fmt.Sprintf("%d skills are copies of one another: %s; a prompt is offered one of them", len(ids), members(ids))
			p.Hint = "keep one; if they do different things, say so in their descriptions"
		}
		d.addFamily(t.Skills[0], ids, p)
	}
}

// alike says how much alike the skills of a family are.
func alike(ids []string, t *search.Twins) string {
	what, share, of := "descriptions", t.Similarity, "words"
	if t.Body > share {
		what, share, of = "instructions", t.Body, "text"
	}
	message := fmt.Sprintf("%d skills have nearly the same %s: %s", len(ids), what, members(ids))
	if len(ids) > 2 {
		message += fmt.Sprintf("; the nearest are %s and %s", t.Nearest[0], t.Nearest[1])
	}
	return fmt.Sprintf("%s (%.0f %% of the %s)", message, 100*share, of)
}

// addFamily adds a problem of several skills, with the place of one of them.
func (d *diagnosis) addFamily(e repertoire.Entry, ids []string, p skill.Problem) {
	p.Path = cmp.Or(p.Path, e.Location)
	d.add(e.Source, e.ID, p, false)
	d.report.Findings[len(d.report.Findings)-1].Family = ids
}
