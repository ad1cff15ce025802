package rank

import "slices"

// A Part says which candidate a part of the prompt is for.
type Part struct {
	Text        string
	Key         int     // of the candidate that is the best for it
	Probability float64 // how likely the part wants that one, 0 to 1
}

// Raise moves the candidates that parts of the prompt are for behind the first one, or behind those that
// the prompt names, in the order of the parts. They are offered if the first is. The candidates
// must be judged and best first; the score of what moves rises to that of the one before it.
func Raise(scored []Scored, parts []Part) {
	place := 1
	for place < len(scored) && scored[place].Exact {
		place++
	}
	for _, p := range parts {
		at := slices.IndexFunc(scored, func(s Scored) bool { return s.Key == p.Key })
		if at < place { // it is there already, or one of its copies is instead
			continue
		}
		s := scored[at]
		copy(scored[place+1:at+1], scored[place:at])
		if rise := scored[place-1].Score - s.Score; rise > 0 {
			s.Terms = append(slices.Clone(s.Terms), Term{"clause", rise, 1})
			s.Score += rise
		}
		s.Part, s.Relevant, s.Probability = p.Text, scored[0].Relevant, max(s.Probability, p.Probability)
		scored[place] = s
		place++
	}
}
