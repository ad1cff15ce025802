package snapshot

// A Scope is a part of a set: the skills that exist for one agent. Of the skills of one
// name in the scope, the first by precedence is offered, whatever lies outside.
type Scope struct {
	segments []segment
	in       []Bitmap     // skills in the scope, by segment
	offered  []Bitmap     // of these, the offered ones, by segment
	away     []Bitmap     // those that would be offered if their sources were not away
	promoted map[int]bool // first of its name here, but shadowed in the whole set

	All     bool  // every skill is in the scope
	Visible int   // number of offered skills
	Pinned  []int // skills that the agent always has, in this order
}

// whole returns the scope with all skills.
func (s *Set) whole() *Scope {
	w := &Scope{segments: s.segments, All: true, Visible: s.Offered()}
	for n := range s.segments {
		g := &s.segments[n]
		w.in, w.offered, w.away = append(w.in, g.live), append(w.offered, g.offered), append(w.away, g.away)
	}
	return w
}

// NewScope returns a scope. in returns the documents of each segment that are in it.
func (v *View) NewScope(in func(n int, r *Reader, live Bitmap) Bitmap) *Scope {
	s := &Scope{segments: v.segments}
	for n, r := range v.readers {
		g := &v.segments[n]
		set := in(n, r, g.live)
		s.in, s.offered, s.away = append(s.in, set), append(s.offered, set.And(g.offered)), append(s.away, set.And(g.away))
	}
	s.promote(v.Whole())
	for _, set := range s.offered {
		s.Visible += set.Count()
	}
	return s
}

// promote offers, of each name whose first skill is outside of the scope, the first one
// inside by precedence, unless its source is away. Only shadowed skills need a look: what
// comes first in the whole set comes first in each scope that has it.
func (s *Scope) promote(whole *View) {
	first := make(map[string]int) // by key
	for n, r := range whole.readers {
		for doc := range s.in[n].AndNot(s.offered[n]).AndNot(s.away[n]).All() {
			i := s.segments[n].first + doc
			key, err := r.Key(doc)
			whole.note(err)
			if rival, ok := first[key]; ok {
				if whole.precedes(i, rival) {
					first[key] = i
				}
			} else if winner, ok := whole.First(key); !ok || !s.Allowed(winner) {
				first[key] = i
			}
		}
	}
	s.promoted = make(map[int]bool, len(first))
	for _, i := range first {
		s.promoted[i] = true
		n, doc := at(s.segments, i)
		if whole.source(whole.Doc(i).Source).Away {
			s.away[n].Set(doc)
		} else {
			s.offered[n].Set(doc)
		}
	}
}

// Narrow returns the part of the scope of the view that is in the documents of each segment
// that in returns. It offers what the scope offers: nothing else is shadowed or not.
func (v *View) Narrow(in func(n int) Bitmap) *Scope {
	s := &Scope{segments: v.scope.segments, promoted: v.scope.promoted, Pinned: v.scope.Pinned}
	for n := range v.readers {
		set := in(n)
		s.in, s.offered, s.away = append(s.in, v.scope.in[n].And(set)), append(s.offered, v.scope.offered[n].And(set)), append(s.away, v.scope.away[n].And(set))
		s.Visible += s.offered[n].Count()
	}
	return s
}

// Only returns the scope that holds one skill.
func (v *View) Only(i int) *Scope {
	segment, doc := v.At(i)
	return v.NewScope(func(n int, _ *Reader, live Bitmap) Bitmap {
		set := make(Bitmap, len(live))
		if n == segment {
			set.Set(doc)
		}
		return set
	})
}

// Allowed reports whether a skill is in the scope.
func (s *Scope) Allowed(i int) bool { return s.has(s.in, i) }

// Searches reports whether a search in the scope can find a skill: whether the scope
// offers it.
func (s *Scope) Searches(i int) bool { return s.has(s.offered, i) }

// has reports whether a skill is in one of the sets, which are ordered by segment.
func (s *Scope) has(sets []Bitmap, i int) bool {
	n, doc := at(s.segments, i)
	return sets[n].Has(doc)
}
