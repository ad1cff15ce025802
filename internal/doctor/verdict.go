package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// Setup is the group of the findings about clients and settings, whatever they cost.
const Setup Cost = "setup"

// groups are the groups of findings, in the order in which reports show them.
var groups = []Cost{Unseen, Setup, Confusing, Author}

// Group returns the group in which reports show a finding: Setup, or else its cost.
func (f Finding) Group() Cost {
	switch f.Rule {
	case "client-budget": // it is about skills
	case "agent", "catalog", "configuration", "listing-cost", "policy", "stale", "state":
		return Setup
	default:
		if f.Rule == "client" || strings.HasPrefix(f.Rule, "client-") {
			return Setup
		}
	}
	return f.Cost
}

// A Verdict sums up a report.
type Verdict struct {
	Skills    int    `json:"skills"`    // number of checked skills
	Unseen    int    `json:"unseen"`    // number of skills that no model sees as things are
	Confusing int    `json:"confusing"` // number of other skills that confuse a model that sees them
	Author    int    `json:"author"`    // number of other skills that only their authors can mend
	Setup     int    `json:"setup"`     // number of errors and warnings about clients and settings
	First     string `json:"first"`     // what matters first; "" means nothing
	Next      string `json:"next"`      // the next command, without the name of the program; "" means none
}

// Verdict sums up the report. It counts each skill once, for its most costly finding.
func (r *Report) Verdict() Verdict {
	v := Verdict{Skills: r.Skills}
	worst := make(map[string]Cost) // of each skill
	var first *Finding
	for i, f := range r.Findings {
		if f.urgency() < nothing && (first == nil || f.urgency() < first.urgency()) {
			first = &r.Findings[i]
		}
		if f.Group() == Setup {
			if f.Severity != skill.Note {
				v.Setup++
			}
			continue
		}
		for _, id := range f.skills() {
			if cost, ok := worst[id]; !ok || place(f.Cost) < place(cost) {
				worst[id] = f.Cost
			}
		}
	}
	number := map[Cost]*int{Unseen: &v.Unseen, Confusing: &v.Confusing, Author: &v.Author}
	for _, cost := range worst {
		*number[cost]++
	}
	if first != nil {
		v.First, v.Next = first.about(), first.next()
	}
	return v
}

// place returns the place of a group in reports.
func place(group Cost) int { return slices.Index(groups, group) }

// nothing is the urgency of a finding with which nobody need do anything.
const nothing = 9

// urgency says how soon a finding matters; 0 is first. What keeps a client from all its
// skills comes before what keeps it from one.
func (f Finding) urgency() int {
	switch group := f.Group(); {
	case f.Rule == "client": // it is set up
		return nothing
	case group == Setup:
		return [...]int{0, 3, 5}[weight(f.Severity)]
	case group == Unseen && f.Skill == "":
		return 1
	case group == Unseen, group == Confusing && f.Severity == skill.Error:
		return 2
	case group == Confusing && f.Severity == skill.Warning:
		return 4
	case group == Confusing:
		return 6
	}
	return 7
}

// skills returns keys of the skills that a finding is about.
func (f Finding) skills() []string {
	switch {
	case len(f.Family) > 0:
		return f.Family
	case f.Skill == "":
		return nil
	case f.refused: // two sources may have refused folders of one name
		return []string{f.Path}
	}
	return []string{f.Skill}
}

// about says in one line what a finding is about.
func (f Finding) about() string {
	if f.Skill == "" || len(f.Family) > 0 {
		return words.Line(f.Message)
	}
	return words.Line(f.Skill + ": " + f.Message)
}

// next returns the command that a hint names, or else the one that shows more.
func (f Finding) next() string {
	if _, rest, ok := strings.Cut(f.Hint, `"skills `); ok {
		if command, _, ok := strings.Cut(rest, `"`); ok {
			return command
		}
	}
	if f.Skill != "" {
		return "doctor " + f.Skill
	}
	return "doctor --all"
}

// String returns the verdict in one or two sentences, without the next command.
func (v Verdict) String() string {
	var parts []string
	say := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, one)
		default:
			parts = append(parts, fmt.Sprintf(many, n))
		}
	}
	say(v.Unseen, "no model sees 1 of them now", "no model sees %d of them now")
	say(v.Confusing, "1 may confuse a model", "%d may confuse models")
	say(v.Author, "1 is for its author to mend", "%d are for their authors to mend")
	say(v.Setup, "1 client or setting needs you", "%d clients or settings need you")
	s := fmt.Sprintf("%d skills: ", v.Skills)
	if v.Skills == 1 {
		s = "1 skill: "
	}
	if s += strings.Join(parts, ", "); len(parts) == 0 {
		s += "nothing is wrong"
	}
	s += "."
	if v.First != "" {
		s += " First: " + strings.TrimSuffix(v.First, ".") + "."
	}
	return s
}
