package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// Names finds the skills of a view by their names.
type Names struct{ v *View }

// Names returns the names of the skills of the view.
func (v *View) Names() Names { return Names{v} }

// Find returns the skill that is offered under a name with this key.
func (n Names) Find(key string) (i int, ok bool) { return n.find(key, n.v.Scope.Offered) }

// First returns the first skill by precedence of a name with this key: the skill that is
// offered, or else one whose source is away.
func (n Names) First(key string) (i int, ok bool) {
	if i, ok = n.Find(key); ok {
		return i, true
	}
	return n.find(key, n.v.Scope.Away)
}

func (n Names) find(key string, set Skills) (i int, ok bool) {
	n.prefixed(key, func(j int, k string) bool {
		if k == key && !ok && set.Has(j) {
			i, ok = j, true
		}
		return k == key && !ok
	})
	return i, ok
}

// Prefixed returns the offered skills whose keys begin with prefix.
func (n Names) Prefixed(prefix string) (list []int) {
	n.prefixed(prefix, func(i int, _ string) bool {
		if n.v.Scope.Offered.Has(i) {
			list = append(list, i)
		}
		return true
	})
	return list
}

// Matching returns the skills whose keys begin with prefix and match, whatever the scope.
func (n Names) Matching(prefix string, match func(key string) bool) Skills {
	var found Skills
	n.prefixed(prefix, func(i int, key string) bool {
		if match(key) {
			found.Add(i)
		}
		return true
	})
	return found.And(n.v.Set.all.In)
}

// prefixed calls f for the skills whose keys begin with prefix, whatever the scope. In each
// segment it stops when f returns false.
func (n Names) prefixed(prefix string, f func(i int, key string) bool) {
	for s, r := range n.v.readers {
		first, last, err := r.Prefixed(prefix)
		n.v.note(err)
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			n.v.note(err)
			if err != nil || !f(n.v.Set.segments[s].first+doc, key) {
				break
			}
		}
	}
}

// Sorted returns some skills sorted by name; among skills with the same name, the offered
// one is first.
func (n Names) Sorted(skills Skills) []Listed {
	var list []Listed
	for i := range skills.All() {
		list = append(list, Listed{n.v.Doc(i), i})
	}
	if len(n.v.readers) > 1 {
		slices.SortStableFunc(list, func(a, b Listed) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), n.precedence(&a.Document, &b.Document))
		})
	}
	return list
}

// precedence compares two skills of one name: the one that comes first is offered.
func (n Names) precedence(a, b *Document) int {
	return cmp.Or(n.v.source(a.Source).ComparePrecedence(n.v.source(b.Source)), skill.ComparePlaces(&a.Meta, &b.Meta))
}

// A Listed is a skill in a sorted list.
type Listed struct {
	Document
	I int // number in the set
}
