package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// families are the sets of skills that belong together, directly or through others.
type families struct {
	parent map[string]string // by ID; a skill without an entry is its own parent
}

// root returns the skill that stands for the family of a skill.
func (f *families) root(id string) string {
	for f.parent[id] != "" {
		if above := f.parent[f.parent[id]]; above != "" {
			f.parent[id] = above // shortens the way for the next question
		}
		id = f.parent[id]
	}
	return id
}

// join makes the families of two skills one family.
func (f *families) join(a, b string) {
	if f.parent == nil {
		f.parent = make(map[string]string)
	}
	if a, b = f.root(a), f.root(b); a != b {
		f.parent[max(a, b)] = min(a, b)
	}
}

// same reports whether two skills are of one family.
func (f *families) same(a, b string) bool { return f.root(a) == f.root(b) }

// namedMembers is how many skills of a family a message names.
const namedMembers = 5

// members lists the skills of a family in a message.
func members(ids []string) string {
	if n := len(ids) - namedMembers; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:namedMembers], ", "), n)
	}
	return strings.Join(ids, ", ")
}

// twins reports offered skills whose descriptions or instructions are nearly the same,
// each family once: nobody reads the twelve hundred pairs of fifty skills made from one
// template. The pairs are sorted, most alike first.
func (d *diagnosis) twins(pairs []search.Twin) {
	entries := make(map[string]repertoire.Entry)
	for _, t := range pairs {
		d.family.join(t.A.ID, t.B.ID)
		entries[t.A.ID], entries[t.B.ID] = t.A, t.B
	}
	best, differ := make(map[string]search.Twin), make(map[string]bool) // the most alike pair of each family, and whether it has any that are no copies
	for _, t := range pairs {
		root := d.family.root(t.A.ID)
		if best[root].A.ID == "" {
			best[root] = t
		}
		differ[root] = differ[root] || !t.Copies
	}
	groups := make(map[string][]string)
	for id := range entries {
		root := d.family.root(id)
		groups[root] = append(groups[root], id)
	}
	for root, ids := range groups {
		slices.Sort(ids)
		if !differ[root] {
			d.addFamily(entries[ids[0]], ids, skill.Problem{Rule: "near-duplicate", Severity: skill.Warning,
				Message: fmt.Sprintf("%d skills are copies of one another: %s; a prompt is offered one of them", len(ids), members(ids)),
				Hint:    "keep one; if they do different things, say so in their descriptions"})
			continue
		}
		d.addFamily(entries[ids[0]], ids, skill.Problem{Rule: "near-duplicate", Severity: skill.Warning,
			Message: alike(ids, best[root]), Hint: "say in each description what sets it apart, or keep one"})
	}
}

// alike says how much alike the skills of a family are.
func alike(ids []string, best search.Twin) string {
	what, share, of := "descriptions", best.Similarity, "words"
	if best.Body > share {
		what, share, of = "instructions", best.Body, "text"
	}
	message := fmt.Sprintf("%d skills have nearly the same %s: %s", len(ids), what, members(ids))
	if len(ids) > 2 {
		message += fmt.Sprintf("; the nearest are %s and %s", best.A.ID, best.B.ID)
	}
	return fmt.Sprintf("%s (%.0f %% of the %s)", message, 100*share, of)
}

// addFamily adds a problem of several skills, with the place of one of them.
func (d *diagnosis) addFamily(e repertoire.Entry, ids []string, p skill.Problem) {
	p.Path = cmp.Or(p.Path, e.Location)
	d.add(e.Source, e.ID, p, false)
	d.report.Findings[len(d.report.Findings)-1].Family = ids
}
