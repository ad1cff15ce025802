// Package disjoint joins things into sets: who belongs together, directly or through others.
package disjoint

import "cmp"

// Sets are sets of things, no thing in two of them. At first each thing is alone in its set. The
// zero value is ready to use.
type Sets[T cmp.Ordered] struct {
	above map[T]T // a smaller one of the same set; the smallest has none
}

// Root returns the smallest thing of the set that has t.
func (s *Sets[T]) Root(t T) T {
	for {
		next, ok := s.above[t]
		if !ok {
			return t
		}
		if further, ok := s.above[next]; ok {
			s.above[t], next = further, further // shortens the way for the next question
		}
		t = next
	}
}

// Join makes the sets of two things one set.
func (s *Sets[T]) Join(a, b T) {
	a, b = s.Root(a), s.Root(b)
	if a == b {
		return
	}
	if s.above == nil {
		s.above = make(map[T]T)
	}
	s.above[max(a, b)] = min(a, b)
}

// Same reports whether two things are in one set.
func (s *Sets[T]) Same(a, b T) bool { return s.Root(a) == s.Root(b) }

// Joined returns the sets of several things by their roots, in no order.
func (s *Sets[T]) Joined() map[T][]T {
	sets := make(map[T][]T)
	for t := range s.above {
		root := s.Root(t)
		if sets[root] == nil {
			sets[root] = []T{root}
		}
		sets[root] = append(sets[root], t)
	}
	return sets
}
