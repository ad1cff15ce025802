package search

import (
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// judge orders candidates, best first, and sets the probability that each is wanted.
// For a prompt of a kind that needs no skill, only the skills that it names for
// certain are relevant.
func (x *ranker) judge(r *retrieval, candidates []rank.Candidate) []rank.Scored {
	scored := rank.Order(candidates, r.prompt.full, *x.opts.Params)
	for i, left := 0, rank.GateDepth; i < len(scored) && left > 0; i++ {
		r.measure(&scored[i])
		if !scored[i].Exact {
			left--
		}
	}
	gate := x.opts.Params.Gate
	gate.Threshold = r.Threshold
	r.Demand = gate.Judge(scored, rank.Known{Skills: r.view.Scope.Visible, Calibrated: r.calibrated(), Request: intent.Request(r.prompt.text)})
	if r.onlyFitting {
		scored = r.fitting(scored)
	}
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

// measure fills in the coverage, evidence and strength of a candidate. Only the best
// candidates need them.
func (r *retrieval) measure(s *rank.Scored) {
	s.Coverage, s.Evidence = r.prompt.coverage(r.view, s.Key)
	// BM25 gives no weight to a word that half of the skills have. In a catalog of
	// one or two skills nothing would match; there the evidence counts instead.
	s.Strength = max(s.Value(rank.Text)/r.prompt.rarest, s.Evidence)
}

// calibrated reports whether the cosines of the candidates are on the scale that the
// gate was fitted to.
func (r *retrieval) calibrated() bool {
	return r.vector[snapshot.Words] != nil && (r.scale.Known() || onScale(r.embedder))
}
