package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// Unmatched returns a problem for each rule of the agent that matches no skill of the
// catalog, and for each pinned skill that its scope does not have. For nil these are the
// rules of the policy. The problems are for the owner of the catalog, never for the agent:
// they name skills outside of the scope.
func (x *reviewer) Unmatched(ctx context.Context, a *Agent) (list []skill.Problem, err error) {
	type key struct { // a schedule asks again and again
		*Agent
		*policy
		*held
	}
	p := x.scopes.policy.Load()
	if a == nil && p == nil {
		return nil, nil
	}
	err = x.scopes.readHeld(ctx, a, func(own *snapshot.View, h *held) error {
		v := own.Whole()
		list, err = remember(v.Set, mostScopes, key{a, p, h}, func() ([]skill.Problem, error) {
			if a == nil {
				return p.unmatched(v), v.Err()
			}
			return slices.Concat(a.unmatched(v, "include", a.Include, "lets nothing in"),
				a.unmatched(v, "exclude", a.Exclude, "keeps nothing out"), a.unmatchedPins(own, h), a.unmatchedUses(own, h)), v.Err()
		})
		return err
	})
	return list, err
}

// unmatched returns a problem for each of the rules under a key that matches no skill.
func (a *Agent) unmatched(v *snapshot.View, key string, r Rules, effect string) (list []skill.Problem) {
	means := covers
	if key == "include" {
		means = func(rule, label string) bool { return rule == label }
	}
	r.unmatched(v, means, func(part, text, why string) {
		list = append(list, a.problem(Rule{key + "." + part, text}, why, "correct or remove it; it "+effect))
	})
	return list
}

// unmatched returns a problem for each rule that disables no skill.
func (p *policy) unmatched(v *snapshot.View) (list []skill.Problem) {
	for _, b := range p.Disabled {
		before := len(list)
		found := func(rule, why string) {
			list = append(list, skill.Problem{Rule: "policy", Severity: skill.Warning, Path: b.Place.File, Line: b.Place.Line,
				Message: fmt.Sprintf("disabled: %s: %s", rule, why), Hint: "correct or remove it; it disables nothing"})
		}
		b.unmatched(v, covers, func(part, _, why string) { found(part, why) })
		if len(list) == before && b.Within != nil && p.banned(v, &b).Count() == 0 {
			found(b.Rules.String(), "there is none in "+strings.Join(b.Within, ", "))
		}
	}
	return list
}

// unmatched calls found for each rule that matches no skill, and says why. A source without
// skills matches: it is not misspelt.
func (r Rules) unmatched(v *snapshot.View, means func(rule, label string) bool, found func(part, text, why string)) {
	check := func(part, kind, text string, only Rules, known func(*snapshot.View) []string) {
		isSource := len(only.Sources) > 0 && slices.ContainsFunc(labels(v), func(label string) bool { return means(text, label) })
		if !isSource && matching(v, only).Count() == 0 {
			found(part, text, fmt.Sprintf("no %s %q%s", kind, text, words.Suggest(text, known(v))))
		}
	}
	for _, text := range r.Names {
		check("names", "skill", text, Rules{Names: []string{text}}, names)
	}
	for _, text := range r.Tags {
		check("tags", "tag", text, Rules{Tags: []string{text}}, tags)
	}
	for _, text := range r.Sources {
		check("sources", "source", text, Rules{Sources: []string{text}}, labels)
	}
}

// unmatchedPins returns a problem for each pinned skill that the scope does not have.
func (a *Agent) unmatchedPins(own *snapshot.View, h *held) (list []skill.Problem) {
	for _, name := range a.Pinned {
		if len(find(own, name)) == 0 { // of a source that is away it may come back
			why := a.whyOutside(own.Whole(), h, name)
			list = append(list, a.problem(Rule{keyPinned, name}, why, "pin a skill that the agent sees, or none"))
		}
	}
	return list
}

// problem returns the problem of a rule.
func (a *Agent) problem(r Rule, why, hint string) skill.Problem {
	at := a.Places[r]
	return skill.Problem{Rule: "agent", Severity: skill.Error, Path: at.File, Line: at.Line,
		Message: fmt.Sprintf("agent %s: %s: %s", a.Name, r.Key, why), Hint: hint}
}

// labels returns the labels of the sources.
func labels(v *snapshot.View) (list []string) {
	for _, s := range v.Set.Sources {
		list = append(list, s.Label)
	}
	return list
}

// tags returns the different tags of the skills of a view, sorted.
func tags(v *snapshot.View) (list []string) {
	for i := range v.Scope.In.All() {
		list = append(list, v.Doc(i).Tags...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// names returns the different names of the offered skills of a view, sorted.
func names(v *snapshot.View) (list []string) {
	for i := range v.Scope.Offered.All() {
		list = append(list, v.Doc(i).Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
