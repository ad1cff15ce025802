package rank

import (
	"cmp"
	"math"
	"slices"
)

// A Gate turns scores into probabilities: how likely is a candidate what the prompt wants? Of the
// best one that depends on absolute figures, which mean the same in catalogs of 50 and of 20,000
// skills, and on how far its score stands above the next ones. The others follow from how far they
// are behind it.
type Gate struct {
	Vectors Logit // if cosines are calibrated, see Known
	Text    Logit // otherwise
	// Contextual is instead of Vectors if all candidates have the encoder's cosine. If some have,
	// each weight is between the two by their share, and so are the log odds. The zero value
	// means Vectors.
	Contextual Logit
	// Threshold is how likely the best candidate must be, 0 to 1. Below it, no skill is offered.
	Threshold float64
	// Least is the least probability of a skill that is offered beside the best one. A
	// missed skill costs the user as much as 1/Least needless entries.
	Least float64
	// Needless and Unfit hold thresholds of typical catalogs: of prompts that need no skill, and of
	// prompts that need one which is not in the catalog.
	Needless, Unfit Prior
}

// A Logit holds the weights of the figures. The log odds that the best candidate is what the prompt
// wants are a weighted sum.
type Logit struct {
	Base     float64 // a constant
	Nearness float64 // weight of the sum of its cosines by the embedder
	Sentence float64 // weight of the square of its cosine by the encoder
	Apart    float64 // weight of how far its cosine by the encoder is above the highest of the others
	Lead     float64 // weight of how far its score is above the next
	Margin   float64 // weight of how far its score is above the mean of the next five
	Strength float64 // weight of its Strength, up to 6
	Coverage float64 // weight of its Coverage
	Head     float64 // weight of its HeadShare
	Trigger  float64 // weight of its Trigger, if it has one
	Example  float64 // weight of what its best example says, if there is one
	Request  float64 // weight of Known.Request
	Read     float64 // weight of Known.Read
	Size     float64 // weight of the logarithm of the number of skills: in a large catalog, more are near by chance

	// Spread is the difference of two scores that makes the higher one e times as
	// likely.
	Spread float64
}

// A Figure is one of those that a Gate weighs.
type Figure struct {
	Name   string                  // of the Term
	Weight func(l *Logit) *float64 // where a Logit has its weight
	// Least is the least weight that a fit may give: evidence for a skill never speaks against it.
	Least float64
	value func(best *Scored, rest []*Scored, in *Known) float64
}

// Figures are those of a Gate, in the order of the terms of a Demand.
var Figures = []Figure{
	{"base", func(l *Logit) *float64 { return &l.Base }, -math.MaxFloat64, func(*Scored, []*Scored, *Known) float64 { return 1 }},
	{"nearness", func(l *Logit) *float64 { return &l.Nearness }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { near, _ := best.CosineSum(); return near }},
	{"sentence nearness", func(l *Logit) *float64 { return &l.Sentence }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 {
		return best.Value(Sentence) * max(0, best.Value(Sentence))
	}},
	{"sentence lead", func(l *Logit) *float64 { return &l.Apart }, 0, func(_ *Scored, rest []*Scored, _ *Known) float64 { return apart(rest) }},
	{"lead", func(l *Logit) *float64 { return &l.Lead }, 0, func(_ *Scored, rest []*Scored, _ *Known) float64 { return above(rest, 1) }},
	{"margin", func(l *Logit) *float64 { return &l.Margin }, 0, func(_ *Scored, rest []*Scored, _ *Known) float64 { return above(rest, 5) }},
	{"strength", func(l *Logit) *float64 { return &l.Strength }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { return min(best.Strength, maxStrength) }},
	{"coverage", func(l *Logit) *float64 { return &l.Coverage }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { return best.Coverage }},
	{"head", func(l *Logit) *float64 { return &l.Head }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { return best.HeadShare }},
	{"trigger", func(l *Logit) *float64 { return &l.Trigger }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { return best.Trigger }},
	{"example", func(l *Logit) *float64 { return &l.Example }, 0, func(best *Scored, _ []*Scored, _ *Known) float64 { return best.example() }},
	{"request", func(l *Logit) *float64 { return &l.Request }, 0, func(_ *Scored, _ []*Scored, in *Known) float64 { return in.Request }},
	{"other language", func(l *Logit) *float64 { return &l.Read }, 0, func(_ *Scored, _ []*Scored, in *Known) float64 {
		if in.Read {
			return 1
		}
		return 0
	}},
	{"size", func(l *Logit) *float64 { return &l.Size }, -math.MaxFloat64, func(_ *Scored, _ []*Scored, in *Known) float64 { return math.Log(float64(max(in.Skills, fewSkills))) }},
}

