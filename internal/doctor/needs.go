package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// needs reports skills that are not offered because a command is missing, that require a
// skill which the catalog does not have, and that require each other.
func (d *diagnosis) needs(entries []repertoire.Entry) {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	for _, e := range entries {
		if e.State == search.Unavailable {
			d.report.Findings = append(d.report.Findings, Finding{Source: e.Source, Skill: e.ID, Cost: Unseen, Problem: skill.Problem{
				Rule: "unavailable", Severity: skill.Note, Path: e.Location, Message: "not offered: it " + e.Reason,
				Hint: "install or set it, or name it in requires.assume of the configuration if the agent has it"}})
		}
		for _, want := range e.Lacking {
			d.add(e.Source, e.ID, skill.Problem{Rule: "unmet-requirement", Severity: skill.Warning, Path: e.Location,
				Message: fmt.Sprintf("it requires the skill %q, which is not in the catalog", want),
				Hint:    words.DidYouMean(words.Similar(want, names))}, false)
		}
	}
	for _, cycle := range cycles(entries) {
		first := cycle[0]
		ids := make([]string, 0, len(cycle))
		for _, e := range cycle[1:] {
			ids = append(ids, e.ID)
		}
		d.add(first.Source, first.ID, skill.Problem{Rule: "requirement-cycle", Severity: skill.Warning, Path: first.Location,
			Message: fmt.Sprintf("it requires %s, which requires it", strings.Join(ids, ", which requires ")),
			Hint:    "let one of them stand alone"}, false)
	}
}

// cycles returns circles of skills that require each other, at least one for each group of
// such skills, in the order of the entries.
func cycles(entries []repertoire.Entry) [][]repertoire.Entry {
	byID := make(map[string]repertoire.Entry)
	for _, e := range entries {
		byID[e.ID] = e
	}
	const (
		onPath = 1
		done   = 2
	)
	state := make(map[string]int)
	var list [][]repertoire.Entry
	var path []repertoire.Entry
	var visit func(e repertoire.Entry)
	visit = func(e repertoire.Entry) {
		state[e.ID] = onPath
		path = append(path, e)
		for _, id := range e.Requires {
			switch next, ok := byID[id]; {
			case ok && state[id] == onPath:
				from := slices.IndexFunc(path, func(p repertoire.Entry) bool { return p.ID == id })
				list = append(list, slices.Clone(path[from:]))
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
