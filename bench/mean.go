package bench

import (
	"fmt"
	"slices"
)

// summed are the rates whose figures are part of the means and of comparisons.
var summed = [...]float64{.03, .05}

// allMeasures returns the names of all measures.
func allMeasures() []string {
	return slices.Concat(plainMeasures(), summedFigures())
}

// plainMeasures returns the names of the measures that are means over prompts.
func plainMeasures() []string {
	return append(Measures(), distracted, distractedText, falseInjection, precision)
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

// At returns how the names of measures at a rate end, such as "@5%"; "" for rate 0, which
// means as the blocks were made.
func At(rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf("@%.0f%%", rate*100)
}

// figureNames returns the names of the figures at a rate, in the order of Figures.
func figureNames(rate float64) []string {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.name + At(rate)
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
			r.Mean = append(r.Mean, Named{name, Bootstrap(seed, groups...)})
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
		for at, spreads := range groups.figures(seed, choose) {
			for k, f := range spreads {
				if near := figures[k].near; near && len(groups.near) > 0 || !near && len(groups.want) > 0 {
					n := at*len(figures) + k
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
