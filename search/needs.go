package search

import (
	"context"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// findNeeded finds the skill that another one requires under a name. Authors also write the
// folder or the plugin of the skill before its name, which need not be so here: "team/pdf",
// "office:pdf".
func findNeeded(v *snapshot.View, name string) (i int, ok bool) {
	if i, ok = v.First(words.NameKey(name)); ok {
		return i, true
	}
	if i, ok = findByPlace(v, name); ok {
		return i, true
	}
	if cut := strings.LastIndexAny(name, "/:"); cut >= 0 {
		return v.First(words.NameKey(name[cut+1:]))
	}
	return 0, false
}

// required returns the skills of the view that skill i requires, and the names of those that
// the view lacks. A name that may be something else than a skill is never lacking: that would
// show whether there is such a skill outside of the scope.
func required(v *snapshot.View, i int, n *skill.Needs) (skills []int, lacking []string) {
	add := func(names []string, certain bool) {
		for _, name := range names {
			switch j, ok := findNeeded(v, name); {
			case ok && j != i && !slices.Contains(skills, j):
				skills = append(skills, j)
			case !ok && certain:
				lacking = append(lacking, name)
			}
		}
	}
	add(n.Skills, true)
	add(n.Either, false)
	add(n.Optional, false)
	return skills, lacking
}

// setRequired fills in which skills the skill i of the view requires.
func (e *Entry) setRequired(v *snapshot.View, i int) {
	if e.Needs.Empty() {
		return
	}
	skills, lacking := required(v, i, &e.Needs)
	for _, j := range skills {
		e.Requires = append(e.Requires, v.ID(j))
	}
	e.Lacking = lacking
}

// setAvailable sets the state of a skill whose commands or variables are missing. Only
// entries that somebody is shown get one: the look-up touches the disk.
func (x *Searcher) setAvailable(ctx context.Context, v *snapshot.View, e *Entry) {
	if x.opts.Missing == nil || e.State != Offered {
		return
	}
	n := skill.Needs{Commands: e.Needs.Commands, AnyOf: e.Needs.AnyOf, Env: e.Needs.Env}
	for _, name := range e.Needs.Either {
		// A skill "gh" that requires gh means the command.
		if _, ok := findNeeded(v.Whole(), name); !ok || words.NameKey(name) == words.NameKey(e.Name) {
			n.Either = append(n.Either, name)
		}
	}
	if n.Empty() {
		return
	}
	if missing := x.opts.Missing(ctx, n); len(missing) > 0 {
		e.State, e.Reason = Unavailable, "needs "+strings.Join(missing, ", and ")
	}
}