// above returns how far the score of the first candidate is above the mean of the next n. Of a
// candidate that is alone it is a half of its score: with nothing beside it, nothing is told.
func above(rest []*Scored, n int) float64 {
	next := rest[1:min(1+n, len(rest))]
	if len(next) == 0 {
		return rest[0].Score / 2
	}
	sum := 0.0
	for _, s := range next {
		sum += s.Score
	}
	return rest[0].Score - sum/float64(len(next))
}

// apart returns how far the encoder's cosine of the first candidate is above the highest of the next
// ones; 0 if it has none or is alone.
func apart(rest []*Scored) float64 {
	if len(rest) == 1 || !rest[0].has[Sentence] {
		return 0
	}
	next := -1.0
	for _, s := range rest[1:] {
		next = max(next, s.Value(Sentence))
	}
	return rest[0].Value(Sentence) - next
}

// DefaultGate returns weights that cmd/skills-fit fitted for the built-in embedder: a
// logistic regression on prompts that no model was trained on, in catalogs of 12 to 4,000 skills with
// and without the skill that each needs, and on prompts that need none.
// A skill beside the best is offered from the probability on at which it is worth its
// tokens, if a miss costs as much as twenty needless entries. The weights of Trigger and Example are set by
// hand, because those prompts are of skills that have neither, and Head of Vectors and Text is half of what
// the fit gives: more offers more skills with vague descriptions, and fewer of those with long ones.
func DefaultGate() Gate {
	return Gate{
		Vectors:    Logit{Base: -3.22, Nearness: 2.83, Lead: 1.15, Margin: .65, Strength: .14, Coverage: .98, Head: 4.5, Trigger: .5, Example: 3, Request: .19, Read: .7, Size: -.47, Spread: .22},
		Contextual: Logit{Base: -4.83, Sentence: 8.11, Apart: 6.99, Lead: .16, Margin: 1.42, Strength: .1, Head: 1.23, Trigger: .5, Example: 3, Request: .32, Read: .7, Size: -.09, Spread: .3},
		Text:       Logit{Base: -4.75, Lead: 1.03, Margin: 2.51, Strength: .48, Coverage: 2.84, Head: 5, Trigger: .5, Example: 3, Request: .13, Read: .7, Size: -.25, Spread: .14},
		Threshold:  .2,
		Least:      .05,
		Needless:   Prior{{.01, .679}, {.02, .437}, {.03, .348}, {.05, .228}, {.07, .169}, {.1, .106}, {.15, .063}, {.2, .042}, {.25, .029}, {.3, .021}, {.4, .013}, {.5, .009}},
		Unfit:      Prior{{.01, .878}, {.02, .777}, {.03, .615}, {.05, .465}, {.07, .36}, {.1, .297}, {.15, .21}, {.2, .159}, {.25, .13}, {.3, .108}, {.4, .077}, {.5, .055}},
	}
}

// A Demand says how likely the best candidate is what the prompt wants, and why.
type Demand struct {
	Probability float64 // how likely the prompt wants the best candidate, 0 to 1
	Terms       []Term  // their sum is the log odds; nil if there are no candidates
}

// Known is what a Gate knows beside the candidates.
type Known struct {
	Skills     int     // number of skills that were searched
	Calibrated bool    // the cosines are on the scale to which Gate.Vectors was fitted
	Request    float64 // how likely the prompt asks for a task at all, in log odds
	Read       bool    // the prompt was read word by word out of another language, which makes it less like any skill
}

const (
	// GateDepth is how many of the best candidates a Gate considers, not counting
	// those that the prompt names.
	GateDepth = 10

	maxStrength = 6  // a higher Strength says no more
	fewSkills   = 20 // a smaller catalog counts as this many skills
)

// Judge sets Probability and Relevant of candidates, which must be in the order that
// Order returns, without copies of one skill: those would look like doubt. A skill that the prompt
// names has the probability 1; whether the prompt wants others beside it, Judge finds out as if it
// were not there.
func (g Gate) Judge(scored []Scored, in Known) Demand {
	rest := make([]*Scored, 0, len(scored))
	for i := range scored {
		if s := &scored[i]; s.Exact {
			s.Probability, s.Relevant = 1, true
		} else {
			rest = append(rest, s)
		}
	}
	if len(rest) == 0 {
		return Demand{}
	}
	logit := g.Text
	if in.Calibrated && slices.ContainsFunc(rest[:min(GateDepth, len(rest))], func(s *Scored) bool { _, ok := s.CosineSum(); return ok }) {
		logit = g.Vectors
		if g.Contextual != (Logit{}) {
			logit = logit.toward(g.Contextual, understood(rest))
		}
	}
	d := logit.demand(rest, in)
	for i, s := range rest {
		s.Probability = d.Probability * math.Exp((s.Score-rest[0].Score)/logit.Spread)
		if d.Probability >= g.Threshold {
			best := i == 0 && len(rest) == len(scored) // no skill is named
			s.Relevant = best || s.Probability >= g.Least
		}
	}
	return d
}

