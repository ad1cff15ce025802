package search

import (
	"context"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A textLeg ranks skills by their full text.
type textLeg interface {
	// frequencies returns in how many skills each term occurs, and the number of all
	// skills. found begins with the terms as the set knows them.
	frequencies(ctx context.Context, v *snapshot.View, terms []string, found *snapshot.Terms) (docs []int, all int, err error)
	// match returns the k skills of the view that match best by BM25.
	match(ctx context.Context, v *snapshot.View, p *prompt, k int) ([]snapshot.Hit, error)
}

// leg returns the text leg for a set: the engine of the store if the set lacks the
// full text and the engine can rank, otherwise the snapshots.
func (x *ranker) leg(s *snapshot.Set) textLeg {
	if engine, ok := x.engine(s); ok && !s.Compiled {
		return engine
	}
	return compiledLeg{}
}

// compiledLeg ranks by the posting lists of the set. All of them use the mean length of a
// skill in the base, so that their scores can be compared.
type compiledLeg struct{}

func (compiledLeg) frequencies(_ context.Context, v *snapshot.View, terms []string, found *snapshot.Terms) ([]int, int, error) {
	return v.Retriever().Frequencies(found, len(terms)), v.Set.Size(), v.Err()
}

func (compiledLeg) match(_ context.Context, v *snapshot.View, p *prompt, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	all := v.Set.Size()
	weights := func(yield func(int, float64) bool) {
		for _, t := range p.terms {
			if !yield(t.at, snapshot.InverseFrequency(t.docs, all)) {
				return
			}
		}
		for i, o := range p.others {
			if o.idf > 0 && !yield(p.first+i, o.idf) {
				return
			}
		}
	}
	return v.Retriever().Search(p.found, weights, v.Scope.Offered, k), nil
}

// engineLeg ranks by the engine of the store. The engine sees the catalog as it is
// now, which may be newer than the view.
type engineLeg struct {
	engine  store.TextSearcher
	weights skill.Weights
}

func (l engineLeg) frequencies(ctx context.Context, _ *snapshot.View, terms []string, _ *snapshot.Terms) ([]int, int, error) {
	found, all, err := l.engine.Frequencies(ctx, terms)
	docs := make([]int, len(terms))
	for i, t := range terms {
		docs[i] = found[t]
	}
	return docs, all, err
}

func (l engineLeg) match(ctx context.Context, v *snapshot.View, p *prompt, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	return l.find(ctx, v, p.query(), k)
}

// find returns the k best matches of a query in the language of the engine.
func (l engineLeg) find(ctx context.Context, v *snapshot.View, query string, k int) ([]snapshot.Hit, error) {
	var allowed []int64 // nil means all skills
	if !v.Scope.All {
		allowed = make([]int64, 0, v.Scope.Visible)
		for i := range v.Scope.Offered.All() {
			allowed = append(allowed, v.Facts(i).Row)
		}
	}
	matches, err := l.engine.Match(ctx, query, l.weights, allowed, k)
	var hits []snapshot.Hit
	for _, m := range matches {
		// A skill that was added after the set was made has no number in it.
		if i, ok := v.ByRow(m.Row); ok && v.Scope.Offered.Has(i) {
			hits = append(hits, snapshot.Hit{Doc: i, Score: m.Score})
		}
	}
	return hits, err
}

// engine returns the engine of the store, if that ranks text and has a query language.
func (x *ranker) engine(s *snapshot.Set) (l engineLeg, ok bool) {
	engine, ok := x.store.(store.TextSearcher)
	if !ok {
		return engineLeg{}, false
	}
	return engineLeg{engine, s.Weights()}, true
}
