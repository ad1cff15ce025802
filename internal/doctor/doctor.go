// Package doctor finds what is wrong with the skills of a catalog or of folders, for the
// command, a web page and CI alike.
//
// The one rule: only doctor decides what a finding costs; its callers only show findings.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Cost says who suffers from a finding.
type Cost string

// The costs, from the highest to the lowest.
const (
	Unseen    Cost = "unseen"    // no model sees the skill, or a part of the skills, as things are
	Confusing Cost = "confusing" // a model that sees the skill is misled, or lacks what it is pointed to
	Author    Cost = "author"    // models are served well; only the owner of the skill or the settings need act
)

// A Finding is a problem with its place and its cost.
type Finding struct {
	Source string   `json:"source,omitempty"` // label of the source; "" means none
	Skill  string   `json:"skill,omitempty"`  // ID of the skill, or the folder name of a refused skill; "" means none
	Cost   Cost     `json:"cost"`
	Family []string `json:"family,omitempty"` // IDs of all skills that the finding is about, if there are several
	From   string   `json:"from,omitempty"`   // where the skill was installed from; "" means that nobody knows, see SetOrigins
	skill.Problem

	refused bool // no model is offered the skill because of the finding
}

// A Report holds the findings, the worst severity first, and counts them by severity.
type Report struct {
	Skills      int       `json:"skills"`       // number of checked skills
	NotAnalysed int       `json:"not_analysed"` // number of skills that the trust checks did not look at, or not at all of their files
	Errors      int       `json:"errors"`
	Warnings    int       `json:"warnings"`
	Notes       int       `json:"notes"`
	Ignored     int       `json:"ignored"` // number of findings that were left out, see Ignore
	Findings    []Finding `json:"problems"`

	folders []string // that it is about; nil means a catalog
}

// Add adds findings that are not about a skill, such as problems in settings of clients.
func (r *Report) Add(problems ...skill.Problem) {
	if len(problems) > 0 || r.Findings == nil {
		r.append(problems...)
		r.finish()
	}
}

// append is Add for a report that is not finished.
func (r *Report) append(problems ...skill.Problem) {
	for _, p := range problems {
		r.Findings = append(r.Findings, Finding{Cost: costOf(p, false), Problem: p})
	}
}

// SetOrigins says of each finding where its skill was installed from, given the path of a file.
func (r *Report) SetOrigins(of func(path string) string) {
	for i, f := range r.Findings {
		if f.Skill != "" {
			r.Findings[i].From = of(f.Path)
		}
	}
}

// finish sorts and counts the findings, each once.
func (r *Report) finish() {
	r.Findings = distinct(r.Findings)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(weight(a.Severity), weight(b.Severity)),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	var n [3]int
	for _, f := range r.Findings {
		n[weight(f.Severity)]++
	}
	r.Errors, r.Warnings, r.Notes = n[0], n[1], n[2]
}

// distinct returns the findings in their order, each once: two sources may have one file. JSON
// has a list even if there are none.
func distinct(findings []Finding) []Finding {
	type place struct {
		file, rule, message string
		line                int
	}
	seen := make(map[place]bool)
	list := []Finding{}
	for _, f := range findings {
		p := place{f.Path, f.Rule, f.Message, f.Line}
		if f.Path == "" || !seen[p] {
			seen[p] = true
			list = append(list, f)
		}
	}
	return list
}

// Fails reports whether there is a finding of a severity or a worse one; "" means that no
// finding counts.
func (r *Report) Fails(at skill.Severity) bool {
	return at != "" && slices.ContainsFunc(r.Findings, func(f Finding) bool { return weight(f.Severity) <= weight(at) })
}

// weight returns the place of a severity in reports; 0 is the worst.
func weight(s skill.Severity) int {
	switch s {
	case skill.Error:
		return 0
	case skill.Warning:
		return 1
	}
	return 2
}

// Only returns the findings about single skills, which are named by ID, by name, or by folder
// if they were refused. It fails if no finding and none of known has a name.
func (r *Report) Only(names, known []string) (*Report, error) {
	only := &Report{Skills: len(names), Ignored: r.Ignored}
	all := slices.Clone(known)
	for _, f := range r.Findings {
		all = append(all, f.Family...)
		if f.Skill != "" {
			all = append(all, f.Skill)
		}
		if slices.ContainsFunc(names, f.isAbout) {
			only.Findings = append(only.Findings, f)
		}
	}
	slices.Sort(all)
	for _, name := range names {
		if !slices.ContainsFunc(all, func(id string) bool { return named(id, name) }) {
			return nil, fmt.Errorf("no skill and no folder %q%s", name, words.Suggest(name, slices.Compact(all)))
		}
	}
	only.finish()
	return only, nil
}

// isAbout reports whether a finding is about the skill of a name.
func (f *Finding) isAbout(name string) bool {
	return named(f.Skill, name) || slices.ContainsFunc(f.Family, func(id string) bool { return named(id, name) })
}

// named reports whether the skill of an ID has a name: source/name has two.
func named(id, name string) bool {
	return words.SameName(id, name) || words.SameName(id[strings.LastIndex(id, "/")+1:], name)
}

// costOf returns the cost of a problem; inSkill: in the folder of an offered skill.
func costOf(p skill.Problem, inSkill bool) Cost {
	switch e := effects[ruleOf(p.Rule).effect]; {
	case p.Rule == "client-trust" && p.Severity == skill.Note: // the user has switched the hook off
		return Author
	case inSkill:
		return e.inSkill
	default:
		return e.cost
	}
}
