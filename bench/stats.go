package bench

import (
	"math"
	"math/rand/v2"
)

// An Estimate is a mean over prompts with its uncertainty.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`  // lower bound of the 95 % bootstrap confidence interval
	High  float64 `json:"high"` // upper bound
}

const (
	resamples    = 1_000
	permutations = 10_000
)

// bootstrap returns the mean of the means of groups, one for each set of
// prompts. Its interval comes from 1,000 resamples of the values within each
// group. Empty groups do not count.
func bootstrap(seed uint64, groups ...[]float64) Estimate {
	random := rand.New(rand.NewPCG(seed, 0))
	var list []spread
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		s := spread{mean(g), make([]float64, resamples)}
		for i := range s.draws {
			s.draws[i] = resampled(random, g)
		}
		list = append(list, s)
	}
	return meanOf(list).estimate()
}

// resampled returns the mean of a bootstrap sample: as many values as list has, drawn
// with replacement.
func resampled(random *rand.Rand, list []float64) float64 {
	sum := 0.0
	for range list {
		sum += list[random.IntN(len(list))]
	}
	return sum / float64(len(list))
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / max(1, float64(len(list)))
}

// quantile returns the least value of a sorted list that is not below a share q
// of it.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// An Outcome is a predicted probability and whether the prediction came true.
type Outcome struct {
	Probability float64 // that the skill is wanted
	Wanted      bool
}

// A Calibration compares predicted with observed probabilities.
type Calibration struct {
	// Error is the expected calibration error: the mean distance of predicted
	// and observed over the bins, weighted by their counts.
	Error float64 `json:"error"`
	Bins  []Bin   `json:"bins"` // 10, from 0 to 1
}

// A Bin holds the outcomes with a probability from its lower bound up to, but without,
// the lower bound of the next bin. The last bin includes probability 1.
type Bin struct {
	From      float64 `json:"from"`
	Count     int     `json:"count"`
	Predicted float64 `json:"predicted"` // mean probability; 0 without outcomes
	Observed  float64 `json:"observed"`  // share of wanted skills; 0 without outcomes
}

const bins = 10

// Reliability sorts outcomes into 10 bins. Probabilities below 0 count as 0, and above
// 1 as 1.
func Reliability(outcomes []Outcome) Calibration {
	c := Calibration{Bins: make([]Bin, bins)}
	for _, o := range outcomes {
		p := min(1, max(0, o.Probability))
		b := &c.Bins[min(bins-1, int(p*bins))]
		b.Count++
		b.Predicted += p
		if o.Wanted {
			b.Observed++
		}
	}
	for i := range c.Bins {
		b := &c.Bins[i]
		b.From = float64(i) / bins
		n := max(1, float64(b.Count))
		b.Predicted /= n
		b.Observed /= n
		c.Error += math.Abs(b.Predicted-b.Observed) * float64(b.Count) / max(1, float64(len(outcomes)))
	}
	return c
}
