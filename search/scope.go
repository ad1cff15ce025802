package search

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Agent sees a part of the catalog. A nil *Agent sees all of it.
type Agent struct {
	Name    string
	Include Rules    // empty means everything
	Exclude Rules    // wins over Include
	Pinned  []string // names of skills that the agent always has, in this order
}

// Rules match a skill if one of them matches it.
type Rules struct {
	Names   []string // globs in the syntax of path.Match
	Tags    []string
	Sources []string // labels
}

func (r Rules) empty() bool { return len(r.Names)+len(r.Tags)+len(r.Sources) == 0 }

// match reports whether a rule matches skill i.
func (r Rules) match(v *snapshot.View, i int) bool {
	n, doc := v.At(i)
	return matching(v, r)[n].Has(doc)
}

// special are the characters that make a name a pattern.
const special = `*?[\`

// scopeOf returns the part of the catalog that the agent sees. A rule with a name, tag
// or source that the catalog does not have is an error: a misspelt rule must not open
// what it was meant to close. A pattern that matches nothing is no error, because it
// may match skills that are added later.
func scopeOf(v *snapshot.View, a *Agent) (*snapshot.Scope, error) {
	s, err := v.Cached(a, func() (any, error) {
		s, err := newScope(v, a)
		return s, cmp.Or(err, v.Err())
	})
	if err != nil {
		return nil, err
	}
	return s.(*snapshot.Scope), nil
}

func newScope(v *snapshot.View, a *Agent) (*snapshot.Scope, error) {
	if a == nil {
		s := v.NewScope(func(_ int, _ *snapshot.Reader, live snapshot.Bitmap) snapshot.Bitmap { return live })
		s.All = true
		return s, nil
	}
	pinned, err := check(v, a)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.Name, err)
	}
	include, exclude := matching(v, a.Include), matching(v, a.Exclude)
	s := v.NewScope(func(n int, _ *snapshot.Reader, live snapshot.Bitmap) snapshot.Bitmap {
		set := live
		if !a.Include.empty() {
			set = set.And(include[n])
		}
		set = set.AndNot(exclude[n])
		for _, i := range pinned {
			if m, doc := v.At(i); m == n {
				set.Set(doc)
			}
		}
		return set
	})
	s.Pinned = pinned
	return s, nil
}

// matching returns the documents of each segment that the rules match.
func matching(v *snapshot.View, rules Rules) []snapshot.Bitmap {
	var sets []snapshot.Bitmap
	v.Segments(func(n int, r *snapshot.Reader, live snapshot.Bitmap) error {
		set := make(snapshot.Bitmap, len(live))
		add := func(names []string, find func(string) (snapshot.Bitmap, bool, error)) error {
			for _, name := range names {
				found, ok, err := find(name)
				if err != nil {
					return err
				}
				if ok {
					set = set.Or(found)
				}
			}
			return nil
		}
		err := cmp.Or(add(rules.Sources, r.Source), add(rules.Tags, r.Tag))
		err = cmp.Or(err, matchNames(r, rules.Names, set))
		sets = append(sets, set.And(live))
		return err
	})
	return sets
}

// matchNames adds to a set the documents whose names match a pattern. Malformed patterns
// match nothing; check refuses them.
func matchNames(r *snapshot.Reader, globs []string, set snapshot.Bitmap) error {
	for _, glob := range globs {
		pattern := words.NameKey(glob)
		// All matching names begin with the part before the first special character.
		prefix := pattern
		if at := strings.IndexAny(pattern, special); at >= 0 {
			prefix = pattern[:at]
		}
		first, last, err := r.Prefixed(prefix)
		if err != nil {
			return err
		}
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			if err != nil {
				return err
			}
			if ok, _ := path.Match(pattern, key); ok {
				set.Set(doc)
			}
		}
	}
	return nil
}

// check returns the skills that the agent has pinned, or an error for the first thing
// that the agent's rules name and the catalog does not have.
func check(v *snapshot.View, a *Agent) (pinned []int, err error) {
	if err := cmp.Or(checkRules(v, "include", a.Include), checkRules(v, "exclude", a.Exclude)); err != nil {
		return nil, err
	}
	for _, name := range a.Pinned {
		i, ok := v.Find(words.NameKey(name))
		if !ok {
			return nil, unknown("pinned", "skill", name, names(v, anySkill))
		}
		if a.Exclude.match(v, i) {
			return nil, fmt.Errorf("pinned: skill %q is excluded too; remove one of the two", name)
		}
		pinned = append(pinned, i)
	}
	return pinned, nil
}

func checkRules(v *snapshot.View, key string, r Rules) error {
	none := func(r Rules) bool {
		return !slices.ContainsFunc(matching(v, r), func(set snapshot.Bitmap) bool { return set.Count() > 0 })
	}
	for _, glob := range r.Names {
		if _, err := path.Match(words.NameKey(glob), ""); err != nil {
			return fmt.Errorf("%s.names: %q is not a pattern (* ? [a-z] and \\ are special)", key, glob)
		}
		if !strings.ContainsAny(glob, special) && none(Rules{Names: []string{glob}}) {
			return unknown(key+".names", "skill", glob, names(v, anySkill))
		}
	}
	for _, tag := range r.Tags {
		if none(Rules{Tags: []string{tag}}) {
			var known []string
			v.Each(func(i int) { known = append(known, v.Doc(i).Tags...) })
			return unknown(key+".tags", "tag", tag, known)
		}
	}
	var known []string
	for _, s := range v.Sources {
		known = append(known, s.Label)
	}
	for _, label := range r.Sources {
		if !slices.Contains(known, label) {
			return unknown(key+".sources", "source", label, known)
		}
	}
	return nil
}

func anySkill(int) bool { return true }

// names returns the names of the offered skills for which allowed is true.
func names(v *snapshot.View, allowed func(i int) bool) []string {
	var list []string
	v.Each(func(i int) {
		if v.IsOffered(i) && allowed(i) {
			list = append(list, v.Doc(i).Name)
		}
	})
	return list
}

// unknown is the error for a name that does not exist; it lists what does.
func unknown(key, kind, name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("%s: no %s %q%s", key, kind, name, words.Suggest(name, known))
}
