package index

import (
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
	Include Rules    // empty: everything
	Exclude Rules    // wins over Include
	Pinned  []string // names of skills that it always has, in this order
}

// Rules match a skill when one of them does.
type Rules struct {
	Names   []string // globs as of path.Match
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

// matchName reports whether the key of a name matches a pattern, which was
// checked when the scope was made.
func matchName(glob, key string) bool {
	ok, _ := path.Match(words.NameKey(glob), key)
	return ok
}

// special are the characters that make a name a pattern.
const special = `*?[\`

// A scope is the part of one view that an agent sees.
type scope struct {
	segments []segment
	in       []snapshot.Bitmap // what the agent sees of each segment
	searched []snapshot.Bitmap // of these, what is found under its name
	all      bool              // the agent sees everything
	visible  int               // how many are searched
	pinned   []int
}

// allowed reports whether skill i is in the scope.
func (s *scope) allowed(i int) bool { return s.has(s.in, i) }

// searches reports whether skill i is searched.
func (s *scope) searches(i int) bool { return s.has(s.searched, i) }

// has reports whether skill i is in one of the sets, which are by segment.
func (s *scope) has(sets []snapshot.Bitmap, i int) bool {
	for n := len(s.segments) - 1; n >= 0; n-- {
		if p := &s.segments[n]; i >= p.first {
			return sets[n].Has(i - p.first)
		}
	}
	return false
}

// scope returns the part of the catalog that the agent sees. A name, tag or
// source that the catalog does not have is an error: a misspelt rule must not
// open what it was meant to close. A pattern may match nothing yet: it is also
// about skills to come.
func (in *reading) scope(a *Agent) (*scope, error) {
	if sc, ok := in.scopes.Load(a); ok {
		return sc.(*scope), nil
	}
	sc := &scope{segments: in.segments, all: a == nil}
	if a != nil {
		if err := in.check(a); err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.Name, err)
		}
		for _, name := range a.Pinned {
			i, _ := in.find(words.NameKey(name))
			sc.pinned = append(sc.pinned, i)
		}
	}
	for n := range in.segments {
		p := &in.segments[n]
		set := p.live
		if a != nil {
			if !a.Include.empty() {
				set = set.And(in.matching(a.Include, n))
			}
			set = set.AndNot(in.matching(a.Exclude, n))
			for _, i := range sc.pinned {
				if m, _, doc := in.at(i); m == n {
					set.Set(doc)
				}
			}
		}
		sc.in = append(sc.in, set)
		sc.searched = append(sc.searched, set.And(p.offered))
		sc.visible += sc.searched[n].Count()
	}
	if in.err == nil {
		in.scopes.Store(a, sc)
	}
	return sc, in.err
}

// matching returns the documents of segment n that the rules match.
func (in *reading) matching(rules Rules, n int) snapshot.Bitmap {
	p, r := &in.segments[n], in.readers[n]
	set := p.NewBitmap()
	for _, label := range rules.Sources {
		found, ok, err := r.Source(label)
		if in.note(err); ok {
			set = set.Or(found)
		}
	}
	for _, tag := range rules.Tags {
		found, ok, err := r.Tag(tag)
		if in.note(err); ok {
			set = set.Or(found)
		}
	}
	for _, glob := range rules.Names {
		// What stands before the first special character is what all have.
		prefix := words.NameKey(glob)
		if at := strings.IndexAny(prefix, special); at >= 0 {
			prefix = prefix[:at]
		}
		first, last, err := r.Prefixed(prefix)
		in.note(err)
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			in.note(err)
			if matchName(glob, key) {
				set.Set(doc)
			}
		}
	}
	return set.And(p.live)
}

// check reports the first thing that the agent's rules name and the catalog
// does not have.
func (in *reading) check(a *Agent) error {
	for _, r := range []struct {
		key   string
		rules Rules
	}{{"include", a.Include}, {"exclude", a.Exclude}} {
		if err := in.checkRules(r.key, r.rules); err != nil {
			return err
		}
	}
	for _, name := range a.Pinned {
		i, ok := in.find(words.NameKey(name))
		if !ok {
			return unknown("pinned", "skill", name, in.names())
		}
		if d := in.document(i); a.Exclude.match(&d) {
			return fmt.Errorf("pinned: skill %q is excluded too; remove one of the two", name)
		}
	}
	return nil
}

func (in *reading) checkRules(key string, r Rules) error {
	for _, glob := range r.Names {
		if _, err := path.Match(words.NameKey(glob), ""); err != nil {
			return fmt.Errorf("%s.names: %q is not a pattern (* ? [a-z] and \\ are special)", key, glob)
		}
		if !strings.ContainsAny(glob, special) && !in.any(Rules{Names: []string{glob}}) {
			return unknown(key+".names", "skill", glob, in.names())
		}
	}
	for _, tag := range r.Tags {
		if !in.any(Rules{Tags: []string{tag}}) {
			return unknown(key+".tags", "tag", tag, in.tags())
		}
	}
	for _, label := range r.Sources {
		if !slices.ContainsFunc(in.Sources, func(s knownSource) bool { return s.Label == label }) {
			return unknown(key+".sources", "source", label, in.labels())
		}
	}
	return nil
}

// any reports whether the rules match any skill.
func (in *reading) any(r Rules) bool {
	for n := range in.segments {
		if in.matching(r, n).Count() > 0 {
			return true
		}
	}
	return false
}

// names returns the names of all skills that are offered.
func (in *reading) names() []string {
	var list []string
	in.each(func(i int) {
		if in.offered(i) {
			list = append(list, in.document(i).Name)
		}
	})
	return list
}

func (in *reading) tags() []string {
	var list []string
	in.each(func(i int) { list = append(list, in.document(i).Tags...) })
	return list
}

func (v *view) labels() []string {
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
