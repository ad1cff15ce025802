package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// maxRead is how many skills one query may read from the store. It bounds the work that a
// query can cause; few queries have that many candidates.
const maxRead = 2000

// Texts is what a Matcher reads of a store.
type Texts interface {
	// Skill returns the skill at a row; ok is false if there is none.
	Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error)
}

// A Matcher answers a query from the snapshots, for a store without a query language.
//
// The snapshots know which skills have a term, and for names, descriptions and tags in
// which column. So each part of a query has bounds: the skills that match it for certain,
// and those that may match it. Of the others, the text decides. The matcher ranks all
// that may match, and reads the texts in this order, only as many as the answer needs.
//
// The rank is BM25. A phrase counts as often as its rarest term, and a term that is
// searched for in some columns counts in all of them.
type Matcher struct {
	ctx      context.Context
	texts    Texts
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

// bounds say which skills match a part of a query.
type bounds struct{ must, may snapshot.Skills }

// A leaf is a part of a query without parts, in some columns.
type leaf struct {
	bounds
	of     *nearExpr
	docs   int               // how many skills may match
	scored []snapshot.Skills // in which skills it counts, once for each time that the query has it
}

// Match returns the Matcher of the query in a view, which it must not outlive.
func (q *Query) Match(ctx context.Context, v *snapshot.View, texts Texts) (*Matcher, error) {
	m := &Matcher{ctx: ctx, texts: texts, v: v, root: q.root, analyzer: new(words.Analyzer), known: make(map[expr]*bounds), leaves: make(map[string]*leaf)}
	all := m.boundsOf(m.root, columnNames())
	if err := cmp.Or(ctx.Err(), v.Err()); err != nil {
		return nil, err
	}
	m.root.score(m, columnNames(), all.may)
	m.rank(all.may)
	return m, cmp.Or(ctx.Err(), v.Err())
}

// Find returns the k best matches.
func (m *Matcher) Find(k int) ([]snapshot.Hit, error) {
	for ; len(m.found) < k && m.next < len(m.ranked) && m.read <= maxRead; m.next++ {
		h := m.ranked[m.next]
		ok := m.lost != nil || m.known[m.root].must.Has(h.Doc)
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

// Mode says what the answer is based on.
func (m *Matcher) Mode() string {
	switch {
	case m.lost != nil:
		return "syntax (words only: the texts cannot be read now)"
	case m.read > maxRead && m.next < len(m.ranked):
		return fmt.Sprintf("syntax (the best %d of %d candidates)", m.next, len(m.ranked))
	}
	return "syntax"
}

// holds reports whether the text of a skill matches.
func (m *Matcher) holds(i int) (bool, error) {
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
func (m *Matcher) rank(may snapshot.Skills) {
	scores := make([]float64, 64*len(may))
	for _, f := range m.order {
		m.addScores(scores, f)
	}
	for i := range may.And(m.v.Scope.Offered).All() {
		m.ranked = append(m.ranked, snapshot.Hit{Doc: i, Score: scores[i]})
	}
	slices.SortFunc(m.ranked, func(a, b snapshot.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
}

// addScores adds what a leaf contributes to the scores.
func (m *Matcher) addScores(scores []float64, f *leaf) {
	if len(f.scored) == 0 {
		return
	}
	idf := snapshot.InverseFrequency(f.docs, m.v.Set.Size())
	counts, _ := m.counts(f.of)
	for _, set := range f.scored {
		for i := range set.All() {
			scores[i] += m.v.Retriever().Score(counts[i], idf)
		}
	}
}

// counts returns how often each skill has all terms of a leaf: as often as the rarest of
// them. last are the terms that stand for the last of them.
func (m *Matcher) counts(e *nearExpr) (counts []float32, last *snapshot.Terms) {
	words := m.v.Retriever()
	for _, s := range e.of {
		for _, t := range s.terms {
			if t.prefix {
				last = words.Beginning(t.text)
			} else {
				last = words.Lookup([]string{t.text})
			}
			one := words.Occurrences(last)
			if counts == nil {
				counts = one
			}
			for i, x := range one {
				counts[i] = min(counts[i], x)
			}
		}
	}
	return counts, last
}

// boundsOf returns the bounds of an expression in some columns.
func (m *Matcher) boundsOf(e expr, columns []string) *bounds {
	if m.known[e] == nil {
		m.known[e] = e.bounds(m, columns)
	}
	return m.known[e]
}

func (e *joinedExpr) bounds(m *Matcher, columns []string) *bounds {
	f := snapshot.Skills.And
	if e.operator == or {
		f = snapshot.Skills.Or
	}
	all := m.boundsOf(e.of[0], columns)
	for _, x := range e.of[1:] {
		b := m.boundsOf(x, columns)
		all = &bounds{f(all.must, b.must), f(all.may, b.may)}
	}
	return all
}

func (e *exceptExpr) bounds(m *Matcher, columns []string) *bounds {
	keep, drop := m.boundsOf(e.keep, columns), m.boundsOf(e.drop, columns)
	return &bounds{keep.must.AndNot(drop.may), keep.may.AndNot(drop.must)}
}

func (e *columnExpr) bounds(m *Matcher, columns []string) *bounds {
	return m.boundsOf(e.of, common(columns, e.columns))
}

func (e *nearExpr) bounds(m *Matcher, columns []string) *bounds { return &m.leaf(e, columns).bounds }

// Scores count in the skills in which all of the expression around them may match.

func (e *joinedExpr) score(m *Matcher, columns []string, in snapshot.Skills) {
	for _, x := range e.of {
		x.score(m, columns, in.And(m.boundsOf(x, columns).may))
	}
}

func (e *exceptExpr) score(m *Matcher, columns []string, in snapshot.Skills) {
	e.keep.score(m, columns, in)
}

func (e *columnExpr) score(m *Matcher, columns []string, in snapshot.Skills) {
	e.of.score(m, common(columns, e.columns), in)
}

func (e *nearExpr) score(m *Matcher, columns []string, in snapshot.Skills) {
	f := m.leaf(e, columns)
	f.scored = append(f.scored, in)
}

// leaf returns the leaf of an expression in some columns.
func (m *Matcher) leaf(e *nearExpr, columns []string) *leaf {
	key := strings.Join(columns, " ") + ": " + e.fts()
	if m.leaves[key] == nil {
		f := &leaf{of: e}
		m.leaves[key], m.order = f, append(m.order, f)
		if m.ctx.Err() != nil {
			return f
		}
		counts, terms := m.counts(e)
		for i := range m.v.Whole().Scope.In.All() {
			if counts[i] > 0 {
				f.may.Add(i)
			}
		}
		if len(e.of) == 1 && len(e.of[0].terms) == 1 && !e.of[0].initial {
			m.narrow(&f.bounds, terms, columns)
		}
		f.docs = f.may.Count()
	}
	return m.leaves[key]
}

// narrow removes from b.may the skills that do not have any of the terms in the columns, and
// adds to b.must those that have. All skills in b.may have one of the terms.
func (m *Matcher) narrow(b *bounds, terms *snapshot.Terms, columns []string) {
	var has [4]bool // name, description, tags, body
	for i, c := range columnNames() {
		has[i] = slices.Contains(columns, c)
	}
	name, description, tags, body := has[0], has[1], has[2], has[3]
	if name && description && tags && body {
		b.must = b.may
		return
	}
	var not snapshot.Skills
	for i := range b.may.All() {
		_, ends, _ := m.v.Retriever().Head(terms, i, 3)
		inName, shown, inTags := ends[0] > 0, ends[1] > ends[0], ends[2] > ends[1]
		// What stands in none of these is in the body, or in the part of the description that is
		// not shown.
		hidden := !inName && !shown && !inTags
		switch {
		case name && inName, description && shown, tags && inTags, description && body && hidden:
			b.must.Add(i)
		case !description && !body:
			not.Add(i)
		}
	}
	b.may = b.may.AndNot(not)
}

// A skillText is the text of one skill, in terms. It reads the skill from the store only
// if the name, the visible description and the tags do not decide.
type skillText struct {
	m      *Matcher
	i      int
	fields *skill.Fields // nil until they are needed
	whole  bool          // fields come from the store
	gone   bool          // the skill is not in the store any more
	err    error         // of the store
}

// head returns the terms that need not be read from the store, by columnNames.
func (t *skillText) head() [][]string {
	if t.fields == nil {
		f := (&skill.Skill{Meta: t.m.v.Doc(t.i).Meta}).Fields(t.m.analyzer)
		t.fields = &f
	}
	return [][]string{t.fields.Name, t.fields.Description, t.fields.Tags, nil}
}

// all returns the terms of all columns, by columnNames; nil if they cannot be read.
func (t *skillText) all() [][]string {
	if !t.whole && t.err == nil && !t.gone {
		t.load()
	}
	if !t.whole {
		return nil
	}
	return [][]string{t.fields.Name, t.fields.Description, t.fields.Tags, t.fields.Body}
}

// load reads the skill from the store.
func (t *skillText) load() {
	t.m.read++
	s, ok, err := t.m.texts.Skill(t.m.ctx, t.m.v.Facts(t.i).Row)
	if err != nil || !ok {
		t.err, t.gone = err, !ok
		return
	}
	s.WhenToUse = skill.WhenToUse(s.Frontmatter)
	f := s.Fields(t.m.analyzer)
	t.fields, t.whole = &f, true
}

func (e *joinedExpr) holds(t *skillText, columns []string) bool {
	for _, x := range e.of {
		if x.holds(t, columns) == (e.operator == or) {
			return e.operator == or
		}
	}
	return e.operator == and
}

func (e *exceptExpr) holds(t *skillText, columns []string) bool {
	return e.keep.holds(t, columns) && !e.drop.holds(t, columns)
}

func (e *columnExpr) holds(t *skillText, columns []string) bool {
	return e.of.holds(t, common(columns, e.columns))
}

func (e *nearExpr) holds(t *skillText, columns []string) bool {
	if e.inAny(t.head(), columns) {
		return true
	}
	unread := slices.Contains(columns, "description") || slices.Contains(columns, "body")
	return unread && e.inAny(t.all(), columns)
}

// inAny reports whether one of the columns has the sequences near each other.
func (e *nearExpr) inAny(text [][]string, columns []string) bool {
	for i, list := range text {
		if slices.Contains(columns, columnNames()[i]) && e.in(list) {
			return true
		}
	}
	return false
}

// in reports whether a list of terms has the sequences near each other: between the end of
// each and the start of the last there are at most e.distance terms. They may overlap.
func (e *nearExpr) in(list []string) bool {
	places := make([][]int, len(e.of))
	for n, s := range e.of {
		if places[n] = s.places(list); len(places[n]) == 0 {
			return false
		}
	}
	for _, starts := range places {
		for _, last := range starts {
			if e.near(places, last) {
				return true
			}
		}
	}
	return false
}

// near reports whether each sequence starts at or shortly before last.
func (e *nearExpr) near(places [][]int, last int) bool {
	for n, starts := range places {
		least := last - len(e.of[n].terms) - e.distance
		if i, _ := slices.BinarySearch(starts, least); len(e.of) > 1 && (i == len(starts) || starts[i] > last) {
			return false
		}
	}
	return true
}

// places returns where a sequence starts in a list of terms.
func (s sequence) places(list []string) []int {
	var out []int
	for at := 0; at+len(s.terms) <= len(list) && !(s.initial && at > 0); at++ {
		if s.startsAt(list[at:]) {
			out = append(out, at)
		}
	}
	return out
}

// startsAt reports whether a list, which is long enough, begins with the sequence.
func (s sequence) startsAt(list []string) bool {
	for i, t := range s.terms {
		if list[i] != t.text && !(t.prefix && strings.HasPrefix(list[i], t.text)) {
			return false
		}
	}
	return true
}