// understood returns the share of the candidates that have the encoder's cosine.
func understood(rest []*Scored) float64 {
	n := 0
	for _, s := range rest {
		if s.has[Sentence] {
			n++
		}
	}
	return float64(n) / float64(len(rest))
}

// toward returns weights between those of l, for a share of 0, and those of to, for 1.
func (l Logit) toward(to Logit, share float64) Logit {
	between := func(a, b float64) float64 { return a + share*(b-a) }
	for _, f := range Figures {
		*f.Weight(&l) = between(*f.Weight(&l), *f.Weight(&to))
	}
	l.Spread = between(l.Spread, to.Spread)
	return l
}

// demand returns how likely the prompt wants the first of the candidates, given best first.
func (l Logit) demand(rest []*Scored, in Known) Demand {
	terms := make([]Term, 0, len(Figures))
	for _, f := range Figures {
		if t := (Term{f.Name, f.value(rest[0], rest, &in), *f.Weight(&l)}); t.Value != 0 {
			terms = append(terms, t)
		}
	}
	return Demand{Probability: probability(sum(terms)), Terms: terms}
}

// The shares of prompts that may get an offer, if nothing else is set: of those that need no skill,
// and of those that need one which is not there.
const (
	DefaultRate  = .1
	DefaultUnfit = .25
)

// leastThreshold is the least threshold of a rate below 1: in a catalog of a few skills that are
// ranked by text, hardly any prompt that needs no skill has a demand at all.
const leastThreshold = .01

// reserve is the part of the share of prompts without a skill for which the threshold is set: other
// prompts are offered something more often than those that set it, on the dev sets by a fifth to a fourth.
const reserve = .8

// ThresholdFor returns the threshold at which at most these shares get an offer, of the prompts that
// need no skill and of those that need one which is not there, see Prior.ThresholdFor.
func (g Gate) ThresholdFor(disturb, unfit float64, needless, work []float32) float64 {
	if unfit < 1 {
		unfit *= reserve
	}
	return max(g.Needless.ThresholdFor(disturb, needless), g.Unfit.ThresholdFor(unfit, work))
}

// A Prior holds thresholds of a typical catalog by rate, in rising order of the rates.
type Prior []RatePoint

// A RatePoint says which demand only a share of some prompts exceeds in a typical catalog.
type RatePoint struct {
	Rate        float64 // the share
	Probability float64 // the demand
}

// ThresholdFor returns the threshold at which at most a share of some prompts gets an offer.
// background are the demands of such prompts in this catalog, in rising
// order; if there are none, the threshold is that of a typical catalog. No threshold is below
// 1 %, but a rate of 1 gives one that all prompts reach; a rate of 0 gives one that none does.
func (p Prior) ThresholdFor(rate float64, background []float32) float64 {
	switch {
	case rate <= 0:
		return 1
	case rate >= 1:
		return 0
	case len(background) > 0:
		return max(leastThreshold, probability(exceeded(background, rate)))
	}
	return max(leastThreshold, probability(p.at(rate)))
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

// at returns the log odds that a share of the prompts exceeds in a typical catalog; 0 if nothing is
// known. The log odds between two points, and beyond the last, are a linear function of the logarithm
// of the rate.
func (p Prior) at(rate float64) float64 {
	switch len(p) {
	case 0:
		return 0
	case 1:
		return logOdds(p[0].Probability)
	}
	n := slices.IndexFunc(p[1:len(p)-1], func(p RatePoint) bool { return rate < p.Rate })
	if n < 0 {
		n = len(p) - 2
	}
	a, b := p[n], p[n+1]
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
	return Reaching(demands, float64(math.Nextafter32(float32(than), 2)))
}

// Reaching returns how many of the demands, which are in rising order, reach a threshold.
func Reaching(demands []float32, threshold float64) int {
	n, _ := slices.BinarySearchFunc(demands, threshold, func(d float32, threshold float64) int { return cmp.Compare(float64(d), threshold) })
	return len(demands) - n
}
