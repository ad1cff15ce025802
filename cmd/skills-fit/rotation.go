package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// rotationParts is in how many parts a rotation divides the prompts that need no skill.
const rotationParts = 5

// writeRotation prints how often prompts that need no skill are offered one at each rate,
// by catalog. Each fifth of them is measured with weights that were fitted to a half of the
// others, and thresholds from the other half.
func (in *input) writeRotation(out io.Writer, k kind, sets, all []group, words int) error {
	disturbed := make([][]float64, len(all)) // by group and rate
	for i := range disturbed {
		disturbed[i] = make([]float64, len(rates))
	}
	whole := in.fitted
	defer func() { in.fitted = whole }()
	for part := range rotationParts {
		measured := make(map[string]bool)
		in.fitted = make(map[string]bool)
		for i, q := range in.none {
			switch {
			case i%rotationParts == part:
				measured[q.Text] = true
			case i/rotationParts%2 == 0:
				in.fitted[q.Text] = true
			}
		}
		ask(all, in.odds(k, words))
		w, err := regress(pointsOf(sets, in.fits))
		if err != nil {
			return fmt.Errorf("in the rotation: %w", err)
		}
		l := logitOf(w, 1)
		for i := range all {
			var held, test []*sample
			for _, s := range in.held(all[i : i+1]) {
				if measured[s.text] {
					test = append(test, s)
				} else {
					held = append(held, s)
				}
			}
			for r, rate := range rates {
				threshold := quantile(held, l, rate)
				for _, s := range test {
					if s.odds(l) > threshold {
						disturbed[i][r] += 1 / float64(len(in.none))
					}
				}
			}
		}
	}
	fmt.Fprint(out, "disturbed, in rotation\tothers")
	mean := make([]float64, len(rates))
	worst := make([]float64, len(rates))
	for r, rate := range rates {
		fmt.Fprintf(out, "\t%g", rate)
		for i := range all {
			mean[r] += disturbed[i][r] / float64(len(all))
			worst[r] = max(worst[r], math.Abs(disturbed[i][r]-rate))
		}
	}
	row := func(name, others string, values []float64) {
		fmt.Fprintf(out, "\n%s\t%s", name, others)
		for _, x := range values {
			fmt.Fprintf(out, "\t%.3f", x)
		}
	}
	for i, g := range all {
		row(g.set, strconv.Itoa(g.others), disturbed[i])
	}
	row("mean", "", mean)
	row("farthest from the rate", "", worst)
	fmt.Fprint(out, "\n\n")
	return nil
}
