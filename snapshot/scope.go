package snapshot

// A Scope is a part of a set: the skills that one agent may see.
type Scope struct {
	segments []segment
	in       []Bitmap // visible documents, by segment
	searched []Bitmap // of these, the offered ones, by segment

	All     bool  // every skill is visible
	Visible int   // number of skills that are searched
	Pinned  []int // skills that are always offered, in this order
}

// NewScope returns a scope. in returns the visible documents of each segment.
func (v *View) NewScope(in func(n int, r *Reader, live Bitmap) Bitmap) *Scope {
	s := &Scope{segments: v.segments}
	for n, r := range v.readers {
		set := in(n, r, v.segments[n].live)
		searched := set.And(v.segments[n].offered)
		s.in, s.searched = append(s.in, set), append(s.searched, searched)
		s.Visible += searched.Count()
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

// Allowed reports whether a skill is visible in the scope.
func (s *Scope) Allowed(i int) bool { return s.has(s.in, i) }

// Searches reports whether a search in the scope can find a skill.
func (s *Scope) Searches(i int) bool { return s.has(s.searched, i) }

// has reports whether a skill is in one of the sets, which are ordered by segment.
func (s *Scope) has(sets []Bitmap, i int) bool {
	n, doc := at(s.segments, i)
	return sets[n].Has(doc)
}
