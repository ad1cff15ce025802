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
	// skills. found holds the terms as each segment of the view knows them.
	frequencies(ctx context.Context, v *snapshot.View, terms []string, found [][]snapshot.Term) (docs []int, all int, err error)
	// match returns the k skills of the scope that match best by BM25.
	match(ctx context.Context, v *snapshot.View, p *prompt, sc *snapshot.Scope, k int) ([]snapshot.Hit, error)
}

// leg returns the text leg for a set: the engine of the store if the set lacks the
// full text and the engine can rank, otherwise the snapshots.
func (x *Searcher) leg(s *snapshot.Set) textLeg {
	if engine, ok := x.engine(s); ok && !s.Compiled {
		return engine
	}
	return compiledLeg{}
}

// compiledLeg ranks by the posting lists of the segments. All segments use the mean
// length of a skill in the first one, so that their scores can be compared.
type compiledLeg struct{}

func (compiledLeg) frequencies(_ context.Context, v *snapshot.View, terms []string, found [][]snapshot.Term) ([]int, int, error) {
	known := make([][]snapshot.Term, len(found))
	for n := range found {
		known[n] = found[n][:len(terms)]
	}
	return v.Frequencies(known), v.Size(), v.Err()
}

func (compiledLeg) match(_ context.Context, v *snapshot.View, p *prompt, sc *snapshot.Scope, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	all := v.Size()
	terms := make([][]snapshot.Term, len(p.segments))
	for n := range terms {
		terms[n] = make([]snapshot.Term, 0, len(p.terms))
		for _, t := range p.terms {
			if found := p.segments[n].all[t.at]; found.Docs > 0 {
				found.IDF = snapshot.InverseFrequency(t.docs, all)
				terms[n] = append(terms[n], found)
			}
		}
	}
	return v.Search(terms, sc, k), nil
}

// engineLeg ranks by the engine of the store. The engine sees the catalog as it is
// now, which may be newer than the view.
type engineLeg struct {
	engine  store.TextSearcher
	weights skill.Weights
}

func (l engineLeg) frequencies(ctx context.Context, _ *snapshot.View, terms []string, _ [][]snapshot.Term) ([]int, int, error) {
	found, all, err := l.engine.Frequencies(ctx, terms)
	docs := make([]int, len(terms))
	for i, t := range terms {
		docs[i] = found[t]
	}
	return docs, all, err
}

func (l engineLeg) match(ctx context.Context, v *snapshot.View, p *prompt, sc *snapshot.Scope, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	return l.find(ctx, v, p.query(), sc, k)
}

// find returns the k best matches of a query in the language of the engine.
func (l engineLeg) find(ctx context.Context, v *snapshot.View, query string, sc *snapshot.Scope, k int) ([]snapshot.Hit, error) {
	var allowed []int64 // nil means all skills
	if !sc.All {
		allowed = make([]int64, 0, sc.Visible)
		v.In(sc).Each(func(i int) {
			if sc.Searches(i) {
				allowed = append(allowed, v.Facts(i).Row)
			}
		})
	}
	matches, err := l.engine.Match(ctx, query, l.weights, allowed, k)
	var hits []snapshot.Hit
	for _, m := range matches {
		// A skill that was added after the set was made has no number in it.
		if i, ok := v.ByRow(m.Row); ok && sc.Searches(i) {
			hits = append(hits, snapshot.Hit{Doc: i, Score: m.Score})
		}
	}
	return hits, err
}

// engine returns the engine of the store, if that ranks text and has a query language.
func (x *Searcher) engine(s *snapshot.Set) (l engineLeg, ok bool) {
	engine, ok := x.store.(store.TextSearcher)
	if !ok {
		return engineLeg{}, false
	}
	return engineLeg{engine, s.Weights()}, true
}
