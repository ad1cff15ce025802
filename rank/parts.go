package rank

import (
	"cmp"
	"slices"
)

// A Part says which candidate a part of the prompt is for.
type Part struct {
	Text   string
	Key    int    // of the candidate that is the best for it
	Demand Demand // of the part for that one, see Doubt
}

// Doubt returns a demand that is less likely by so much in log odds, for a reason.
func (d Demand) Doubt(reason string, odds float64) Demand {
	d.Terms = append(slices.Clone(d.Terms), Term{reason, -1, odds})
	d.Probability = probability(logOdds(d.Probability) - odds)
	return d
}

// Raise moves the candidates that parts of the prompt are for behind the first one, or behind those that
// the prompt names, in the order of the parts; they are offered if the first is. Where the whole prompt
// is less likely to want its first one than usual, it muddles several needs: then the candidates of the
// parts come first, no other is offered, and the demand is that of the likeliest part. Raise returns the
// demand. The candidates must be judged and best first; the score of what moves rises to that of the
// one whose place it takes.
func Raise(scored []Scored, whole Demand, parts []Part, usual, threshold float64) Demand {
	named := 0
	for named < len(scored) && scored[named].Exact {
		named++
	}
	demand, place := whole, max(1, named)
	if len(parts) > 0 && named == 0 && whole.Probability < usual {
		demand, place = slices.MaxFunc(parts, func(a, b Part) int { return cmp.Compare(a.Demand.Probability, b.Demand.Probability) }).Demand, 0
		for i := range scored {
			scored[i].Relevant = false
		}
	}
	for _, p := range parts {
		at := slices.IndexFunc(scored, func(s Scored) bool { return s.Key == p.Key })
		if at < place { // it is there already, or one of its copies is instead
			continue
		}
		s := scored[at]
		if rise := scored[max(0, place-1)].Score - s.Score; rise > 0 {
			s.Terms = append(slices.Clone(s.Terms), Term{"clause", rise, 1})
			s.Score += rise
		}
		s.Part, s.Relevant, s.Probability = p.Text, named > 0 || demand.Probability >= threshold, max(s.Probability, p.Demand.Probability)
		copy(scored[place+1:at+1], scored[place:at])
		scored[place] = s
		place++
	}
	return demand
}
