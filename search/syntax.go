package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// maxQuoted is how many characters of a query an error quotes.
const maxQuoted = 40

// A SyntaxError says what is wrong with a query whose Syntax is set. Its text is
// "query:COLUMN: what is wrong; what to do".
type SyntaxError struct {
	Column  int    // from 1, in characters as a reader counts them
	Offset  int    // in bytes, from 0
	Message string // what is wrong, and what to do
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("query:%d: %s", e.Column, e.Message) }

// syntaxError returns the error at an offset of a query.
func syntaxError(query string, at int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Column: 1 + uniseg.GraphemeClusterCount(query[:at]), Offset: at, Message: fmt.Sprintf(format, args...)}
}

// searchSyntax answers a query in the query language: the skills that it
// matches, ranked by BM25 alone.
func (x *Searcher) searchSyntax(ctx context.Context, q Query) (a Answer, err error) {
	c, err := compile(q.Text)
	if err != nil {
		return Answer{}, err
	}
	err = x.read(ctx, q.Agent, func(v *snapshot.View) error {
		v = q.narrowed(v)
		find, mode, err := x.finder(ctx, v, c)
		if err != nil {
			return err
		}
		for limit := q.Limit; ; limit *= 2 {
			found, err := find(limit)
			if err != nil {
				return fmt.Errorf("searching by syntax: %w", err)
			}
			a = Answer{Ranking: Ranking{Mode: mode(), Unread: x.unread(v.Set), AsOf: x.asOf()}, Hits: x.syntaxHits(ctx, v, c, found, q.Limit)}
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
func (x *Searcher) finder(ctx context.Context, v *snapshot.View, c *compiled) (find func(k int) ([]snapshot.Hit, error), mode func() string, err error) {
	if engine, ok := x.engine(v.Set); ok {
		query := c.root.fts()
		return func(k int) ([]snapshot.Hit, error) { return engine.find(ctx, v, query, k) }, func() string { return "syntax" }, nil
	}
	m, err := x.newMatcher(ctx, v, c)
	if err != nil {
		return nil, nil, fmt.Errorf("searching by syntax: %w", err)
	}
	return m.find, m.mode, nil
}

// syntaxHits returns the first skills of found that have what they need.
func (x *Searcher) syntaxHits(ctx context.Context, v *snapshot.View, c *compiled, found []snapshot.Hit, limit int) []Hit {
	hits, analyzer := make([]Hit, 0, len(found)), new(words.Analyzer)
	for _, h := range found {
		e := entryOf(v, h.Doc)
		if x.setAvailable(ctx, v, &e); e.State == Unavailable || len(hits) == limit {
			continue
		}
		hits = append(hits, Hit{
			Entry: e, Score: h.Score, Terms: []rank.Term{{Name: "bm25", Value: h.Score, Weight: 1}},
			Matched: Matched{
				Name:        c.matched("name", analyzer.Terms(e.Name)),
				Description: c.matched("description", analyzer.Terms(e.Description)),
				Tags:        c.matched("tags", analyzer.Terms(strings.Join(e.Tags, " "))),
			},
		})
	}
	return hits
}

// A compiled query is in the terms of the index.
type compiled struct {
	root   expr
	sought []sought // what the query asks for
}

// sought is one thing that the query asks for and does not exclude: a term, or words
// that begin with a prefix.
type sought struct {
	term    string
	prefix  string   // not stemmed; "" means that a term is sought
	stems   []string // stems of words that begin with prefix, if the stems do not
	columns []string
}

// matches reports whether a term of the index is what the query asks for.
func (s *sought) matches(term string) bool {
	return term == s.term || s.prefix != "" && (strings.HasPrefix(term, s.prefix) || slices.Contains(s.stems, term))
}

// compile parses a query and translates it into the terms of the index.
func compile(query string) (*compiled, error) {
	root, err := parseSyntax(query)
	if err != nil {
		return nil, err
	}
	t := &translator{analyzer: new(words.Analyzer)}
	e := root.indexed(t, columnNames())
	if e == nil {
		return nil, nothingLeft(query, t.unindexed)
	}
	return &compiled{root: e, sought: t.sought}, nil
}

// nothingLeft is the error for a query whose words are all too common to be indexed.
func nothingLeft(query string, unindexed []part) error {
	p := unindexed[0] // there is one: every word of the query is among them
	text := strings.TrimSpace(p.text)
	if !strings.ContainsFunc(text, words.IsLetter) {
		return syntaxError(query, p.at, "there is no word between the quotes; write one")
	}
	return syntaxError(query, p.at, "nothing is left to search for: %q is too common to be in the index; add a word that says more", words.Shorten(text, maxQuoted))
}

// matched returns the terms of list that the query asks for in a column.
func (c *compiled) matched(column string, list []string) []string {
	var out []string
	for _, s := range c.sought {
		if !slices.Contains(s.columns, column) {
			continue
		}
		for _, t := range list {
			if s.matches(t) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// columnNames returns the columns of the full-text index.
func columnNames() []string { return []string{"name", "description", "tags", "body"} }
