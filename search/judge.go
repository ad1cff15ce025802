package search

import (
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/rank"
)

// judge orders candidates, best first, and says how probably each is wanted. A
// prompt of a kind that wants no skill wants what it names.
func (x *Searcher) judge(r *retrieval, candidates []rank.Candidate) []rank.Scored {
	scored := rank.Order(candidates, *x.opts.Params)
	for i, left := 0, rank.GateDepth; i < len(scored) && left > 0; i++ {
		r.measure(&scored[i])
		if !scored[i].Exact {
			left--
		}
	}
	gate := x.opts.Params.Gate
	gate.Threshold = r.Threshold
	r.Demand = gate.Judge(scored, rank.Catalog{Skills: r.scope.Visible, Calibrated: r.calibrated()})
	if r.Kind == "" {
		return scored
	}
	r.Demand = rank.Demand{}
	for i := range scored {
		if s := &scored[i]; !s.Exact {
			s.Probability, s.Relevant = 0, false
		}
	}
	return scored
}

// measure fills in the absolute figures of a candidate, which only the best ones
// need.
func (r *retrieval) measure(s *rank.Scored) {
	s.Coverage, s.Evidence = r.prompt.coverage(r.view, s.Key)
	// SQLite gives a word that half of the skills have no weight, so that in a
	// catalog of one or two nothing would match.
	s.Strength = max(s.Lexical/r.prompt.rarest, s.Evidence)
}

// calibrated reports whether the cosines are on the scale of the gate.
func (r *retrieval) calibrated() bool {
	e, ok := r.embedder.(embed.Calibrated)
	return ok && r.vector != nil && e.Calibrated()
}
