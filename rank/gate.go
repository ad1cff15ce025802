package rank

import (
	"math"
	"slices"
)

// A Gate turns scores into probabilities by two questions: does the prompt want
// any skill at all, and if so, which one. The first is answered by absolute
// figures of the best candidates, so that it means the same in a catalog of 50
// skills as in one of 20,000; the second by how far apart their scores are.
type Gate struct {
	Vectors Logit // where the cosines are on the scale that it was fitted to
	Text    Logit // for all others
	// Threshold is the least probability that the prompt wants a skill for any
	// to be offered, 0 to 1.
	Threshold float64
	// Rival is the least probability of a skill that is offered beside the best,
	// as a share of the best one's.
	Rival float64
}

// A Logit answers both questions with one kind of figures. The log odds of a
// prompt that wants a skill are a weighted sum.
type Logit struct {
	Base     float64
	Nearness float64 // of the highest sum of both cosines
	Strength float64 // of the highest Strength, up to 6
	Coverage float64 // of that of the best candidate
	Size     float64 // of the logarithm of the number of skills: among more, more is near by chance

	// Spread is by how much a score must be higher to be e times as likely.
	Spread float64
}

// DefaultGate returns the weights that were fitted on the dev sets by logistic
// regression, to the catalogs of the sets and to the same with 3,000 other
// skills among them; sets counted alike, and prompts that want nothing two
// fifths. The command cmd/skills-fit does this, for the built-in embedder.
func DefaultGate() Gate {
	return Gate{
		Vectors:   Logit{Base: -2.62, Nearness: 4.22, Strength: .69, Coverage: 1.82, Size: -.40, Spread: .24},
		Text:      Logit{Base: -2.50, Strength: 1.11, Coverage: 3.17, Size: -.18, Spread: .15},
		Threshold: .6,
		Rival:     .03,
	}
}

// A Demand is the answer to the first question, with its reasons.
type Demand struct {
	Probability float64 // that the prompt wants any of the candidates
	Terms       []Term  // whose sum are the log odds; none without candidates
}

// A Catalog is what a Gate needs to know of where the candidates come from.
type Catalog struct {
	Skills     int  // that were searched
	Calibrated bool // the cosines are on the scale that Gate.Vectors was fitted to
}

const (
	// GateDepth is how many of the best candidates that the prompt does not name
	// a Gate looks at for their Strength, Coverage and cosines.
	GateDepth = 10

	maxStrength = 6  // beyond it more says nothing
	fewSkills   = 20 // fewer skills count as many
)

// Judge sets Probability and Relevant of candidates in the order of Order. What
// the prompt names is wanted for certain and has no part in the rest.
func (g Gate) Judge(scored []Scored, in Catalog) Demand {
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
	if in.Calibrated && slices.ContainsFunc(rest[:min(GateDepth, len(rest))], func(s *Scored) bool { return s.Vectors }) {
		logit = g.Vectors
	}
	d := logit.demand(rest, in)
	total := 0.0
	for _, s := range rest {
		s.Probability = math.Exp((s.Score - rest[0].Score) / logit.Spread)
		total += s.Probability
	}
	for _, s := range rest {
		s.Probability *= d.Probability / total
		s.Relevant = d.Probability >= g.Threshold && s.Probability >= g.Rival*rest[0].Probability
	}
	return d
}

// demand answers the first question for candidates, best first.
func (l Logit) demand(rest []*Scored, in Catalog) Demand {
	nearness, strength := 0.0, 0.0
	for _, s := range rest[:min(GateDepth, len(rest))] {
		strength = max(strength, min(s.Strength, maxStrength))
		if s.Vectors {
			nearness = max(nearness, s.Description+s.Full)
		}
	}
	terms := []Term{{"base", 1, l.Base}}
	if l.Nearness != 0 {
		terms = append(terms, Term{"nearness", nearness, l.Nearness})
	}
	terms = append(terms,
		Term{"strength", strength, l.Strength},
		Term{"coverage", rest[0].Coverage, l.Coverage},
		Term{"size", math.Log(float64(max(in.Skills, fewSkills))), l.Size})
	return Demand{Probability: 1 / (1 + math.Exp(-sum(terms))), Terms: terms}
}
