package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Setup is the group of the findings about clients and settings, whatever they cost.
const Setup Cost = "setup"

// Groups returns the groups of findings, in the order in which reports show them.
func Groups() []Cost { return []Cost{Unseen, Setup, Confusing, Author} }

// Title returns the heading of a group.
func (c Cost) Title() string {
	return map[Cost]string{Unseen: "Not seen now", Setup: "Clients and settings", Confusing: "May confuse models", Author: "For authors to mend"}[c]
}

// Group returns the group in which reports show a finding: Setup, or else its cost.
func (f *Finding) Group() Cost {
	if ruleOf(f.Rule).Group() == Setup {
		return Setup
	}
	return f.Cost
}

// A Section is one group of a summary.
type Section struct {
	Group    Cost
	Skills   int   // number of skills whose most costly findings are in the group
	Problems int   // number of errors and warnings
	Rows     []Row // the most urgent first
}

// A Row is one line of a summary: what is wrong with one skill, one family or one place, or
// how many of them break one rule.
type Row struct {
	Rule  string
	Text  string   // on one line; of many findings, it describes the rule
	Place string   // of what is about no skill, unless the text says it; "" means none
	Skill string   // name of the only skill; "" means several, or a place
	More  int      // number of further findings of the skill
	Many  []string // names of all skills or places that break the rule, in the order of findings; nil for other rows

	first *Finding
}

// many is how many skills or places break a rule if one row is enough for all of them.
const many = 4

// Sections returns the findings by group, without empty groups. Each skill has one row, for
// its most costly finding, or is counted in the row of a rule that many skills break.
func (r *Report) Sections() []Section {
	s := summarize(r.Findings)
	var sections []Section
	for _, group := range Groups() {
		section := Section{Group: group}
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Group() == group && f.Rule != "client" { // which is set up
				if f.Severity != skill.Note {
					section.Problems++
				}
				section.Rows = s.row(section.Rows, f)
			}
		}
		for _, worst := range s.worst {
			if worst.Group() == group {
				section.Skills++
			}
		}
		if len(section.Rows) > 0 {
			slices.SortStableFunc(section.Rows, func(a, b Row) int {
				return cmp.Or(cmp.Compare(a.first.urgency(), b.first.urgency()), cmp.Compare(weight(a.first.Severity), weight(b.first.Severity)),
					cmp.Compare(len(b.Many), len(a.Many)))
			})
			sections = append(sections, section)
		}
	}
	return sections
}

// A rule in a group.
type grouped struct {
	group Cost
	rule  string
}

// A summary knows what findings have in common.
type summary struct {
	hits    map[grouped][]string // names of the skills or places of each rule
	worst   map[string]*Finding  // the most costly finding of each skill
	count   map[string]int       // number of findings of each skill
	already map[grouped]bool     // rules that have their row
}

func summarize(findings []Finding) *summary {
	s := &summary{make(map[grouped][]string), make(map[string]*Finding), make(map[string]int), make(map[grouped]bool)}
	type hit struct {
		grouped
		of string
	}
	seen := make(map[hit]bool)
	for i := range findings {
		f := &findings[i]
		at := grouped{f.Group(), f.Rule}
		keys, names := f.subjects()
		for i, key := range keys {
			if h := (hit{at, key}); !seen[h] {
				seen[h] = true
				s.hits[at] = append(s.hits[at], names[i])
			}
			if f.Skill == "" || at.group == Setup {
				continue
			}
			s.count[key]++
			if worst := s.worst[key]; worst == nil || f.dearer(worst) {
				s.worst[key] = f
			}
		}
	}
	return s
}

// dearer reports whether a finding costs more than another one.
func (f *Finding) dearer(g *Finding) bool {
	order := Groups()
	return cmp.Or(cmp.Compare(slices.Index(order, f.Group()), slices.Index(order, g.Group())), cmp.Compare(weight(f.Severity), weight(g.Severity))) < 0
}

// subjects returns what a finding is about, skills or else its place: keys that tell them
// apart, and their names.
func (f *Finding) subjects() (keys, names []string) {
	switch {
	case len(f.Family) > 0:
		return f.Family, f.Family
	case f.Skill == "":
		return []string{f.Path + ": " + f.Message}, []string{f.Path}
	case f.refused: // two sources may have refused folders of one name
		return []string{f.Path}, []string{f.Skill}
	}
	return []string{f.Skill}, []string{f.Skill}
}

// row adds the row of a finding to rows, if it has one.
func (s *summary) row(rows []Row, f *Finding) []Row {
	at := grouped{f.Group(), f.Rule}
	keys, names := f.subjects()
	row := Row{Rule: f.Rule, Text: tidy.Line(f.Message), first: f}
	switch {
	case len(s.hits[at]) >= many && f.Rule != ruleRefused: // each names its server
		if s.already[at] {
			return rows
		}
		s.already[at] = true
		row.Many, row.Text = s.hits[at], strings.TrimSuffix(ruleOf(f.Rule).About, ".")
	case f.Skill == "" && strings.ContainsAny(f.Path, `/\\`) && !strings.HasPrefix(f.Rule, "client"):
		row.Place = strings.TrimSuffix(fmt.Sprintf("%s:%d", f.Path, f.Line), ":0")
	case f.Skill == "" || at.group == Setup || len(f.Family) > 0:
	case s.worst[keys[0]] != f:
		return rows
	default:
		row.Skill, row.More = names[0], s.count[keys[0]]-1
	}
	return append(rows, row)
}

// number says how many skills or places a row counts.
func (r *Row) number() string {
	what := "skills"
	if r.first.Skill == "" {
		what = "places"
	}
	return figures.Thousands(len(r.Many)) + " " + what + ":"
}

// lowerFirst returns a text with a small first letter, unless it begins with an abbreviation.
func lowerFirst(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	if len(s) > n && strings.ToLower(s[n:n+1]) != s[n:n+1] {
		return s
	}
	return strings.ToLower(s[:n]) + s[n:]
}
