package bench

import (
	"math"
	"math/rand/v2"
)

// A ratio is what one prompt adds to a measure that is the sum of all tops divided by the
// sum of all bottoms. The measure is a mean when each bottom is 1.
type ratio struct{ top, bottom float64 }

func (r ratio) value() float64 {
	if r.bottom == 0 {
		return 0
	}
	return r.top / r.bottom
}

func (r ratio) plus(s ratio) ratio { return ratio{r.top + s.top, r.bottom + s.bottom} }

func total(list []ratio) ratio {
	var sum ratio
	for _, r := range list {
		sum = sum.plus(r)
	}
	return sum
}

// ratios returns what one prompt of the set adds to each measure that applies to it.
func (s *Set) ratios(a *Answered) map[string]ratio {
	all := make(map[string]ratio)
	for name, v := range a.values() {
		all[name] = ratio{v, 1}
	}
	if len(s.Curve) == 0 {
		return all // nothing to choose thresholds by, or an old file
	}
	a.addFigures(all, 0, s.Gate.Threshold)
	for _, rate := range summed {
		if p := s.point(rate); p != nil {
			a.addFigures(all, rate, p.Threshold)
		}
	}
	return all
}

func (a *Answered) addFigures(all map[string]ratio, rate, threshold float64) {
	for _, f := range figures {
		if f.near && a.Owner != "" || !f.near && a.Wanted > 0 {
			all[f.name+At(rate)] = f.of(a.block(threshold))
		}
	}
}

// significance is Significance for measures that are ratios. It tests the difference of
// the two values.
func significance(seed uint64, before, after []ratio) float64 {
	var x, y []ratio // without pairs that are equal, because it makes no difference which comes before
	var same ratio
	means := true
	for i := range before {
		means = means && before[i].bottom == 1 && after[i].bottom == 1
		if before[i] == after[i] {
			same = same.plus(before[i])
		} else {
			x, y = append(x, before[i]), append(y, after[i])
		}
	}
	if means {
		return Significance(seed, tops(before), tops(after))
	}
	const slack = 1e-9
	observed := math.Abs(same.plus(total(y)).value() - same.plus(total(x)).value())
	random := rand.New(rand.NewPCG(seed, 1))
	extreme := 1
	for range permutations {
		one, other := same, same
		for i := range x {
			a, b := x[i], y[i]
			if random.Uint64()&1 == 0 {
				a, b = b, a
			}
			one, other = one.plus(a), other.plus(b)
		}
		if math.Abs(one.value()-other.value()) >= observed-slack {
			extreme++
		}
	}
	return float64(extreme) / (permutations + 1)
}

func tops(list []ratio) []float64 {
	tops := make([]float64, len(list))
	for i, r := range list {
		tops[i] = r.top
	}
	return tops
}
