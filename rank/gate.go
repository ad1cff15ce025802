package rank

import (
	"math"
	"slices"
)

// A Gate turns scores into probabilities by answering two questions: does the prompt
// want any skill, and if so, which one? The answer to the first depends on absolute
// values of the best candidates, so that it means the same in catalogs of 50 and of
// 20,000 skills. The answer to the second depends on the distances between scores.
type Gate struct {
	Vectors Logit // if cosines are calibrated, see Known
	Text    Logit // otherwise
	// Contextual is instead of Vectors if all candidates have the encoder's cosine. If some have,
	// each weight is between the two by their share, and so are the log odds. The zero value
	// means Vectors.
	Contextual Logit
	// Threshold is how likely the prompt must be to want a skill, 0 to 1. Below
	// it, no skill is offered.
	Threshold float64
	// Least is the least probability of a skill that is offered beside the best one. A
	// missed skill costs the user as much as 1/Least needless entries.
	Least float64
	// Prior holds thresholds of typical catalogs by rate, in rising order of the rates, see
	// ThresholdFor.
	Prior []RatePoint
}

// A Logit holds the weights for both questions. The log odds that a prompt wants a skill
// are a weighted sum.
type Logit struct {
	Base     float64 // a constant
	Nearness float64 // weight of the highest sum of the embedder's cosines of a candidate
	Sentence float64 // weight of the highest cosine of the encoder
	Strength float64 // weight of the highest Strength, up to 6
	Coverage float64 // weight of the best candidate's Coverage
	Head     float64 // weight of the best candidate's HeadShare
	Trigger  float64 // weight of the highest Trigger, if there is one
	Example  float64 // weight of what the best example says, if there is one
	Request  float64 // weight of Known.Request
	Size     float64 // weight of the logarithm of the number of skills: in a large catalog, more are near by chance

	// Spread is the difference of two scores that makes the higher one e times as
	// likely.
	Spread float64
}

// DefaultGate returns weights that cmd/skills-fit fitted for the built-in embedder: a
// logistic regression on labelled sets, each alone and mixed with 3,000 other skills. All
// sets had the same weight; prompts that want no skill had two fifths of it, near misses a
// tenth. A skill beside the best is offered from the probability on at which it is worth its
// tokens, if a miss costs as much as twenty needless entries. The weight of Trigger is set by
// hand, because the labelled sets have no triggers, and Head is half of what the fit gives: more
// offers more skills with vague descriptions, and fewer of those with long ones. Spread of Contextual
// is .06 less than the fit gives, which offers a twentieth less. Further figures of the encoder's cosines, of the best candidate and of
// the margins between them, moved coverage by less than .01.
func DefaultGate() Gate {
	return Gate{
		Vectors:    Logit{Base: -2.75, Nearness: 3.26, Strength: .55, Coverage: 1.3, Head: 2.5, Trigger: .5, Size: -.35, Request: .49, Spread: .22},
		Contextual: Logit{Base: -2.74, Nearness: 1.4, Sentence: 5.52, Strength: .43, Coverage: 1.34, Head: .375, Trigger: .5, Example: 3, Size: -.35, Request: .48, Spread: .33},
		Text:       Logit{Base: -2.79, Strength: .82, Coverage: 2.5, Head: 2.5, Trigger: .5, Size: -.2, Request: .38, Spread: .13},
		Threshold:  .6,
		Least:      .05,
		Prior:      []RatePoint{{.01, .667}, {.02, .521}, {.03, .451}, {.05, .363}, {.07, .314}, {.1, .269}, {.15, .213}, {.2, .171}, {.3, .123}, {.5, .069}},
	}
}

// A Demand answers whether the prompt wants any skill, and why.
type Demand struct {
	Probability float64 // how likely the prompt wants any of the candidates, 0 to 1
	Terms       []Term  // their sum is the log odds; nil if there are no candidates
}

// Known is what a Gate knows beside the candidates.
type Known struct {
	Skills     int     // number of skills that were searched
	Calibrated bool    // the cosines are on the scale to which Gate.Vectors was fitted
	Request    float64 // how likely the prompt asks for a task at all, in log odds
}

