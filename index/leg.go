package index

import (
	"context"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A textLeg ranks the full text.
type textLeg interface {
	// frequencies returns in how many skills each term occurs, and how many
	// skills there are; found is what the segments know of the terms.
	frequencies(ctx context.Context, in *reading, terms []string, found []segmentTerms) (docs []int, all int, err error)
	// match returns the k skills of the scope that match best, by BM25.
	match(ctx context.Context, in *reading, p *prompt, sc *scope, k int) ([]snapshot.Hit, error)
}

// leg returns what ranks the text of a view.
func (x *Index) leg(v *view) textLeg {
	if v.bodies && !x.opts.FTS5 {
		return compiledLeg{}
	}
	return sqliteLeg{x.db, *x.opts.Weights}
}

// compiledLeg ranks by the postings of the segments. The mean length of a skill is
// that of the first segment, until both are compiled into one.
type compiledLeg struct{}

func (compiledLeg) frequencies(_ context.Context, in *reading, terms []string, found []segmentTerms) ([]int, int, error) {
	docs := make([]int, len(terms))
	for n, r := range in.readers {
		known := found[n].all[:len(terms)]
		for i := range known {
			docs[i] += known[i].Docs
		}
		if gone := in.segments[n].gone; gone != nil {
			// Else a word that one skill has would count twice when that is edited.
			counts, err := r.Among(known, gone)
			if err != nil {
				return nil, 0, err
			}
			for i := range counts {
				docs[i] -= counts[i]
			}
		}
	}
	return docs, in.size(), nil
}

// size returns how many skills count, shadowed ones too.
func (v *view) size() int {
	all := 0
	for n := range v.segments {
		all += v.segments[n].count
	}
	return all
}

func (compiledLeg) match(_ context.Context, in *reading, p *prompt, sc *scope, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	all := in.size()
	return in.best(k, func(n int, r *snapshot.Reader) ([]snapshot.Hit, error) {
		terms := make([]snapshot.Term, 0, len(p.terms))
		for _, t := range p.terms {
			if found := p.segments[n].all[t.at]; found.Docs > 0 {
				found.IDF = snapshot.InverseFrequency(t.docs, all)
				terms = append(terms, found)
			}
		}
		return r.Search(terms, sc.searched[n], k)
	}), nil
}

// sqliteLeg ranks by FTS5, which knows all that is in the catalog now.
type sqliteLeg struct {
	db      *store.DB
	weights store.Weights
}

func (l sqliteLeg) frequencies(ctx context.Context, _ *reading, terms []string, _ []segmentTerms) ([]int, int, error) {
	found, all, err := l.db.Frequencies(ctx, terms)
	docs := make([]int, len(terms))
	for i, t := range terms {
		docs[i] = found[t]
	}
	return docs, all, err
}

func (l sqliteLeg) match(ctx context.Context, in *reading, p *prompt, sc *scope, k int) ([]snapshot.Hit, error) {
	if len(p.terms) == 0 {
		return nil, nil
	}
	return l.find(ctx, in, p.query(), sc, k)
}

// find returns the k best matches of a query of FTS5.
func (l sqliteLeg) find(ctx context.Context, in *reading, query string, sc *scope, k int) ([]snapshot.Hit, error) {
	var rows []int64 // nil for all
	if !sc.all {
		rows = in.rows(sc)
	}
	matches, err := l.db.Match(ctx, query, l.weights, rows, k)
	var hits []snapshot.Hit
	for _, m := range matches {
		// A skill that was added after the view was made waits for the next.
		if i, ok := in.numbered(m.ID); ok && sc.searches(i) {
			hits = append(hits, snapshot.Hit{Doc: i, Score: m.Score})
		}
	}
	return hits, err
}

// rows returns the row IDs of what is searched in a scope.
func (in *reading) rows(sc *scope) []int64 {
	rows := make([]int64, 0, sc.visible)
	in.each(func(i int) {
		if sc.searches(i) {
			rows = append(rows, in.facts(i).Row)
		}
	})
	return rows
}

// numbered returns the skill of a row.
func (in *reading) numbered(row int64) (i int, ok bool) {
	for n := len(in.readers) - 1; n >= 0; n-- {
		doc, ok, err := in.readers[n].Ordinal(row)
		in.note(err)
		if ok && in.segments[n].live.Has(doc) {
			return in.segments[n].first + doc, true
		}
	}
	return 0, false
}
