package index

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
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

func (r Rules) match(e *store.Entry) bool {
	if slices.Contains(r.Sources, e.Source) {
		return true
	}
	for _, tag := range e.Tags {
		if slices.ContainsFunc(r.Tags, func(t string) bool { return strings.EqualFold(t, tag) }) {
			return true
		}
	}
	return slices.ContainsFunc(r.Names, func(glob string) bool {
		// The pattern was checked when the scope was made.
		ok, _ := path.Match(NameKey(glob), e.NameKey)
		return ok
	})
}

// A scope is an agent's part of one snapshot.
type scope struct {
	all    bool
	in     []bool  // by index in entries
	rows   []int64 // IDs of the offered ones in it, for the text leg; nil when all
	pinned []int   // indexes in entries
}

// allowed reports whether entry i is in the scope.
func (s *scope) allowed(i int) bool { return s.all || s.in[i] }

// scope returns the part of the snapshot that the agent sees. A name, tag or
// source that the catalog does not have is an error: a misspelt rule must not
// open what it was meant to close. A pattern may match nothing yet: it is also
// about skills to come.
func (s *snapshot) scope(a *Agent) (*scope, error) {
	if a == nil {
		return &scope{all: true}, nil
	}
	if sc, ok := s.scopes.Load(a); ok {
		return sc.(*scope), nil
	}
	if err := s.check(a); err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.Name, err)
	}
	sc := &scope{in: make([]bool, len(s.entries)), rows: []int64{}}
	for _, name := range a.Pinned {
		i := s.byName[NameKey(name)]
		sc.pinned = append(sc.pinned, i)
		sc.in[i] = true
	}
	for i := range s.entries {
		e := &s.entries[i]
		sc.in[i] = sc.in[i] || (a.Include.empty() || a.Include.match(e)) && !a.Exclude.match(e)
		if sc.in[i] && e.Offered() {
			sc.rows = append(sc.rows, e.ID)
		}
	}
	s.scopes.Store(a, sc)
	return sc, nil
}

// check reports the first thing that the agent's rules name and the catalog
// does not have.
func (s *snapshot) check(a *Agent) error {
	for _, r := range []struct {
		key   string
		rules Rules
	}{{"include", a.Include}, {"exclude", a.Exclude}} {
		if err := s.checkRules(r.key, r.rules); err != nil {
			return err
		}
	}
	for _, name := range a.Pinned {
		i, ok := s.byName[NameKey(name)]
		if !ok {
			return s.unknown("pinned", "skill", name, s.namesOf(offeredName))
		}
		if a.Exclude.match(&s.entries[i]) {
			return fmt.Errorf("pinned: skill %q is excluded too; remove one of the two", name)
		}
	}
	return nil
}

func (s *snapshot) checkRules(key string, r Rules) error {
	for _, glob := range r.Names {
		if _, err := path.Match(NameKey(glob), ""); err != nil {
			return fmt.Errorf("%s.names: %q is not a pattern (* ? [a-z] and \\ are special)", key, glob)
		}
		if one := (Rules{Names: []string{glob}}); !strings.ContainsAny(glob, `*?[\`) && !s.any(one.match) {
			return s.unknown(key+".names", "skill", glob, s.namesOf(offeredName))
		}
	}
	for _, tag := range r.Tags {
		known := s.namesOf(func(e *store.Entry) []string { return e.Tags })
		if !slices.ContainsFunc(known, func(t string) bool { return strings.EqualFold(t, tag) }) {
			return s.unknown(key+".tags", "tag", tag, known)
		}
	}
	for _, label := range r.Sources {
		if !slices.Contains(s.sources, label) {
			return s.unknown(key+".sources", "source", label, s.sources)
		}
	}
	return nil
}

// any reports whether a rule matches any skill.
func (s *snapshot) any(match func(*store.Entry) bool) bool {
	for i := range s.entries {
		if e := &s.entries[i]; !e.Refused && match(e) {
			return true
		}
	}
	return false
}

func offeredName(e *store.Entry) []string {
	if e.Offered() {
		return []string{e.Name}
	}
	return nil
}

// namesOf returns what of returns for all entries, sorted, each once.
func (s *snapshot) namesOf(of func(*store.Entry) []string) []string {
	var list []string
	for i := range s.entries {
		list = append(list, of(&s.entries[i])...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// unknown is the error for a name that does not exist; it lists what does.
func (s *snapshot) unknown(key, kind, name string, known []string) error {
	msg := fmt.Sprintf("%s: no %s %q", key, kind, name)
	if similar := skill.Similar(name, known, 3); len(similar) > 0 {
		return fmt.Errorf("%s; did you mean %s?", msg, strings.Join(similar, ", "))
	}
	const most = 10
	if len(known) > most {
		return fmt.Errorf("%s; there are %d, such as %s", msg, len(known), strings.Join(known[:most], ", "))
	}
	return fmt.Errorf("%s; there are: %s", msg, strings.Join(known, ", "))
}
