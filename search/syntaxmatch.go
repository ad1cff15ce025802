package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// maxRead is how many skills one query may read from the store. It bounds the work that a
// query can cause; few queries have that many candidates.
const maxRead = 2000

// A matcher answers a query from the snapshots, for a store without a query language.
//
// The snapshots know which skills have a term, and for names, descriptions and tags in
// which column. So each part of a query has bounds: the skills that match it for certain,
// and those that may match it. Of the others, the text decides. The matcher ranks all
// that may match, and reads the texts in this order, only as many as the answer needs.
//
// The rank is BM25. A phrase counts as often as its rarest term, and a term that is
// searched for in some columns counts in all of them.
type matcher struct {
	ctx      context.Context
	x        *Searcher
	v        *snapshot.View
	root     expr
	analyzer *words.Analyzer

	known  map[expr]*bounds
	leaves map[string]*leaf // by columns and text
	order  []*leaf          // so that scores are added in the same order each time

	ranked []snapshot.Hit // all that may match, best first
	found  []snapshot.Hit // matches among ranked[:next]
	next   int
	read   int   // how many skills were read from the store
	lost   error // why the store cannot be read; then all that may match count
}

// bounds say, by segment, which skills match a part of a query.
type bounds struct{ must, may []snapshot.Bitmap }

// A leaf is a part of a query without parts, in some columns.
type leaf struct {
	bounds
	of     *nearExpr
	docs   int                 // how many skills may match
	scored [][]snapshot.Bitmap // in which skills it counts, once for each time that the query has it
}

// newMatcher returns the matcher of a query, which must not outlive the view.
func (x *Searcher) newMatcher(ctx context.Context, v *snapshot.View, c *compiled) (*matcher, error) {
	m := &matcher{ctx: ctx, x: x, v: v, root: c.root, analyzer: new(words.Analyzer), known: make(map[expr]*bounds), leaves: make(map[string]*leaf)}
	all := m.boundsOf(m.root, columnNames())
	if err := cmp.Or(ctx.Err(), v.Err()); err != nil {
		return nil, err
	}
	m.root.score(m, columnNames(), all.may)
	m.rank(all.may)
	return m, cmp.Or(ctx.Err(), v.Err())
}

// find returns the k best matches.
func (m *matcher) find(k int) ([]snapshot.Hit, error) {
	for ; len(m.found) < k && m.next < len(m.ranked) && m.read <= maxRead; m.next++ {
		h := m.ranked[m.next]
		ok := m.lost != nil || within(m.v, m.known[m.root].must, h.Doc)
		if !ok {
			var err error
			if ok, err = m.holds(h.Doc); err != nil {
				return nil, err
			}
		}
		if ok {
			m.found = append(m.found, h)
		}
	}
	return m.found[:min(k, len(m.found))], nil
}

// mode says what the answer is based on.
func (m *matcher) mode() string {
	switch {
	case m.lost != nil:
		return "syntax (words only: the texts cannot be read now)"
	case m.read > maxRead && m.next < len(m.ranked):
		return fmt.Sprintf("syntax (the best %d of %d candidates)", m.next, len(m.ranked))
	}
	return "syntax"
}

// holds reports whether the text of a skill matches.
func (m *matcher) holds(i int) (bool, error) {
	t := &skillText{m: m, i: i}
	ok := m.root.holds(t, columnNames())
	switch err := cmp.Or(m.ctx.Err(), m.v.Err()); {
	case err != nil:
		return false, err
	case t.err == nil:
		return ok && !t.gone, nil
	case errors.Is(t.err, store.ErrDamaged), errors.Is(t.err, store.ErrStale), errors.Is(t.err, store.ErrClosed):
		return false, t.err
	}
	m.lost = t.err
	return true, nil
}

