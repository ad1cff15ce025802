package doctor

import (
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxCompared bounds how often a missing name is compared with one that is there, for a hint.
const maxCompared = 500_000

// needs reports skills that are not offered because a command is missing, and skills that
// require a skill which the catalog does not have.
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
}

// absent reports skills that the descriptions of offered ones send to, and that are not in the catalog, not even held
// back. A name may begin with that of a plugin or a source.
func (d *diagnosis) absent(all []repertoire.Entry, list []examined) {
	known := make(map[string]bool)
	for _, e := range all {
		known[words.NameKey(e.Name)] = true
	}
	for _, e := range list {
		for _, to := range e.Instead {
			if !known[words.NameKey(to.Name[strings.LastIndex(to.Name, ":")+1:])] {
				d.add(e.entry.Source, e.entry.ID, skill.Problem{Rule: "absent-skill", Severity: skill.Note, Path: e.entry.Location, Line: to.Line,
					Message: fmt.Sprintf("the description sends to %q, which is not in the catalog", to.Name),
					Hint:    "correct the name, or install that skill"}, false)
			}
		}
	}
}
