package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// Unmatched returns a problem for each rule of the agent that matches no skill of the
// catalog, and for each pinned skill that its scope does not have. The problems are for
// the owner of the catalog, never for the agent: they name skills outside of the scope.
func (x *Searcher) Unmatched(ctx context.Context, a *Agent) (list []skill.Problem, err error) {
	type key struct{ *Agent } // a schedule asks again and again
	err = x.read(ctx, a, func(own *snapshot.View, _ *snapshot.Scope) error {
		v := own.Whole()
		found, err := v.Cached(key{a}, func() (any, error) {
			return slices.Concat(a.unmatched(v, "include", a.Include, "lets nothing in"),
				a.unmatched(v, "exclude", a.Exclude, "keeps nothing out"), a.unmatchedPins(own)), v.Err()
		})
		if err == nil {
			list = found.([]skill.Problem)
		}
		return err
	})
	return list, err
}

// unmatched returns a problem for each of the rules under a key that matches no skill. A
// source without skills matches: it is not misspelt.
func (a *Agent) unmatched(v *snapshot.View, key string, r Rules, effect string) (list []skill.Problem) {
	check := func(part, kind, text string, only Rules, known func(*snapshot.View) []string) {
		isSource := len(only.Sources) > 0 && slices.Contains(labels(v), text)
		if isSource || slices.ContainsFunc(matching(v, only), func(set snapshot.Bitmap) bool { return set.Count() > 0 }) {
			return
		}
		why := fmt.Sprintf("no %s %q%s", kind, text, words.Suggest(text, known(v)))
		list = append(list, a.problem(Rule{key + "." + part, text}, why, "correct or remove it; it "+effect))
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
	return list
}

// unmatchedPins returns a problem for each pinned skill that the scope does not have.
func (a *Agent) unmatchedPins(own *snapshot.View) (list []skill.Problem) {
	v := own.Whole()
	for _, name := range a.Pinned {
		key := words.NameKey(name)
		if _, ok := own.First(key); ok { // of a source that is away it may come back
			continue
		}
		why := fmt.Sprintf("no skill %q%s", name, words.Suggest(name, names(v)))
		if i, ok := v.First(key); ok {
			why = fmt.Sprintf("skill %q is outside: the agent %s", name, a.filter(v, i))
		}
		list = append(list, a.problem(Rule{"pinned", name}, why, "pin a skill that the agent sees, or none"))
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
	for _, s := range v.Sources {
		list = append(list, s.Label)
	}
	return list
}

// tags returns the different tags of the skills of a view, sorted.
func tags(v *snapshot.View) (list []string) {
	v.Each(func(i int) { list = append(list, v.Doc(i).Tags...) })
	slices.Sort(list)
	return slices.Compact(list)
}

// names returns the different names of the offered skills of a view, sorted.
func names(v *snapshot.View) (list []string) {
	v.Each(func(i int) {
		if v.IsOffered(i) {
			list = append(list, v.Doc(i).Name)
		}
	})
	slices.Sort(list)
	return slices.Compact(list)
}
