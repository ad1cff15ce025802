package rank

// A Cut decides which of the ordered candidates are worth showing to a model
// that did not ask. It is provisional: it compares figures of the text with
// fixed bounds, whatever the vectors say, until the score is a calibrated
// probability. On the dev sets it lets through something wanted for 58 % of the
// prompts that want a skill, and something for 17 % of those that want none.
type Cut struct {
	// Strong is the Strength from which the text alone decides.
	Strong float64
	// Weak is the least Strength of a skill that passes when its name,
	// description and tags agree: with at least Coverage and Evidence.
	Weak, Coverage, Evidence float64
	// Margin is the least share of the best score that a further skill has.
	Margin float64
}

// DefaultCut returns the provisional bounds.
func DefaultCut() Cut {
	return Cut{Strong: 2.5, Weak: 2, Coverage: .2, Evidence: 1, Margin: .5}
}

// mark sets Relevant on the candidates that pass; they are in order. A skill
// that the prompt names always does.
func (c Cut) mark(scored []Scored) {
	top := best(scored)
	for i := range scored {
		s := &scored[i]
		s.Relevant = s.Exact || s.Score >= c.Margin*top && c.passes(s.Candidate)
	}
}

// best returns the highest score that has no bonus for an exact name.
func best(scored []Scored) float64 {
	for _, s := range scored {
		if !s.Exact {
			return s.Score
		}
	}
	return 0
}

func (c Cut) passes(s Candidate) bool {
	return s.Strength >= c.Strong ||
		s.Strength >= c.Weak && s.Coverage >= c.Coverage && s.Evidence >= c.Evidence
}
