package rank_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

// odds returns the log odds of a probability.
func odds(p float64) float64 { return math.Log(p / (1 - p)) }

func TestThresholdFor(t *testing.T) {
	var own rank.Prior
	prior := rank.Prior{{Rate: .01, Probability: .9}, {Rate: .1, Probability: .5}, {Rate: .2, Probability: .3}}
	ten := []float32{0, .1, .2, .3, .4, .5, .6, .7, .8, .9}
	mean := func(a, b, share float64) float64 { return 1 / (1 + math.Exp(-(share*odds(a) + (1-share)*odds(b)))) }
	for _, tt := range []struct {
		name   string
		prior  rank.Prior
		rate   float64
		demand []float32
		want   float64
	}{
		{"nothing is known", own, .05, nil, .5},
		{"no prompt", prior, 0, ten, 1},
		{"every prompt", prior, 1, ten, 0},
		{"one of ten", own, .1, ten, mean(.8, .9, .5)},
		{"three of ten", own, .3, ten, mean(.6, .7, .5)},
		{"rounded down", own, .19, ten, mean(.8, .9, .5)},
		{"less than one of ten", own, .05, ten, float64(math.Nextafter32(.9, 1))},
		{"equal demands", own, .5, []float32{.1, .4, .4, .4}, float64(math.Nextafter32(.4, 1))},
		{"prior, at a point", prior, .1, nil, .5},
		{"prior, between points in log odds and log rate", prior, math.Sqrt(.01 * .1), nil, .75},
		{"prior, beyond the last point", prior, .4, nil, mean(.3, .5, 2)},
		{"prior, before the first point", prior, .001, nil, mean(.9, .5, 2)},
		{"own before prior", prior, .1, ten, mean(.8, .9, .5)},
	} {
		if got := tt.prior.ThresholdFor(tt.rate, tt.demand); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: threshold %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestThresholdKeepsRate: no larger share of the demands reaches the threshold than the
// rate allows, and if all demands differ, no smaller one either.
func TestThresholdKeepsRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		demands := make([]float32, 1+rng.IntN(300))
		coarse := rng.IntN(2) == 0
		for i := range demands {
			if demands[i] = rng.Float32(); coarse {
				demands[i] = float32(rng.IntN(20)) / 19
			}
		}
		slices.Sort(demands)
		rate := rng.Float64()
		threshold := rank.Prior(nil).ThresholdFor(rate, demands)
		reached := 0
		for _, d := range demands {
			if float64(d) >= threshold {
				reached++
			}
		}
		if may := int(rate * float64(len(demands))); reached > may && threshold < .999 || reached < may && !coarse && threshold > .01 {
			t.Errorf("%d of %d demands reach %v, want %d", reached, len(demands), threshold, may)
		}
	}
}

func TestDefaultPrior(t *testing.T) {
	for _, p := range []rank.Prior{rank.DefaultGate().Needless, rank.DefaultGate().Unfit} {
		last := 1.0
		for _, rate := range []float64{.001, .01, .02, .03, .05, .1, .2, .5, .99} {
			got := p.ThresholdFor(rate, nil)
			if got > last || got <= 0 {
				t.Errorf("rate %v: threshold %v after %v", rate, got, last)
			}
			last = got
		}
	}
}

func TestHigher(t *testing.T) {
	demands := []float32{0, .2, .2, .5, .9}
	for than, want := range map[float64]int{0: 4, .1: 4, .2: 2, .5: 1, .89: 1, .9: 0, 1: 0} {
		if got := rank.Higher(demands, than); got != want {
			t.Errorf("%d are higher than %v, want %d", got, than, want)
		}
	}
	if got := rank.Higher(nil, 0); got != 0 {
		t.Errorf("%d of none are higher", got)
	}
	for threshold, want := range map[float64]int{0: 5, .1: 4, .5: 2, .91: 0} {
		if got := rank.Reaching(demands, threshold); got != want {
			t.Errorf("%d reach %v, want %d", got, threshold, want)
		}
	}
}

// TestRescale: whatever linear map an embedder applies to its cosines, the result is the
// same.
func TestRescale(t *testing.T) {
	r := rank.Reference()
	flat := func(s rank.Spread, by, to float64) rank.Spread {
		return rank.Spread{Mean: to + by*s.Mean, Deviation: by * s.Deviation}
	}
	other := rank.Scale{rank.Description: flat(r[rank.Description], .3, .7), rank.Full: flat(r[rank.Full], .5, .1)}
	for name, x := range map[string]float64{
		"the reference, description": r.Rescale(rank.Description, .3), "the reference, full text": r.Rescale(rank.Full, .3),
		"another scale, description": other.Rescale(rank.Description, .7+.3*.3), "another scale, full text": other.Rescale(rank.Full, .1+.5*.3),
	} {
		if math.Abs(x-.3) > 1e-12 {
			t.Errorf("%s: %v", name, x)
		}
	}
	for _, unknown := range []rank.Scale{{}, {rank.Description: r[rank.Description]}, {rank.Description: {Mean: .7}, rank.Full: r[rank.Full]}} {
		if unknown.Known() {
			t.Errorf("%v can be mapped", unknown)
		}
	}
}
