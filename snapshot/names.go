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

// First returns the first of All.
func (n Names) First(key string) (i int, ok bool) {
	list := n.All(key)
	if len(list) == 0 {
		return 0, false
	}
	return list[0], true
}

// All returns the skills that a name with this key stands for, by precedence: those that are
// offered, or else those whose sources are away. There are several only if all of them are of
// sources that are apart.
func (n Names) All(key string) []int {
	list := n.with(key, n.v.Scope.Offered)
	if len(list) == 0 {
		list = n.with(key, n.v.Scope.Away)
	}
	if i := slices.IndexFunc(list, func(i int) bool { return !n.v.Set.isFull(i) }); i >= 0 {
		return list[i : i+1]
	}
	if len(list) > 1 {
		slices.SortFunc(list, func(i, j int) int {
			a, b := n.v.Doc(i), n.v.Doc(j)
			return n.precedence(&a, &b)
		})
	}
	return list
}

// Winner returns the skill that hides another one of its name in the scope.
func (n Names) Winner(d *Document) (i int, ok bool) {
	for _, set := range []Skills{n.v.Scope.Offered, n.v.Scope.Away} {
		for _, j := range n.with(d.Key, set) {
			o := n.v.Doc(j)
			if o.Digest == d.Digest || n.together(&Listed{o, j}, &Listed{Document: *d}) {
				return j, true
			}
		}
	}
	return 0, false
}

// together reports whether of two skills with one name only one is offered.
func (n Names) together(a, b *Listed) bool {
	return a.Source == b.Source || !n.v.source(a.Source).Apart && !n.v.source(b.Source).Apart
}

// clash reports whether the scope has another skill that is offered, or would be, under the name
// of skill i.
func (n Names) clash(i int) bool {
	key := of(n.v, i, (*Reader).Key)
	return len(cmp.Or(n.v.Scope.wide, n.v.Scope).named(n, key)) > 1
}

// with returns the skills of a set that have a name with this key.
func (n Names) with(key string, set Skills) (list []int) {
	n.prefixed(key, func(j int, k string) bool {
		if k == key && set.Has(j) {
			list = append(list, j)
		}
		return k == key
	})
	return list
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

// Full returns the skills of a source whose full names match, whatever the scope.
func (n Names) Full(label string, match func(name string) bool) (found Skills) {
	for i := range n.v.Source(label).All() {
		if d := n.v.Doc(i); match(d.FullName()) {
			found.Add(i)
		}
	}
	return found
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