// rank sorts the skills of the scope that may match.
func (m *matcher) rank(may []snapshot.Bitmap) {
	scores := make([][]float64, len(may))
	for n := range may {
		scores[n] = make([]float64, 64*len(may[n]))
	}
	for _, f := range m.order {
		m.addScores(scores, f)
	}
	m.v.Segments(func(n int, _ *snapshot.Reader, _ snapshot.Bitmap) error {
		first := m.v.Number(n, 0)
		for doc := range may[n].All() {
			if m.v.Scope().Searches(first + doc) {
				m.ranked = append(m.ranked, snapshot.Hit{Doc: first + doc, Score: scores[n][doc]})
			}
		}
		return nil
	})
	slices.SortFunc(m.ranked, func(a, b snapshot.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
}

// addScores adds what a leaf contributes to the scores.
func (m *matcher) addScores(scores [][]float64, f *leaf) {
	if len(f.scored) == 0 {
		return
	}
	idf := snapshot.InverseFrequency(f.docs, m.v.Size())
	m.v.Segments(func(n int, r *snapshot.Reader, live snapshot.Bitmap) error {
		counts, _, err := m.counts(r, live, f.of)
		if err != nil {
			return err
		}
		for _, sets := range f.scored {
			for doc := range sets[n].All() {
				scores[n][doc] += snapshot.Score(counts[doc], idf)
			}
		}
		return nil
	})
}

// counts returns how often each document of a segment has all terms of a leaf: as often as
// the rarest of them. last are the terms that stand for the last of them.
func (m *matcher) counts(r *snapshot.Reader, live snapshot.Bitmap, e *nearExpr) (counts []float32, last []snapshot.Term, err error) {
	for _, s := range e.of {
		for _, t := range s.terms {
			if t.prefix {
				last, err = r.Beginning(t.text)
			} else {
				last, err = r.Lookup(nil, []string{t.text})
			}
			if err = cmp.Or(m.ctx.Err(), err); err != nil {
				return nil, nil, err
			}
			one := make([]float32, 64*len(live))
			for _, t := range last {
				if err := r.Occurrences(one, t); err != nil {
					return nil, nil, err
				}
			}
			if counts == nil {
				counts = one
			}
			for doc, x := range one {
				counts[doc] = min(counts[doc], x)
			}
		}
	}
	return counts, last, nil
}

// boundsOf returns the bounds of an expression in some columns.
func (m *matcher) boundsOf(e expr, columns []string) *bounds {
	if m.known[e] == nil {
		m.known[e] = e.bounds(m, columns)
	}
	return m.known[e]
}

// combine calls f with the two sets of each segment, and returns its results.
func combine(a, b []snapshot.Bitmap, f func(a, b snapshot.Bitmap) snapshot.Bitmap) []snapshot.Bitmap {
	out := make([]snapshot.Bitmap, len(a))
	for n := range a {
		out[n] = f(a[n], b[n])
	}
	return out
}

func (e *joinedExpr) bounds(m *matcher, columns []string) *bounds {
	f := snapshot.Bitmap.And
	if e.operator == or {
		f = snapshot.Bitmap.Or
	}
	all := m.boundsOf(e.of[0], columns)
	for _, x := range e.of[1:] {
		b := m.boundsOf(x, columns)
		all = &bounds{combine(all.must, b.must, f), combine(all.may, b.may, f)}
	}
	return all
}

func (e *exceptExpr) bounds(m *matcher, columns []string) *bounds {
	keep, drop := m.boundsOf(e.keep, columns), m.boundsOf(e.drop, columns)
	return &bounds{combine(keep.must, drop.may, snapshot.Bitmap.AndNot), combine(keep.may, drop.must, snapshot.Bitmap.AndNot)}
}

func (e *columnExpr) bounds(m *matcher, columns []string) *bounds {
	return m.boundsOf(e.of, common(columns, e.columns))
}

func (e *nearExpr) bounds(m *matcher, columns []string) *bounds { return &m.leaf(e, columns).bounds }

// Scores count in the skills in which all of the expression around them may match.

func (e *joinedExpr) score(m *matcher, columns []string, in []snapshot.Bitmap) {
	for _, x := range e.of {
		x.score(m, columns, combine(in, m.boundsOf(x, columns).may, snapshot.Bitmap.And))
	}
}

func (e *exceptExpr) score(m *matcher, columns []string, in []snapshot.Bitmap) {
	e.keep.score(m, columns, in)
}

func (e *columnExpr) score(m *matcher, columns []string, in []snapshot.Bitmap) {
	e.of.score(m, common(columns, e.columns), in)
}

func (e *nearExpr) score(m *matcher, columns []string, in []snapshot.Bitmap) {
	f := m.leaf(e, columns)
	f.scored = append(f.scored, in)
}

// leaf returns the leaf of an expression in some columns.
func (m *matcher) leaf(e *nearExpr, columns []string) *leaf {
	key := strings.Join(columns, " ") + ": " + e.fts()
	if m.leaves[key] == nil {
		f := &leaf{of: e}
		m.v.Segments(func(n int, r *snapshot.Reader, live snapshot.Bitmap) error {
			may, must := make(snapshot.Bitmap, len(live)), make(snapshot.Bitmap, len(live))
			f.may, f.must = append(f.may, may), append(f.must, must)
			counts, terms, err := m.counts(r, live, e)
			if err != nil {
				return err
			}
			for doc := range live.All() {
				if counts[doc] > 0 {
					may.Set(doc)
				}
			}
			if len(e.of) == 1 && len(e.of[0].terms) == 1 && !e.of[0].initial {
				err = narrow(r, terms, columns, may, must)
			}
			f.docs += may.Count()
			return err
		})
		m.leaves[key], m.order = f, append(m.order, f)
	}
	return m.leaves[key]
}

// narrow removes from may the documents that do not have any of the terms in the columns,
// and adds to must those that have. The terms follow each other, and all documents in may
// have one of them.
func narrow(r *snapshot.Reader, terms []snapshot.Term, columns []string, may, must snapshot.Bitmap) error {
	var has [4]bool // name, description, tags, body
	for i, c := range columnNames() {
		has[i] = slices.Contains(columns, c)
	}
	name, description, tags, body := has[0], has[1], has[2], has[3]
	if name && description && tags && body {
		copy(must, may)
		return nil
	}
	var ids []uint32
	for _, doc := range slices.Collect(may.All()) {
		var ends [3]int
		var err error
		if ids, ends, err = r.HeadTerms(ids[:0], doc, 3); err != nil {
			return err
		}
		in := func(list []uint32) bool {
			return slices.ContainsFunc(list, func(id uint32) bool { return terms[0].ID <= id && id <= terms[len(terms)-1].ID })
		}
		inName, shown, inTags := in(ids[:ends[0]]), in(ids[ends[0]:ends[1]]), in(ids[ends[1]:ends[2]])
		// What stands in none of these is in the body, or in the part of the description that is
		// not shown.
		hidden := !inName && !shown && !inTags
		switch {
		case name && inName, description && shown, tags && inTags, description && body && hidden:
			must.Set(doc)
		case !description && !body:
			may.Clear(doc)
		}
	}
	return nil
}
