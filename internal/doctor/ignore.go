package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// An Ignore leaves out the findings that match each of its lists.
type Ignore struct {
	Rules   []string     // IDs of rules; nil means all
	Skills  []string     // patterns for names; nil means all, and findings about no skill
	Sources []string     // labels; nil means all, and findings about no source
	Within  []string     // the only kinds of sources in which it holds; nil means all
	Place   search.Place // where a configuration has it
}

// Ignore leaves out findings, and counts them. An entry that has an unknown rule is an error in
// the report, and an entry that matches nothing a warning. strict says that the report applies
// the specification to the letter.
func (r *Report) Ignore(list []Ignore, sources []source.Source, strict bool) {
	kinds := make(map[string]string)
	for _, src := range sources {
		kinds[src.Info().Label] = src.Info().Kind
	}
	used := make([]bool, len(list))
	var left []Finding
	for _, f := range r.Findings {
		ignored := false
		for i := range list {
			if list[i].matches(&f, kinds[f.Source]) {
				used[i], ignored = true, true
			}
		}
		if !ignored {
			left = append(left, f)
		}
	}
	r.Ignored += len(r.Findings) - len(left)
	r.Findings = left
	for i, entry := range list {
		if p, ok := entry.problem(used[i], strict); ok {
			r.Findings = append(r.Findings, Finding{Cost: Author, Problem: p})
		}
	}
	r.finish()
}

// matches reports whether an entry leaves out a finding about a source of a kind.
func (e *Ignore) matches(f *Finding, kind string) bool {
	if e.Within != nil && (!slices.Contains(e.Within, kind) || len(f.Family) > 0 || warns(f.Rule)) {
		return false // it is not theirs alone, or its reader must know
	}
	patterns := search.Rules{Names: e.Skills}
	return (e.Rules == nil || slices.Contains(e.Rules, f.Rule)) &&
		(e.Sources == nil || slices.Contains(e.Sources, f.Source)) &&
		(e.Skills == nil || slices.ContainsFunc(append(slices.Clip(f.Family), f.Skill), func(id string) bool {
			return id != "" && (patterns.MatchName(id) || patterns.MatchName(id[strings.LastIndex(id, "/")+1:]))
		}))
}

// warns reports whether a rule warns the reader of a skill of its author: no file of a project
// can silence it.
func warns(rule string) bool {
	return rule == "changed" || rule == "untrusted" || strings.HasPrefix(rule, "hidden-") ||
		slices.ContainsFunc(trustRules(), func(r Rule) bool { return r.ID == rule })
}

// problem returns what is wrong with an entry. used means that it matches a finding.
func (e *Ignore) problem(used, strict bool) (p skill.Problem, ok bool) {
	p = skill.Problem{Rule: "ignore", Severity: skill.Warning, Path: cmp.Or(e.Place.File, "configuration"), Line: e.Place.Line}
	onlyStrict := len(e.Rules) > 0
	var known []string
	for _, rule := range rules() {
		known = append(known, rule.ID)
	}
	for _, id := range e.Rules {
		if !slices.Contains(known, id) {
			p.Severity, p.Message = skill.Error, fmt.Sprintf("ignore: no rule %q%s", id, words.Suggest(id, known))
			return p, true
		}
		if e.Within != nil && warns(id) {
			p.Message, p.Hint = fmt.Sprintf("ignore: a project's configuration cannot ignore %s", id), "ignore it in your own configuration, if you trust the project"
			return p, true
		}
		onlyStrict = onlyStrict && slices.ContainsFunc(strictRules(), func(r Rule) bool { return r.ID == id })
	}
	if used || onlyStrict && !strict {
		return p, false
	}
	p.Message, p.Hint = "ignore: no finding matches "+e.String(), "remove the entry"
	return p, true
}

// String returns the lists of an entry.
func (e *Ignore) String() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{{"rule", e.Rules}, {"skill", e.Skills}, {"source", e.Sources}} {
		if len(list.names) > 0 {
			parts = append(parts, list.what+" "+strings.Join(list.names, ", "))
		}
	}
	return strings.Join(parts, ", ")
}
