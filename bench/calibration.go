package bench

import "math"

// An Outcome is a predicted probability and what came of it.
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

// A Bin holds the outcomes with a probability from its lower bound up to that
// of the next; the last one also those of 1.
type Bin struct {
	From      float64 `json:"from"`
	Count     int     `json:"count"`
	Predicted float64 `json:"predicted"` // mean, 0 without outcomes
	Observed  float64 `json:"observed"`  // share of wanted, 0 without outcomes
}

const bins = 10

// Reliability sorts outcomes into 10 bins. Probabilities beyond 0 and 1 count as
// these.
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
