package search

import (
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// mostClauses is how many clauses a list of needs has at most: a longer prompt describes one task. With
	// six, prompts for several tools find .896 of them among the first five instead of .908; with ten as many.
	mostClauses = 8
	// clauseDoubt is by how much less likely a skill is for a clause than for a prompt of the same figures, in log
	// odds: a clause says less. Without it, of what is offered for prompts for one skill .53 is right instead of .56.
	clauseDoubt = .8
)

// clausesOf returns the clauses of a prompt, or of its reading in English, that may each need a skill of its own.
func (r *retrieval) clausesOf(text string) []string {
	if r.Kind != "" {
		return nil
	}
	if r.reading != nil {
		text = r.reading.English()
	}
	list := intent.Clauses(text)
	if len(list) > mostClauses {
		return nil
	}
	return list
}

// findClauses ranks each clause of the prompt by itself, and notes the first hit of each that fits it.
// It has the vectors of the clauses as they stand in the prompt: they cost nothing, and find more than those of
// clauses that are embedded by themselves (.898 against .885 among the first five). Whether a
// clause fits does not depend on the threshold of the query: that must not change the order. The demands of background
// prompts are those of the whole prompts.
func (x *ranker) findClauses(ctx context.Context, r *retrieval, clauses []string, points []snapshot.Point) error {
	usual := x.usual(r)
	for i, text := range clauses {
		unread := points[i][snapshot.Sentences] == nil && r.vector[snapshot.Sentences] != nil
		if unread || intent.Of(text) != intent.Ordinary {
			continue
		}
		c := &retrieval{view: r.view, held: r.held, trust: r.trust, analyzer: r.analyzer, embedder: r.embedder, scale: r.scale, trial: r.trial, foreign: r.foreign, nameless: true}
		if err := x.find(ctx, c, text, func() snapshot.Point { return points[i] }); err != nil {
			return err
		}
		x.rank(c)
		if d := c.Demand.Doubt("clause", clauseDoubt); d.Probability >= usual {
			r.parts = append(r.parts, rank.Part{Text: text, Key: c.scored[0].Key, Demand: d})
		}
	}
	missing := false
	for _, p := range r.parts {
		if !slices.ContainsFunc(r.candidates, func(c rank.Candidate) bool { return c.Key == p.Key }) {
			missing, r.candidates = true, append(r.candidates, r.candidate(p.Key, 0))
		}
	}
	if missing {
		r.setIDs()
	}
	return nil
}

// usual returns the threshold of the default shares.
func (x *ranker) usual(r *retrieval) float64 {
	return x.opts.Params.Gate.ThresholdFor(rank.DefaultRate, rank.DefaultUnfit, r.demands.Needless, r.demands.Unfit)
}

// alone returns the demand of a prompt below which its clauses stand alone. Without the encoder they never do: a clause
// with a word of a name is too sure of itself then, and Hit@1 among names like everyday words is .64 instead of .81.
func (x *ranker) alone(r *retrieval) float64 {
	if r.vector[snapshot.Sentences] == nil {
		return 0
	}
	return x.usual(r)
}
