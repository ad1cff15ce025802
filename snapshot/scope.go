package snapshot

// A Scope is a part of a set: the skills that exist for one agent. Of the skills of one
// name in the scope, the first by precedence is offered, whatever lies outside.
type Scope struct {
	All     bool   // every skill is in the scope
	In      Skills // skills in the scope
	Offered Skills // of these, the ones that a search can find
	Away    Skills // those that would be offered if their sources were not away
	Visible int    // number of offered skills
	Pinned  []int  // skills that the agent always has, in this order

	promoted map[int]bool // first of its name here, but shadowed in the whole set
}

// NewScope returns the scope that these skills of the set make.
func (v *View) NewScope(in Skills) *Scope {
	whole := v.Whole()
	s := &Scope{In: in, Offered: in.And(whole.Scope.Offered), Away: in.And(whole.Scope.Away)}
	s.promote(whole)
	s.Visible = s.Offered.Count()
	return s
}

// promote offers, of each name whose first skill is outside of the scope, the first one
// inside by precedence, unless its source is away. Only shadowed skills need a look: what
// comes first in the whole set comes first in each scope that has it.
func (s *Scope) promote(whole *View) {
	names := whole.Names()
	first := make(map[string]int) // by key
	for i := range s.In.AndNot(s.Offered).AndNot(s.Away).All() {
		key := of(whole, i, (*Reader).Key)
		if rival, ok := first[key]; ok {
			if names.precedes(i, rival) {
				first[key] = i
			}
		} else if winner, ok := names.First(key); !ok || !s.In.Has(winner) {
			first[key] = i
		}
	}
	s.promoted = make(map[int]bool, len(first))
	for _, i := range first {
		s.promoted[i] = true
		if whole.source(whole.Doc(i).Source).Away {
			s.Away.Add(i)
		} else {
			s.Offered.Add(i)
		}
	}
}

// Narrow returns the part of the scope of the view that these skills make. It offers what
// the scope offers: nothing else is shadowed or not.
func (v *View) Narrow(to Skills) *Scope {
	o := v.Scope
	s := &Scope{In: o.In.And(to), Offered: o.Offered.And(to), Away: o.Away.And(to), promoted: o.promoted, Pinned: o.Pinned}
	s.Visible = s.Offered.Count()
	return s
}
