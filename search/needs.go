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
// "office:pdf". Of several skills of that name the one beside the other in its source is meant.
func findNeeded(v *snapshot.View, name, source string) (i int, ok bool) {
	list := v.Names().All(words.NameKey(name))
	if len(list) == 0 {
		if i, ok = findByPlace(v, placeOf(name)); ok {
			return i, true
		}
		list = v.Names().All(words.NameKey(name[strings.LastIndexAny(name, "/:")+1:]))
	}
	for _, i := range list {
		if len(list) == 1 || v.Doc(i).Source == source {
			return i, true
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return list[0], true
}

// required returns the skills of the view that skill i of a source requires, and the names of those that
// the view lacks. A name that may be something else than a skill is never lacking: that would
// show whether there is such a skill outside of the scope.
func required(v *snapshot.View, i int, n *skill.Needs, source string) (skills []int, lacking []string) {
	add := func(names []string, certain bool) {
		for _, name := range names {
			switch j, ok := findNeeded(v, name, source); {
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
	skills, lacking := required(v, i, &e.Needs, e.Source)
	for _, j := range skills {
		e.Requires = append(e.Requires, v.ID(j))
	}
	e.Lacking = lacking
}

// setAvailable sets the state of a skill whose commands or variables are missing. Only
// entries that somebody is shown get one: the look-up touches the disk.
func (x *directory) setAvailable(ctx context.Context, v *snapshot.View, e *Entry) {
	if x.missing == nil || e.State != Offered && e.State != Reserved {
		return
	}
	n := skill.Needs{Commands: e.Needs.Commands, AnyOf: e.Needs.AnyOf, Env: e.Needs.Env}
	for _, name := range e.Needs.Either {
		// A skill "gh" that requires gh means the command.
		if _, ok := findNeeded(v.Whole(), name, e.Source); !ok || words.SameName(name, e.Name) {
			n.Either = append(n.Either, name)
		}
	}
	if n.Empty() {
		return
	}
	if missing := x.missing(ctx, n); len(missing) > 0 {
		e.State, e.Reason = Unavailable, "needs "+strings.Join(missing, ", and ")
	}
}

// maxChain is how many skills there are at most from one that is relevant to the last one
// that is offered because of it, see contextprovider.
const maxChain = 3

// setChain looks for a relevant skill that requires skill i, itself or through others, and
// notes the shortest way.
func (x *explainer) setChain(ctx context.Context, e *Explanation, r *retrieval, i int) {
	for _, s := range r.scored {
		if !s.Relevant {
			continue
		}
		first := entryOf(r.view, s.Key)
		x.dir.setAvailable(ctx, r.view, &first)
		if chain := chainTo(r.view, s.Key, i); first.State == Offered && len(chain) > 0 {
			e.chain, e.RequiredBy = chain, chain[len(chain)-1]
			return
		}
	}
}

// chainTo returns the IDs of the skills from skill i to one that requires skill j; nil if
// there is none within the bound.
func chainTo(v *snapshot.View, i, j int) []string {
	type step struct {
		i     int
		chain []string
	}
	seen := map[int]bool{i: true}
	for queue := []step{{i, []string{v.ID(i)}}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		d := v.Doc(at.i)
		next, _ := required(v, at.i, &d.Needs, d.Source)
		for _, n := range next {
			switch {
			case n == j:
				return at.chain
			case !seen[n] && len(at.chain) < maxChain:
				seen[n] = true
				queue = append(queue, step{n, append(slices.Clone(at.chain), v.ID(n))})
			}
		}
	}
	return nil
}
