package query

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A translator turns the words of a query into the terms of the index.
type translator struct {
	analyzer  *words.Analyzer
	unindexed []part   // parts whose words are all too common to be indexed
	sought    []Sought // in the order of the query
}

// common returns the columns that are in both lists.
func common(columns, others []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !slices.Contains(others, c) })
}

// near returns phrases as they are in the index, near each other; nil if none of their words is
// indexed. columns are the columns in which they are sought, nil if they are excluded. The index
// holds git, hub and github for "GitHub", but only github for "github". So an identifier is
// searched for as a whole. After another word, or at the start of a column, its parts stand in
// the way: there it is also searched for with its parts.
func (t *translator) near(phrases []phrase, distance int, columns []string) expr {
	whole, parts := &nearExpr{distance: distance}, &nearExpr{distance: distance}
	differ := false
	for _, p := range phrases {
		list := t.terms(p)
		if len(list) == 0 {
			t.unindexed = append(t.unindexed, p.parts...)
			continue
		}
		t.seek(list, columns)
		if len(phrases) == 1 && len(list) == 1 && list[0].start {
			return startsWith(p, list[0].word)
		}
		w, all, inside := p.variants(list)
		whole.of, parts.of = append(whole.of, w), append(parts.of, all)
		differ = differ || inside
	}
	switch {
	case len(whole.of) == 0:
		return nil
	case differ:
		return joined(or, []expr{whole, parts})
	}
	return whole
}

// seek notes the terms of a phrase as sought in some columns; none if that is nil.
func (t *translator) seek(list []queryTerm, columns []string) {
	for _, q := range list {
		switch {
		case q.inner || columns == nil:
		case q.start:
			t.sought = append(t.sought, Sought{Prefix: q.word, stems: stemsOf(q.word), Columns: columns})
		default:
			t.sought = append(t.sought, Sought{Term: q.term, Columns: columns})
		}
	}
}

// startsWith returns a search for all words that begin with start. A prefix search
// alone would miss some, because the index holds stems: "organize" is there as
// "organ".
func startsWith(p phrase, start string) expr {
	one := func(t indexTerm) expr { return &nearExpr{of: []sequence{{p.initial, []indexTerm{t}}}} }
	list := []expr{one(indexTerm{start, true})}
	for _, stem := range stemsOf(start) {
		list = append(list, one(indexTerm{stem, false}))
	}
	return joined(or, list)
}

// variants returns a phrase twice: with identifiers as a whole, and with their parts
// too. inside reports whether the second form finds more.
func (p phrase) variants(list []queryTerm) (whole, parts sequence, inside bool) {
	whole.initial, parts.initial = p.initial, p.initial
	for _, x := range list {
		t := x.indexed()
		if x.inner {
			inside = inside || p.initial || len(whole.terms) > 0
		} else {
			whole.terms = append(whole.terms, t)
		}
		parts.terms = append(parts.terms, t)
	}
	return whole, parts, inside
}

// A queryTerm is a term of a phrase.
type queryTerm struct {
	term  string
	word  string // what it was made from, in lower case
	inner bool   // a part of the identifier that follows it
	start bool   // the start of a word, a prefix
}

// indexed returns the search for one term. For the start of a word it searches for the
// common start of all its stems. That finds a little too much, which is rare in a
// phrase.
func (q queryTerm) indexed() indexTerm {
	if !q.start {
		return indexTerm{q.term, false}
	}
	start := q.word
	for _, stem := range stemsOf(q.word) {
		for !strings.HasPrefix(stem, start) {
			start = start[:len(start)-1] // stemsOf is for ASCII only
		}
	}
	return indexTerm{start, true}
}

// terms returns the terms of a phrase, without words that are not indexed.
func (t *translator) terms(p phrase) []queryTerm {
	var out []queryTerm
	for _, part := range p.parts {
		list := t.words(part.text)
		if last := len(list) - 1; last >= 0 && part.prefix {
			list[last].start = true
			// The identifier may go on with more parts, so drop the parts that are here.
			whole := last
			for whole > 0 && list[whole-1].inner {
				whole--
			}
			list = slices.Delete(list, whole, last)
		}
		for _, q := range list {
			if q.start || q.term != "" {
				out = append(out, q)
			}
		}
	}
	return out
}

// words splits a text into terms. A stop word has an empty term.
func (t *translator) words(text string) []queryTerm {
	var out []queryTerm
	var sizes []int
	words.Split(text, func(word string, kind words.Kind) {
		q := queryTerm{term: t.analyzer.Term(word, kind), word: tidy.Cut(words.Lower(word), words.MaxTerm)}
		if kind == words.Whole && q.term != "" {
			// The whole follows its parts, which together are as long as it is.
			for i, n := len(out)-1, len(word); i >= 0 && n > 0; i-- {
				out[i].inner = true
				n -= sizes[i]
			}
		}
		out, sizes = append(out, q), append(sizes, len(word))
	})
	// In scripts without spaces the index holds pairs of characters: search for a
	// single character as the first of a pair.
	if last := len(out) - 1; last >= 0 {
		if r := []rune(out[last].word); len(r) == 1 && words.Dense(r[0]) {
			out[last].start = true
		}
	}
	return out
}

// endings are endings of English words that stemming removes or changes: enough of
// them to find the stems of all words that begin in a certain way.
var endings = strings.Fields(`s es ed ing y ies e er ion ions ation ations ational ate ated ating ator ative al ally ality able ible ability bility bilities
	ity ities ize ized izing izer ization ment ments ness ous ously ousness ive iveness ivity ful fulness ance ence ant ent ently ic ical icate ism ist li ly`)

// stemsOf returns stems that do not begin with start although their words do, such as
// "organ" for "organize".
func stemsOf(start string) []string {
	if len(start) < 3 || strings.ContainsFunc(start, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return nil
	}
	var a words.Analyzer
	var out []string
	add := func(word string) {
		if s := a.Term(word, words.Word); s != "" && !strings.HasPrefix(s, start) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(start)
	for _, e := range endings {
		for k := range len(e) {
			if strings.HasSuffix(start, e[:k]) { // k letters of the ending are there already
				add(start + e[k:])
			}
		}
	}
	return out
}
