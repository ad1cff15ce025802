package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/rank"
)

// bodyStart is how many bytes of a body a reranker gets: it reads slowly, and
// what a skill is about stands at its start.
const bodyStart = 1000

// order ranks the candidates of r, leaves out copies, and lets the reranker, if there
// is one, reorder the best of them. Which skills are relevant stays as rank decided;
// if relevant is set, the others are left out. If the reranker fails or is late, the
// order of rank stays, and the mode says so.
func (x *ranker) order(ctx context.Context, r *retrieval, relevant bool) error {
	x.rank(r)
	r.compare()
	if relevant {
		r.scored = slices.DeleteFunc(r.scored, func(s rank.Scored) bool { return !s.Relevant })
	}
	places := rerankable(r.scored, x.opts.RerankCandidates)
	if x.opts.Reranker == nil || len(places) < 2 {
		return nil
	}
	documents := make([]string, len(places))
	for i, at := range places {
		var err error
		if documents[i], err = x.document(ctx, r, r.scored[at].Key); err != nil {
			return err
		}
	}
	scores, err := x.rerank(ctx, r.prompt.text, documents)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.RerankError = err
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r.Mode += ", reranker timed out"
	case err != nil:
		r.Mode += ", reranker failed"
	default:
		r.Mode += ", reranked"
		r.reorder(places, scores)
	}
	return nil
}

// rerankable returns the places of the first n skills that the prompt does not name for
// certain. Those that it names so stay where they are.
func rerankable(scored []rank.Scored, n int) []int {
	var places []int
	for i := range scored {
		if len(places) < n && !scored[i].Exact {
			places = append(places, i)
		}
	}
	return places
}

// document returns what a reranker reads of a candidate.
func (x *ranker) document(ctx context.Context, r *retrieval, i int) (string, error) {
	d := r.view.Doc(i)
	text := d.Name + ": " + d.Description
	s, ok, err := x.stored(ctx, d.Row)
	if err != nil || !ok { // not ok: the skill was removed after the view was made
		return text, err
	}
	return strings.TrimSpace(text + "\n\n" + tidy.Cut(s.Body, bodyStart)), nil
}

// rerank returns one score for each document. At the deadline it returns an error,
// even if the reranker ignores its context.
func (x *ranker) rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	scores, err := start(ctx, "reranker", x.opts.RerankDeadline, func(ctx context.Context) ([]float64, error) {
		return x.opts.Reranker.Rerank(ctx, query, documents)
	})()
	switch {
	case err != nil:
		return nil, err
	case len(scores) != len(documents):
		return nil, fmt.Errorf("the reranker returned %d scores for %d documents", len(scores), len(documents))
	case slices.ContainsFunc(scores, func(s float64) bool { return math.IsInf(s, 0) }):
		return nil, errors.New("the reranker returned an infinite score")
	}
	return scores, nil
}

// reorder sorts the skills at places by their scores, best first. Skills without a
// score come last; equals keep their order.
func (r *retrieval) reorder(places []int, scores []float64) {
	type item struct {
		skill rank.Scored
		score float64
	}
	items := make([]item, len(places))
	r.reranked = make(map[int]float64)
	for i, at := range places {
		items[i] = item{r.scored[at], scores[i]}
		if !math.IsNaN(scores[i]) {
			r.reranked[r.scored[at].Key] = scores[i]
		}
	}
	// NaN means no score; Compare puts it below every number.
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.score, a.score) })
	for i, at := range places {
		r.scored[at] = items[i].skill
	}
}
