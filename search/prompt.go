package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// MaxPrompt is how many bytes of a prompt are read. Pasted logs are longer, but
	// what they are about stands at their start or at their end.
	MaxPrompt = 64 << 10
	// maxUnique is how many different terms of a prompt get a weight.
	maxUnique = 512
	// maxTerms is how many terms are searched for. For long prompts the rarest 25
	// ranked better than all of them (Hit@1 .667 against .640), and 12 ranked worse.
	maxTerms = 25
	// enough is the share of the terms that must match for a full match: a long prompt
	// also says what no skill is about. If it is not about any skill of the catalog, the
	// best match is a single word: divided by itself it would count as much as a match of
	// all words.
	enough = .2
	// fewSkills is the size below which a catalog says nothing about how common a
	// word is. Words are weighed as if a smaller catalog had as many skills.
	fewSkills = 20
)

// A prompt is a text prepared for both legs.
type prompt struct {
	text   string
	terms  []term          // different terms, the rarest first, without the commonest
	shares []float64       // shares[i] is the weight of terms[i] as a share of total
	total  float64         // sum of the weights of all terms, unknown ones too
	rarest float64         // the weight of a term that only one skill has
	full   float64         // BM25 of a full match, see enough
	found  *snapshot.Terms // unique, as the set knows them
	place  []int           // of unique: index in terms; -1 for none

	sequence []string // all terms, in the order of the text
	unique   []string // the different ones, in this order
	docs     []int    // number of skills that have each of the first of these
	skills   int      // number of skills in the catalog
}

// A term is one word of a prompt as the index knows it.
type term struct {
	text string
	docs int     // number of skills that have it
	idf  float64 // weight in BM25, at least 0
	at   int     // index among the different terms of the prompt
}

// newPrompt analyses a text of at most MaxPrompt bytes with a. Any text is safe.
func newPrompt(ctx context.Context, a *words.Analyzer, text string, v *snapshot.View, leg textLeg) (*prompt, error) {
	p := &prompt{text: text, rarest: 1}
	var unique []string
	has := make(map[string]bool)
	p.sequence = a.Terms(p.text)
	for _, t := range p.sequence {
		if !has[t] {
			has[t] = true
			unique = append(unique, t)
		}
	}
	p.found = v.Retriever().Lookup(unique)
	if err := v.Err(); err != nil || len(unique) == 0 {
		return p, err
	}
	weighed := unique[:min(maxUnique, len(unique))]
	docs, all, err := leg.frequencies(ctx, v, weighed, p.found)
	if err != nil {
		return nil, err
	}
	p.unique, p.docs, p.skills = unique, docs, all
	single := snapshot.InverseFrequency(1, all)
	all = max(all, fewSkills)
	p.rarest = snapshot.InverseFrequency(1, all)
	for i, t := range weighed {
		// A term that no skill has weighs as much as a term that one skill has: the
		// prompt says something that the catalog does not know.
		// Only a number says nothing: no skill is about 15, and many are about sums.
		if docs[i] == 0 && isNumber(t) {
			continue
		}
		idf := snapshot.InverseFrequency(max(docs[i], 1), all)
		p.total += idf
		if docs[i] > 0 {
			p.terms = append(p.terms, term{text: t, docs: docs[i], idf: idf, at: i})
		}
	}
	p.choose(all)
	p.full = enough * float64(len(p.terms)) * single
	p.place = slices.Repeat([]int{-1}, len(unique))
	for n, t := range p.terms {
		p.place[t.at] = n
	}
	return p, nil
}

// isNumber reports whether a term is a number or begins as one, such as 15 or 20th.
func isNumber(term string) bool { return term[0] >= '0' && term[0] <= '9' }

// choose keeps the rarest terms. A term that most skills have weighs nothing, but
// costs a visit to all of them: it is kept only if there is no other.
func (p *prompt) choose(all int) {
	slices.SortStableFunc(p.terms, func(a, b term) int { return cmp.Compare(a.docs, b.docs) })
	keep := 0
	for keep < min(maxTerms, len(p.terms)) && (2*p.terms[keep].docs < all || keep == 0) {
		keep++
	}
	p.terms = p.terms[:keep]
	p.shares = make([]float64, keep)
	for i, t := range p.terms {
		p.shares[i] = t.idf / max(p.total, 1e-9)
	}
}

// query returns the query for FTS5; "" means that there is nothing to search for.
func (p *prompt) query() string {
	list := make([]string, len(p.terms))
	for i, t := range p.terms {
		list[i] = `"` + t.text + `"` // terms have no quotes
	}
	return strings.Join(list, " OR ")
}

// nameWords returns how many words the name of skill i has, and how many of them
// occur in the prompt.
func (p *prompt) nameWords(v *snapshot.View, i int) (found, all int) {
	in, _, ends := v.Retriever().Head(p.found, i, 1)
	return len(in), ends[0]
}

// nameShare returns the share of the prompt's weight that the name of skill i covers:
// much in a short prompt, little in a long one.
func (p *prompt) nameShare(v *snapshot.View, i int) (share float64) {
	has := p.present(v, i)
	for at, x := range p.shares {
		if has[0][at] {
			share += x
		}
	}
	return share
}

// headShare returns the share of the words of the name and the description of skill i that the
// prompt has.
func (p *prompt) headShare(v *snapshot.View, i int) float64 {
	in, _, ends := v.Retriever().Head(p.found, i, 2)
	return float64(len(in)) / float64(max(1, ends[1]))
}

// coverage returns the share of the prompt's weight that the name, description and
// tags of skill i cover, and as evidence the same weight in units of rarest.
func (p *prompt) coverage(v *snapshot.View, i int) (share, evidence float64) {
	has := p.present(v, i)
	for at, x := range p.shares {
		if has[0][at] || has[1][at] || has[2][at] {
			share += x
		}
	}
	return share, share * p.total / p.rarest
}

// presence holds, for each term of a prompt, whether the name, the description and
// the tags of a skill have it.
type presence [3][maxTerms]bool

// present compares the prompt with skill i.
func (p *prompt) present(v *snapshot.View, i int) (has presence) {
	found, ends, _ := v.Retriever().Head(p.found, i, 3)
	start := 0
	for f, end := range ends {
		for _, unique := range found[start:end] {
			if at := p.place[unique]; at >= 0 {
				has[f][at] = true
			}
		}
		start = end
	}
	return has
}

// matchedBy returns the terms of the prompt that skill i has, by field.
func (p *prompt) matchedBy(v *snapshot.View, i int) (m Matched) {
	has := p.present(v, i)
	for f, list := range []*[]string{&m.Name, &m.Description, &m.Tags} {
		for at, t := range p.terms {
			if has[f][at] {
				*list = append(*list, t.text)
			}
		}
	}
	return m
}
