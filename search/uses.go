package search

import (
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// used returns the skills that the agent uses, whatever the scope of the view. A
// name stands for all skills of this name that are not private. What a used skill requires is
// not among them: whoever writes a skill does not decide what an agent sees.
func (a *Agent) used(v *snapshot.View, h *held) (used snapshot.Skills) {
	for _, id := range a.Uses {
		if place := placeOf(id); hasSource(place) {
			if i, ok := findByPlace(v.Whole(), place); ok {
				used.Add(i)
				continue
			}
		}
		named := matching(v, Rules{Names: []string{literal.Replace(id)}})
		if h != nil {
			named = named.AndNot(h.private)
		}
		used = used.Or(named)
	}
	return used
}

// literal makes a pattern of a name.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// unmatchedUses returns a problem for each skill that the agent uses and its scope does not
// have, and for each skill that a used one requires and the scope does not have.
func (a *Agent) unmatchedUses(own *snapshot.View, h *held) (list []skill.Problem) {
	for _, id := range a.Uses {
		rule := Rule{keyUses, id}
		found := find(own, id)
		for _, i := range found {
			e := entryOf(own, i)
			for _, name := range e.Lacking {
				why := fmt.Sprintf("skill %q requires %q, which the agent does not see", e.Name, name)
				list = append(list, a.problem(rule, why, "add it to uses_skills or to include, if the agent may see it"))
			}
		}
		if len(found) > 0 {
			continue
		}
		why, hint := a.whyOutside(own.Whole(), h, id), "use a skill that the agent may see, or none"
		if root := rootOf(own, placeOf(id)); root != "" && strings.HasPrefix(why, "no skill ") {
			why, hint = "no skill in "+root, "put a SKILL.md into this folder, or correct the path"
		}
		list = append(list, a.problem(rule, why, hint))
	}
	return list
}

// rootOf returns the folder of the source for the ID of the skill at its top; "" for others.
func rootOf(v *snapshot.View, id string) string {
	for _, src := range v.Set.Sources {
		if id == src.Label+"/." {
			return src.Root
		}
	}
	return ""
}

// whyOutside says why a scope does not have a skill of the whole catalog, or that nobody has it.
func (a *Agent) whyOutside(v *snapshot.View, h *held, id string) string {
	list := find(v, id)
	if len(list) == 0 {
		return fmt.Sprintf("no skill %q%s", id, words.Suggest(id, names(v)))
	}
	i := list[0]
	if h.has(i) {
		d := v.Doc(i)
		_, reason := h.why(i, &d)
		return fmt.Sprintf("skill %q is held back: %s", id, reason)
	}
	return fmt.Sprintf("skill %q is outside: the agent %s", id, a.rule(v, i, h))
}
