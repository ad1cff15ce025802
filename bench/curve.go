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
	Unfit     Estimate `json:"unfit"`      // share of the prompts for which the set has no skill whose block lists anything
}

// A Point is what a set gets at the lowest threshold that keeps a rate.
type Point struct {
	Rate      float64 `json:"rate"`      // most prompts that need no skill and are offered one all the same, as a share
	Threshold float64 `json:"threshold"` // above 1 when only skills that are named for certain are listed
	Disturbed float64 `json:"disturbed"` // share of these prompts that the threshold lets through
	Figures
}

// block returns what a threshold lets into the block.
func (a *PromptResult) block(threshold float64) Listing {
	if a.Demand >= threshold {
		return a.Always
	}
	return a.Certain
}

// A need is what a prompt is measured by.
type need int

const (
	wanting  need = iota // it needs a skill of the set
	missing              // a near miss
	lacking              // it needs a skill that is not there
	needless             // it needs none
	needs                // how many there are
)

func (a *PromptResult) need() need {
	switch {
	case a.Wanted > 0:
		return wanting
	case a.Owner != "":
		return missing
	case a.Kind == absent:
		return lacking
	}
	return needless
}

// score returns the highest threshold at which the prompt is offered anything. It is 1
// for one that names a skill for certain, and negative for one that never is.
func (a *PromptResult) score() float64 {
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
	none []float64              // scores of the needless
	by   [needs][]*PromptResult // the others
}

func sorted(answered []PromptResult) asked {
	var s asked
	for i := range answered {
		a := &answered[i]
		if n := a.need(); n == needless {
			s.none = append(s.none, a.score())
		} else {
			s.by[n] = append(s.by[n], a)
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
func curve(answered []PromptResult, seed uint64) []Point {
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

// figures are what is measured of a block: each is the sum of the tops divided by the sum of the
// bottoms over the prompts of one need.
var figures = [...]struct {
	name   string
	need   need
	better float64 // 1 if more is better, -1 if less is, 0 if neither
	in     func(f *Figures) *Estimate
	of     func(b Listing) ratio
}{
	{"coverage", wanting, 1, func(f *Figures) *Estimate { return &f.Coverage }, func(b Listing) ratio { return ratio{float64(min(1, b.Fitting)), 1} }},
	{"entries", wanting, 0, func(f *Figures) *Estimate { return &f.Entries }, func(b Listing) ratio { return ratio{float64(b.Listed), float64(min(1, b.Listed))} }},
	{"per_prompt", wanting, 0, func(f *Figures) *Estimate { return &f.PerPrompt }, func(b Listing) ratio { return ratio{float64(b.Listed), 1} }},
	{"right", wanting, 1, func(f *Figures) *Estimate { return &f.Right }, func(b Listing) ratio { return ratio{float64(b.Fitting), float64(b.Listed)} }},
	{"near_own", missing, -1, func(f *Figures) *Estimate { return &f.NearOwn }, func(b Listing) ratio { return ratio{float64(b.Own), 1} }},
	{"near_any", missing, -1, func(f *Figures) *Estimate { return &f.NearAny }, func(b Listing) ratio { return ratio{float64(min(1, b.Listed)), 1} }},
	{"unfit", lacking, -1, func(f *Figures) *Estimate { return &f.Unfit }, func(b Listing) ratio { return ratio{float64(min(1, b.Listed)), 1} }},
}

// EachFigure calls do with each of the figures that rests on prompts of the set, and with the
// number of these prompts.
func (s *Set) EachFigure(f *Figures, do func(name string, e Estimate, prompts int)) {
	for _, x := range figures {
		if n := [...]int{wanting: s.Prompts, missing: s.NearMisses, lacking: s.Absent}[x.need]; n > 0 {
			do(x.name, *x.in(f), n)
		}
	}
}

// A sums holds the ratio of each of the figures.
type sums [len(figures)]ratio

// add adds the figures of a block.
func (s *sums) add(b Listing, of need) {
	for i, f := range figures {
		if f.need == of {
			s[i] = s[i].plus(f.of(b))
		}
	}
}

// spreads are Figures before they are estimates, in the order of figures.
type spreads [len(figures)]spread

func (s spreads) figures() (f Figures) {
	for i, x := range figures {
		*x.in(&f) = s[i].estimate()
	}
	return f
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
	for i, sums := range s.count(at, nil) {
		for k := range sums {
			out[i][k] = spread{sums[k].value(), make([]float64, resamples)}
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
		for i, sums := range s.count(at, random) {
			for k := range sums {
				out[i][k].draws[r] = sums[k].value()
			}
		}
	}
	return out
}

// count adds up the figures at several thresholds, of all prompts or of a bootstrap sample of
// them.
func (s *asked) count(at []float64, random *rand.Rand) []sums {
	counts := make([]sums, len(at))
	for n, list := range s.by {
		for i := range list {
			if random != nil {
				i = random.IntN(len(list))
			}
			for k, t := range at {
				counts[k].add(list[i].block(t), need(n))
			}
		}
	}
	return counts
}
