package search

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
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

// match reports whether a rule matches the skill.
func (r Rules) match(d *snapshot.Document) bool {
	if slices.Contains(r.Sources, d.Source) {
		return true
	}
	for _, tag := range d.Tags {
		if slices.ContainsFunc(r.Tags, func(t string) bool { return strings.EqualFold(t, tag) }) {
			return true
		}
	}
	return slices.ContainsFunc(r.Names, func(glob string) bool { return matchName(glob, d.Key) })
}

// matchName reports whether the key of a name matches a pattern. The pattern is valid:
// it was checked when the scope was made.
func matchName(glob, key string) bool {
	ok, _ := path.Match(words.NameKey(glob), key)
	return ok
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
	if err := check(v, a); err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.Name, err)
	}
	pinned := make([]int, len(a.Pinned))
	for n, name := range a.Pinned {
		pinned[n], _ = v.Find(words.NameKey(name))
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
		for _, label := range rules.Sources {
			found, ok, err := r.Source(label)
			if err != nil {
				return err
			}
			if ok {
				set = set.Or(found)
			}
		}
		for _, tag := range rules.Tags {
			found, ok, err := r.Tag(tag)
			if err != nil {
				return err
			}
			if ok {
				set = set.Or(found)
			}
		}
		err := matchNames(r, rules.Names, set)
		sets = append(sets, set.And(live))
		return err
	})
	return sets
}

// matchNames adds to a set the documents whose names match a pattern.
func matchNames(r *snapshot.Reader, globs []string, set snapshot.Bitmap) error {
	for _, glob := range globs {
		// All matching names begin with the part before the first special character.
		prefix := words.NameKey(glob)
		if at := strings.IndexAny(prefix, special); at >= 0 {
			prefix = prefix[:at]
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
			if matchName(glob, key) {
				set.Set(doc)
			}
		}
	}
	return nil
}

// check returns an error for the first thing that the agent's rules name and the
// catalog does not have.
func check(v *snapshot.View, a *Agent) error {
	for _, r := range []struct {
		key   string
		rules Rules
	}{{"include", a.Include}, {"exclude", a.Exclude}} {
		if err := checkRules(v, r.key, r.rules); err != nil {
			return err
		}
	}
	for _, name := range a.Pinned {
		i, ok := v.Find(words.NameKey(name))
		if !ok {
			return unknown("pinned", "skill", name, names(v))
		}
		if d := v.Doc(i); a.Exclude.match(&d) {
			return fmt.Errorf("pinned: skill %q is excluded too; remove one of the two", name)
		}
	}
	return nil
}

func checkRules(v *snapshot.View, key string, r Rules) error {
	for _, glob := range r.Names {
		if _, err := path.Match(words.NameKey(glob), ""); err != nil {
			return fmt.Errorf("%s.names: %q is not a pattern (* ? [a-z] and \\ are special)", key, glob)
		}
		if !strings.ContainsAny(glob, special) && !matchesAny(v, Rules{Names: []string{glob}}) {
			return unknown(key+".names", "skill", glob, names(v))
		}
	}
	for _, tag := range r.Tags {
		if !matchesAny(v, Rules{Tags: []string{tag}}) {
			return unknown(key+".tags", "tag", tag, tags(v))
		}
	}
	for _, label := range r.Sources {
		if !slices.ContainsFunc(v.Sources, func(s store.Source) bool { return s.Label == label }) {
			return unknown(key+".sources", "source", label, labels(v))
		}
	}
	return nil
}

// matchesAny reports whether the rules match any skill.
func matchesAny(v *snapshot.View, r Rules) bool {
	return slices.ContainsFunc(matching(v, r), func(set snapshot.Bitmap) bool { return set.Count() > 0 })
}

// names returns the names of all skills that are offered.
func names(v *snapshot.View) []string {
	var list []string
	v.Each(func(i int) {
		if v.IsOffered(i) {
			list = append(list, v.Doc(i).Name)
		}
	})
	return list
}

func tags(v *snapshot.View) []string {
	var list []string
	v.Each(func(i int) { list = append(list, v.Doc(i).Tags...) })
	return list
}

func labels(v *snapshot.View) []string {
	var list []string
	for _, s := range v.Sources {
		list = append(list, s.Label)
	}
	return list
}

// unknown is the error for a name that does not exist; it lists what does.
func unknown(key, kind, name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("%s: no %s %q%s", key, kind, name, words.Suggest(name, known))
}
