package rank

import (
	"math"
	"slices"
)

// DefaultRate is the share of the prompts that need no skill that may get an offer.
const DefaultRate = .05

// borrowed is how many skills a catalog must have for its own figures to weigh as much as
// the prior of the gate: in a small catalog, which demand a prompt reaches depends on a few
// skills.
const borrowed = 50

// A RatePoint says which demand only a share of the prompts that need no skill exceeds in
// a typical catalog.
type RatePoint struct {
	Rate        float64 // the share
	Probability float64 // the demand
}

// ThresholdFor returns the threshold at which at most a share of the prompts that need no
// skill gets an offer, in a catalog of that many skills. background are the demands of such
// prompts in this catalog, in rising order; if there are none, the prior alone decides. A
// rate of 0 gives a threshold that no prompt reaches, a rate of 1 one that all reach.
//
// The threshold in log odds is the mean of the catalog's own and the prior's, weighted by
// the number of skills and by 50.
func (g Gate) ThresholdFor(rate float64, skills int, background []float32) float64 {
	switch {
	case rate <= 0:
		return 1
	case rate >= 1:
		return 0
	}
	var threshold float64
	switch own, prior := len(background) > 0, len(g.Prior) > 0; {
	case own && prior:
		n := float64(max(skills, 0))
		threshold = (n*exceeded(background, rate) + borrowed*g.prior(rate)) / (n + borrowed)
	case own:
		threshold = exceeded(background, rate)
	case prior:
		threshold = g.prior(rate)
	default:
		return g.Threshold
	}
	return max(g.Floor, probability(threshold))
}

// exceeded returns the log odds that at most a share of the demands, which are in rising
// order, reaches: between the last demand that must not reach them and the next.
func exceeded(demands []float32, rate float64) float64 {
	const rounding = 1e-9
	may := int(rate*float64(len(demands)) + rounding)
	must := demands[:len(demands)-may]
	if len(must) == 0 {
		return logOdds(0)
	}
	last := must[len(must)-1]
	next := math.Nextafter32(last, 2)
	if may == 0 || demands[len(must)] <= next {
		return logOdds(float64(next))
	}
	return (logOdds(float64(last)) + logOdds(float64(demands[len(must)]))) / 2
}

// prior returns the log odds that a share of the prompts exceeds in a typical catalog. The
// log odds between two points, and beyond the last, are a linear function of the logarithm
// of the rate.
func (g Gate) prior(rate float64) float64 {
	points := g.Prior
	if len(points) == 1 {
		return logOdds(points[0].Probability)
	}
	n := slices.IndexFunc(points[1:len(points)-1], func(p RatePoint) bool { return rate < p.Rate })
	if n < 0 {
		n = len(points) - 2
	}
	a, b := points[n], points[n+1]
	share := math.Log(rate/a.Rate) / math.Log(b.Rate/a.Rate)
	return (1-share)*logOdds(a.Probability) + share*logOdds(b.Probability)
}

// logOdds returns the log odds of a probability, which for 0 and 1 are finite.
func logOdds(p float64) float64 {
	const least = 1e-7
	p = min(max(p, least), 1-least)
	return math.Log(p / (1 - p))
}

// probability returns the probability that log odds stand for.
func probability(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// Higher returns how many of the demands, which are in rising order, are higher than a
// demand.
func Higher(demands []float32, than float64) int {
	n, _ := slices.BinarySearchFunc(demands, float32(than), func(d, than float32) int {
		if d <= than {
			return -1
		}
		return 1
	})
	return len(demands) - n
}
