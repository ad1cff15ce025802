package doctor

import (
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxCompared bounds how often a missing name is compared with one that is there, for a hint.
const maxCompared = 500_000

// needs reports skills that are not offered because a command is missing, that require a
// skill which the catalog does not have, and that require each other.
func (d *diagnosis) needs(entries []repertoire.Entry) {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	compared := 0
	for _, e := range entries {
		if e.State == search.Unavailable {
			d.report.Findings = append(d.report.Findings, Finding{Source: e.Source, Skill: e.ID, Cost: Unseen, Problem: skill.Problem{
				Rule: "unavailable", Severity: skill.Note, Path: e.Location, Message: "not offered: it " + e.Reason,
				Hint: "install or set it, or name it in requires.assume of the configuration if the agent has it"}})
		}
		for _, want := range e.Lacking {
			hint := ""
			if compared += len(names); compared <= maxCompared {
				hint = words.DidYouMean(words.Similar(want, names))
			}
			d.add(e.Source, e.ID, skill.Problem{Rule: "unmet-requirement", Severity: skill.Warning, Path: e.Location,
				Message: fmt.Sprintf("it requires the skill %q, which is not in the catalog", want),
				Hint:    hint}, false)
		}
	}
	for _, c := range cycles(entries) {
		first, chain := c.members[0], ""
		for _, e := range c.members[1:] {
			chain += e.ID + ", which requires "
		}
		if c.more > 0 {
			chain += fmt.Sprintf("%d more, which require ", c.more)
		}
		d.add(first.Source, first.ID, skill.Problem{Rule: "requirement-cycle", Severity: skill.Warning, Path: first.Location,
			Message: "it requires " + chain + "it",
			Hint:    "let one of them stand alone"}, false)
	}
}

// A circle is skills that require each other.
type circle struct {
	members []repertoire.Entry // the first ones
	more    int                // how many follow
}

// maxMembers bounds the members of a circle that are told: a catalog of thousands of skills
// may have thousands of circles with nearly all of them.
const maxMembers = 8

// cycles returns circles of skills that require each other, at least one for each group of
// such skills, in the order of the entries. Each has a skill that no earlier one has.
func cycles(entries []repertoire.Entry) []circle {
	byID := make(map[string]repertoire.Entry)
	for _, e := range entries {
		byID[e.ID] = e
	}
	const (
		onPath = 1
		done   = 2
	)
	state, told := make(map[string]int), make(map[string]bool)
	var list []circle
	var path []repertoire.Entry
	var visit func(e repertoire.Entry)
	visit = func(e repertoire.Entry) {
		state[e.ID] = onPath
		path = append(path, e)
		for _, id := range e.Requires {
			switch next, ok := byID[id]; {
			case ok && state[id] == onPath:
				if told[e.ID] {
					continue
				}
				from := slices.IndexFunc(path, func(p repertoire.Entry) bool { return p.ID == id })
				cycle := path[from:]
				for _, p := range cycle {
					told[p.ID] = true
				}
				n := min(len(cycle), maxMembers)
				list = append(list, circle{slices.Clone(cycle[:n]), len(cycle) - n})
			case ok && state[id] == 0:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		state[e.ID] = done
	}
	for _, e := range entries {
		if state[e.ID] == 0 {
			visit(e)
		}
	}
	return list
}
