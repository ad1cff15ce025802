package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A Position says how a skill ranks for a prompt that ought to lead to it.
type Position struct {
	Rank   int     // from 1, without copies; 0 means that the skill is no candidate
	Score  float64 // comparable within one prompt only; 0 if Rank is 0
	CopyOf string  // ID of the skill that is offered instead of this copy of it; "" means that it is none
	Above  []Rival // the first skills that rank above it, best first
}

// A Rival is a skill that ranks above another one.
type Rival struct {
	ID    string
	Score float64
}

// maxRivals is how many rivals a Position has at most.
const maxRivals = 3

// Position ranks an offered skill for a prompt, "" for its own description, whose vector
// is taken from the catalog. Names of skills in the prompt do not count, because a
// description may name another skill to send people there. Nor does the reranker.
func (x *reviewer) Position(ctx context.Context, id, prompt string) (p Position, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		i, err := lookup(v, id)
		if err != nil {
			return err
		}
		r := x.retrieval(v)
		defer x.analyzers.Put(r.analyzer)
		r.nameless, r.trial = true, true
		if r.trust, err = x.scopes.trustIn(v); err != nil {
			return err
		}
		if err := x.find(ctx, r, cmp.Or(tidy.CutMiddle(prompt, MaxPrompt), v.Doc(i).Description), x.pointOf(ctx, r, i, prompt)); err != nil {
			return err
		}
		p = r.position(i, r.distinct(rank.Order(r.candidates, r.prompt.full, *x.opts.Params)))
		return v.Err()
	})
	return p, err
}

// pointOf returns a function that returns the point of a prompt, or of the description of
// skill i if the prompt is "".
func (x *reviewer) pointOf(ctx context.Context, r *retrieval, i int, prompt string) func() snapshot.Point {
	switch {
	case r.embedder == nil:
		return func() (p snapshot.Point) { return p }
	case prompt == "":
		return func() snapshot.Point { return r.view.Retriever().PointOf(i) }
	}
	r.reading = gloss.Read(prompt)
	r.foreign = r.reading != nil
	embedded := x.embedPrompt(ctx, r.view.Set, r.embedder, prompt, r.reading, nil)
	return func() snapshot.Point {
		points, _ := embedded()
		return points[0]
	}
}

// position returns the position of skill i among scored skills, which are without copies.
func (r *retrieval) position(i int, scored []rank.Scored) (p Position) {
	if kept, ok := r.copyOf(i); ok {
		p.CopyOf = r.view.ID(kept)
	}
	at := slices.IndexFunc(scored, func(s rank.Scored) bool { return s.Key == i })
	if at >= 0 {
		p.Rank, p.Score = at+1, scored[at].Score
		scored = scored[:at]
	}
	for _, s := range scored[:min(maxRivals, len(scored))] {
		p.Above = append(p.Above, Rival{s.ID, s.Score})
	}
	return p
}
