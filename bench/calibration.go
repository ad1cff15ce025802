package bench

import "math"

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
