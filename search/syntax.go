package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// searchSyntax answers a query in the query language: the skills that it
// matches, ranked by BM25 alone.
func (x *ranker) searchSyntax(ctx context.Context, q Query) (a Answer, err error) {
	c, err := query.Parse(q.Text)
	if err != nil {
		return Answer{}, err
	}
	err = x.scopes.read(ctx, q.Agent, func(v *snapshot.View) error {
		v, _ = q.seeing(q.narrowed(v))
		find, mode, err := x.finder(ctx, v, c)
		if err != nil {
			return err
		}
		for limit := q.Limit; ; limit *= 2 {
			found, err := find(limit)
			if err != nil {
				return fmt.Errorf("searching by syntax: %w", err)
			}
			a = Answer{Ranking: Ranking{Mode: mode(), Unread: x.scopes.unread(v.Set), AsOf: x.asOf()}, Hits: x.syntaxHits(ctx, v, c, found, q.Limit)}
			if len(a.Hits) == q.Limit || len(found) < limit {
				return nil
			}
		}
	})
	return a, err
}

// finder returns a function that returns the k best matches of a query, and a function that
// then says what they are based on: the engine of the store if that has a query language,
// otherwise the snapshots.
func (x *ranker) finder(ctx context.Context, v *snapshot.View, c *query.Query) (find func(k int) ([]snapshot.Hit, error), mode func() string, err error) {
	if engine, ok := x.engine(v.Set); ok {
		text := c.FTS()
		return func(k int) ([]snapshot.Hit, error) { return engine.find(ctx, v, text, k) }, func() string { return "syntax" }, nil
	}
	m, err := c.Match(ctx, v, x.store)
	if err != nil {
		return nil, nil, fmt.Errorf("searching by syntax: %w", err)
	}
	return m.Find, m.Mode, nil
}

// syntaxHits returns the first skills of found that have what they need.
func (x *ranker) syntaxHits(ctx context.Context, v *snapshot.View, c *query.Query, found []snapshot.Hit, limit int) []Hit {
	hits, analyzer := make([]Hit, 0, len(found)), new(words.Analyzer)
	for _, h := range found {
		e := entryOf(v, h.Doc)
		if x.dir.setAvailable(ctx, v, &e); e.State == Unavailable || len(hits) == limit {
			continue
		}
		hits = append(hits, Hit{
			Entry: e, Score: h.Score, Terms: []rank.Term{{Name: "bm25", Value: h.Score, Weight: 1}},
			Matched: Matched{
				Name:        c.Matched("name", analyzer.Terms(e.Name)),
				Description: c.Matched("description", analyzer.Terms(e.Description)),
				Tags:        c.Matched("tags", analyzer.Terms(strings.Join(e.Tags, " "))),
			},
		})
	}
	return hits
}
