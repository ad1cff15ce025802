package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
func (s *Set) ratios(a *PromptResult) map[string]ratio {
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

func (a *PromptResult) addFigures(all map[string]ratio, rate, threshold float64) {
	for _, f := range figures {
		if f.need == a.need() {
			all[f.name+at(rate)] = f.of(a.block(threshold))
		}
	}
}

// significance returns the p-value of a two-sided paired randomisation test with 10,000
// permutations. before and after are measured with the same prompts. The p-value is the
// probability that their values differ at least as much if chance decides which one of a pair
// comes before. It is 1 if none differs.
func significance(seed uint64, before, after []ratio) float64 {
	var x, y []ratio // without pairs that are equal, because it makes no difference which comes before
	var same ratio
	for i := range before {
		if before[i] == after[i] {
			same = same.plus(before[i])
		} else {
			x, y = append(x, before[i]), append(y, after[i])
		}
	}
	const slack = 1e-9 // sums of the same values in another order count as equal
	observed := math.Abs(same.plus(total(y)).value() - same.plus(total(x)).value())
	random := rand.New(rand.NewPCG(seed, 1))
	extreme := 1 // the observed values are a permutation too, so p is never 0
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

// summed are the rates whose figures are part of the means and of comparisons.
var summed = [...]float64{.03, .05}

// allMeasures returns the names of all measures.
func allMeasures() []string {
	return slices.Concat(plainMeasures(), summedFigures())
}

// plainMeasures returns the names of the measures that are means over prompts.
func plainMeasures() []string {
	return append(measures(), distracted, distractedText, falseInjection, precision)
}

// summedFigures returns the names of the figures of blocks: as they were made, and at the
// rates that are summed.
func summedFigures() []string {
	names := figureNames(0)
	for _, rate := range summed {
		names = append(names, figureNames(rate)...)
	}
	return names
}

// at returns how the names of measures at a rate end, such as "@5%"; "" for rate 0, which
// means as the blocks were made.
func at(rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf("@%.0f%%", rate*100)
}

// At returns how the names of the measures at the rate of the point end, such as "@5%".
func (p *Point) At() string { return at(p.Rate) }

// figureNames returns the names of the figures at a rate, in their order.
func figureNames(rate float64) []string {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.name + at(rate)
	}
	return names
}

// NewResult adds the means over the sets.
func NewResult(sets []Set, seed uint64) Result {
	r := Result{Seed: seed, Sets: sets, Mean: []Named{}, Breakdown: breakdown(sets, 2, seed)}
	for _, name := range plainMeasures() {
		var groups [][]float64
		for _, s := range sets {
			if list := lists(s.Queries)[name]; len(list) > 0 {
				groups = append(groups, list)
			}
		}
		if len(groups) > 0 {
			r.Mean = append(r.Mean, Named{name, bootstrap(seed, groups...)})
		}
	}
	r.Mean = append(r.Mean, meanFigures(sets, seed)...)
	return r
}

// meanFigures returns the means of what summedFigures names.
func meanFigures(sets []Set, seed uint64) []Named {
	names := summedFigures()
	found := make([][]spread, len(names))
	for i := range sets {
		groups := sorted(sets[i].Queries)
		made := sets[i].Gate.Threshold
		choose := []chooser{func([]float64) float64 { return made }}
		if len(groups.none) > 0 {
			choose = append(choose, atRates(summed[:])...)
		}
		for c, spreads := range groups.figures(seed, choose) {
			for k, f := range spreads {
				if len(groups.by[figures[k].need]) > 0 {
					n := c*len(figures) + k
					found[n] = append(found[n], f)
				}
			}
		}
	}
	var list []Named
	for n, name := range names {
		if len(found[n]) > 0 {
			list = append(list, Named{name, meanOf(found[n]).estimate()})
		}
	}
	return list
}
