package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// rates are the shares of prompts that need no skill at which blocks are measured. They
// are what a user may set as the rate of disturbance.
var rates = [...]float64{.01, .02, .03, .04, .05, .07, .10}

// A Listing counts the skills of a block.
type Listing struct {
	Listed  int `json:"listed"`
	Fitting int `json:"fitting"` // listed skills that are wanted
	Own     int `json:"own"`     // of a near miss: 1 when the skill that it misses is listed
}

// Figures describe the blocks at one threshold.
type Figures struct {
	Coverage  Estimate `json:"coverage"`   // share of the prompts that need a skill whose block has a wanted one
	Entries   Estimate `json:"entries"`    // listed skills, mean over the blocks of these prompts that list any
	PerPrompt Estimate `json:"per_prompt"` // the same, mean over all of these prompts
	Right     Estimate `json:"right"`      // share of the listed skills of these prompts that are wanted
	NearOwn   Estimate `json:"near_own"`   // share of the near misses whose block has the skill that they miss
	NearAny   Estimate `json:"near_any"`   // share of the near misses whose block lists anything
}

// A Point is what a set gets at the lowest threshold that keeps a rate.
type Point struct {
	Rate      float64 `json:"rate"`      // most prompts that need no skill and are offered one all the same, as a share
	Threshold float64 `json:"threshold"` // above 1 when only skills that are named for certain are listed
	Disturbed float64 `json:"disturbed"` // share of these prompts that the threshold lets through
	Figures
}

// block returns what a threshold lets into the block.
func (a *Answered) block(threshold float64) Listing {
	if a.Demand >= threshold {
		return a.Always
	}
	return a.Certain
}

// none reports whether the prompt needs no skill.
func (a *Answered) none() bool { return a.Wanted == 0 && a.Owner == "" }

// score returns the highest threshold at which the prompt is offered anything. It is 1
// for one that names a skill for certain, and negative for one that never is.
func (a *Answered) score() float64 {
	switch {
	case a.Certain.Listed > 0:
		return 1
	case a.Always.Listed == 0:
		return -1
	}
	return a.Demand
}

// asked holds the prompts of a set by what they need.
type asked struct {
	none       []float64 // scores
	want, near []*Answered
}

func sorted(answered []Answered) asked {
	var s asked
	for i := range answered {
		switch a := &answered[i]; {
		case a.none():
			s.none = append(s.none, a.score())
		case a.Wanted > 0:
			s.want = append(s.want, a)
		default:
			s.near = append(s.near, a)
		}
	}
	return s
}

// thresholdFor returns the lowest threshold at which at most this share of prompts is
// offered anything. It is just above the score of the first prompt that would be too
// many, so that prompts of the same score are all let through or all kept out.
func thresholdFor(rate float64, scores []float64) float64 {
	const slack = 1e-9 // .07 of 100 are 7
	k := int(rate*float64(len(scores)) + slack)
	rising := slices.Sorted(slices.Values(scores))
	if k >= len(rising) || rising[len(rising)-1-k] < 0 {
		return 0
	}
	return math.Nextafter(rising[len(rising)-1-k], 2)
}

// A chooser chooses a threshold by the scores of the prompts that need no skill.
type chooser func(none []float64) float64

func atRates(rates []float64) []chooser {
	list := make([]chooser, len(rates))
	for i, rate := range rates {
		list[i] = func(none []float64) float64 { return thresholdFor(rate, none) }
	}
	return list
}

// curve returns the points of a set; none without prompts that need no skill.
func curve(answered []Answered, seed uint64) []Point {
	points := []Point{}
	s := sorted(answered)
	if len(s.none) == 0 {
		return points
	}
	for i, f := range s.figures(seed, atRates(rates[:])) {
		p := Point{Rate: rates[i], Threshold: thresholdFor(rates[i], s.none), Figures: f.figures()}
		for _, score := range s.none {
			if score >= p.Threshold {
				p.Disturbed += 1 / float64(len(s.none))
			}
		}
		points = append(points, p)
	}
	return points
}

// A spread is a value with the values of bootstrap samples, in the order in which they
// were drawn.
type spread struct {
	value float64
	draws []float64
}

func (s spread) estimate() Estimate {
	e := Estimate{Value: s.value}
	if draws := slices.Sorted(slices.Values(s.draws)); len(draws) > 0 {
		e.Low, e.High = draws[len(draws)*25/1000], draws[len(draws)*975/1000-1]
	}
	return e
}

// meanOf returns the mean of several spreads.
func meanOf(list []spread) spread {
	m := spread{draws: make([]float64, resamples)}
	for _, s := range list {
		m.value += s.value / float64(len(list))
		for i, d := range s.draws {
			m.draws[i] += d / float64(len(list))
		}
	}
	return m
}

// spreads are Figures before they are estimates, in the order of the fields.
type spreads [6]spread

func (s spreads) figures() Figures {
	return Figures{
		s[0].estimate(), s[1].estimate(), s[2].estimate(), s[3].estimate(), s[4].estimate(), s[5].estimate(),
	}
}

// figures measures the blocks at several thresholds. A bootstrap sample draws the
// prompts that need no skill too, and chooses the thresholds anew by them, so that the
// intervals include how uncertain the thresholds are.
func (s *asked) figures(seed uint64, choose []chooser) []spreads {
	out := make([]spreads, len(choose))
	at := make([]float64, len(choose))
	for i, f := range choose {
		at[i] = f(s.none)
	}
	for i, v := range s.count(at, nil) {
		for k := range v {
			out[i][k] = spread{v[k], make([]float64, resamples)}
		}
	}
	random := rand.New(rand.NewPCG(seed, 3))
	none := make([]float64, len(s.none))
	for r := range resamples {
		for i := range none {
			none[i] = s.none[random.IntN(len(none))]
		}
		for i, f := range choose {
			at[i] = f(none)
		}
		for i, v := range s.count(at, random) {
			for k := range v {
				out[i][k].draws[r] = v[k]
			}
		}
	}
	return out
}

// count returns the values of the figures at several thresholds, of all prompts or of a
// bootstrap sample of them.
func (s *asked) count(at []float64, random *rand.Rand) [][6]float64 {
	counts := make([]tally, len(at))
	draw := func(list []*Answered, add func(*tally, Listing)) {
		for i := range list {
			if random != nil {
				i = random.IntN(len(list))
			}
			for k, t := range at {
				add(&counts[k], list[i].block(t))
			}
		}
	}
	draw(s.want, (*tally).want)
	draw(s.near, (*tally).near)
	values := make([][6]float64, len(at))
	for i := range counts {
		values[i] = counts[i].values()
	}
	return values
}

// A tally counts blocks.
type tally struct {
	prompts, covered, blocks, listed, fitting int // of prompts that need a skill
	nears, own, any                           int // of near misses
}

func (t *tally) want(b Listing) {
	t.prompts++
	t.covered += min(1, b.Fitting)
	t.blocks += min(1, b.Listed)
	t.listed += b.Listed
	t.fitting += b.Fitting
}

func (t *tally) near(b Listing) {
	t.nears++
	t.own += b.Own
	t.any += min(1, b.Listed)
}

func (t *tally) values() [6]float64 {
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	return [6]float64{
		share(t.covered, t.prompts), share(t.listed, t.blocks), share(t.listed, t.prompts), share(t.fitting, t.listed),
		share(t.own, t.nears), share(t.any, t.nears),
	}
}