const (
	// GateDepth is how many of the best candidates a Gate considers, not counting
	// those that the prompt names.
	GateDepth = 10

	maxStrength = 6  // a higher Strength says no more
	fewSkills   = 20 // a smaller catalog counts as this many skills
)

// Judge sets Probability and Relevant of candidates, which must be in the order that
// Order returns. A skill that the prompt names has the probability 1; whether the prompt wants
// others beside it, Judge finds out as if it were not there.
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
	total := 0.0
	for i, s := range rest {
		s.Probability = math.Exp((s.Score - rest[0].Score) / logit.Spread)
		if i < GateDepth { // the demand is that one of these is wanted
			total += s.Probability
		}
	}
	for _, s := range rest {
		s.Probability *= d.Probability / total
	}
	if d.Probability < g.Threshold {
		return d
	}
	for i, s := range rest {
		best := i == 0 && len(rest) == len(scored) // no skill is named
		s.Relevant = best || s.Probability >= g.Least
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
	return Logit{
		Base:     between(l.Base, to.Base),
		Nearness: between(l.Nearness, to.Nearness),
		Sentence: between(l.Sentence, to.Sentence),
		Strength: between(l.Strength, to.Strength),
		Coverage: between(l.Coverage, to.Coverage),
		Head:     between(l.Head, to.Head),
		Trigger:  between(l.Trigger, to.Trigger),
		Example:  between(l.Example, to.Example),
		Request:  between(l.Request, to.Request),
		Size:     between(l.Size, to.Size),
		Spread:   between(l.Spread, to.Spread),
	}
}

// demand returns how likely the prompt wants any of the candidates, given best first.
func (l Logit) demand(rest []*Scored, in Known) Demand {
	nearness, sentence, strength, trigger, example := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, s := range rest[:min(GateDepth, len(rest))] {
		strength = max(strength, min(s.Strength, maxStrength))
		trigger, example = max(trigger, s.Trigger), max(example, s.example())
		sentence = max(sentence, s.Value(Sentence))
		if near, ok := s.CosineSum(); ok {
			nearness = max(nearness, near)
		}
	}
	terms := []Term{{"base", 1, l.Base}}
	if l.Nearness != 0 {
		terms = append(terms, Term{"nearness", nearness, l.Nearness})
	}
	if l.Sentence != 0 {
		terms = append(terms, Term{"sentence nearness", sentence, l.Sentence})
	}
	terms = append(terms,
		Term{"strength", strength, l.Strength},
		Term{"coverage", rest[0].Coverage, l.Coverage},
		Term{"head", rest[0].HeadShare, l.Head})
	if trigger > 0 {
		terms = append(terms, Term{"trigger", trigger, l.Trigger})
	}
	if example > 0 {
		terms = append(terms, Term{"example", example, l.Example})
	}
	terms = append(terms,
		Term{"request", in.Request, l.Request},
		Term{"size", math.Log(float64(max(in.Skills, fewSkills))), l.Size})
	return Demand{Probability: probability(sum(terms)), Terms: terms}
}

// DefaultRate is the share of the prompts that need no skill that may get an offer.
const DefaultRate = .1

// leastThreshold is the least threshold of a rate below 1: in a catalog of a few skills that are
// ranked by text, hardly any prompt that needs no skill has a demand at all.
const leastThreshold = .01

// A RatePoint says which demand only a share of the prompts that need no skill exceeds in
// a typical catalog.
type RatePoint struct {
	Rate        float64 // the share
	Probability float64 // the demand
}

// ThresholdFor returns the threshold at which at most a share of the prompts that need no
// skill gets an offer. background are the demands of such prompts in this catalog, in rising
// order; if there are none, the threshold is that of a typical catalog. No threshold is below
// 1 %, but a rate of 1 gives one that all prompts reach; a rate of 0 gives one that none does.
func (g Gate) ThresholdFor(rate float64, background []float32) float64 {
	switch {
	case rate <= 0:
		return 1
	case rate >= 1:
		return 0
	case len(background) > 0:
		return max(leastThreshold, probability(exceeded(background, rate)))
	case len(g.Prior) > 0:
		return max(leastThreshold, probability(g.prior(rate)))
	}
	return g.Threshold
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
