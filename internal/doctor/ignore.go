package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Ignore leaves out findings, and counts them. An entry that has an unknown rule is an error in
// the report, and an entry that matches nothing a warning. strict says that the report applies
// the specification to the letter.
func (r *Report) Ignore(list []config.Ignore, sources []source.Source, strict bool) {
	if len(list) == 0 {
		return
	}
	kinds := make(map[string]string)
	for _, src := range sources {
		kinds[src.Info().Label] = src.Info().Kind
	}
	used := make([]bool, len(list))
	var left []Finding
	for _, f := range r.Findings {
		ignored := false
		for i := range list {
			if matches(&list[i], &f, kinds[f.Source]) {
				used[i], ignored = true, true
			}
		}
		if !ignored {
			left = append(left, f)
		}
	}
	r.Ignored += len(r.Findings) - len(left)
	r.Findings = left
	var problems []skill.Problem
	for i, entry := range list {
		if p, ok := problemOf(&entry, used[i], strict); ok {
			problems = append(problems, p)
		}
	}
	r.append(problems...)
	r.finish()
}

// matches reports whether an entry leaves out a finding about a source of a kind.
func matches(e *config.Ignore, f *Finding, kind string) bool {
	if e.Within != nil && (!slices.Contains(e.Within, kind) || len(f.Family) > 0 || ruleOf(f.Rule).warns()) {
		return false // it is not theirs alone, or its reader must know
	}
	patterns := search.Rules{Names: e.Skills}
	return (e.Rules == nil || slices.Contains(e.Rules, f.Rule)) &&
		(e.Sources == nil || slices.Contains(e.Sources, f.Source)) &&
		(e.Skills == nil || slices.ContainsFunc(append(slices.Clip(f.Family), f.Skill), func(id string) bool {
			return id != "" && (patterns.MatchName(id) || patterns.MatchName(id[strings.LastIndex(id, "/")+1:]))
		}))
}

// problemOf returns what is wrong with an entry. used means that it matches a finding.
func problemOf(e *config.Ignore, used, strictly bool) (p skill.Problem, ok bool) {
	p = skill.Problem{Rule: "ignore", Severity: skill.Warning, Path: cmp.Or(e.Place.File, "configuration"), Line: e.Place.Line}
	onlyStrict := len(e.Rules) > 0
	var known []string
	for _, rule := range rules {
		known = append(known, rule.ID)
	}
	for _, id := range e.Rules {
		rule := ruleOf(id)
		if !slices.Contains(known, id) {
			p.Severity, p.Message = skill.Error, fmt.Sprintf("ignore: no rule %q%s", id, words.Suggest(id, known))
			return p, true
		}
		if e.Within != nil && rule.warns() {
			p.Message, p.Hint = fmt.Sprintf("ignore: a project's configuration cannot ignore %s", id), "ignore it in your own configuration, if you trust the project"
			return p, true
		}
		onlyStrict = onlyStrict && rule.effect == strict
	}
	if used || onlyStrict && !strictly {
		return p, false
	}
	p.Message, p.Hint = "ignore: no finding matches "+listsOf(e), "remove the entry"
	return p, true
}

// listsOf returns the lists of an entry as text.
func listsOf(e *config.Ignore) string {
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
