package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/gloss"
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
	text   string          // as typed
	terms  []term          // different terms, the rarest first, without the commonest
	shares []float64       // shares[i] is the weight of terms[i] as a share of total
	total  float64         // sum of the weights of all terms, unknown ones too
	rarest float64         // the weight of a term that only one skill has
	full   float64         // BM25 of a full match, see enough
	found  *snapshot.Terms // unique, as the set knows them
	place  []int           // of unique: index in terms, or behind these in others; -1 for none

	sequence []string // all terms, in the order of the text
	unique   []string // the different ones, in this order; others stand behind the first maxUnique
	docs     []int    // number of skills that have each of the first of these
	skills   int      // number of skills in the catalog

	// Of a prompt in another language, whose terms are those of its reading in English:
	english string  // the reading; text itself if it has none
	others  []other // what its words may mean else
	first   int     // index of others in unique
	asTyped *prompt // the prompt without the reading, for triggers; nil for one in English
}

// A term is one word of a prompt as the index knows it.
type term struct {
	text string
	docs int     // number of skills that have it
	idf  float64 // weight in BM25, at least 0
	at   int     // index among the different terms of the prompt
}

// newPrompt analyses a text of at most MaxPrompt bytes with a. reading is what its words mean in English, nil
// for an English text. Any text is safe.
func newPrompt(ctx context.Context, a *words.Analyzer, text string, reading *gloss.Reading, v *snapshot.View, leg textLeg) (*prompt, error) {
	p := &prompt{text: text, english: text, rarest: 1}
	if reading != nil {
		p.english = reading.English()
		var err error
		if p.asTyped, err = newPrompt(ctx, a, text, nil, v, leg); err != nil {
			return nil, err
		}
	}
	var unique []string
	has := make(map[string]bool)
	p.sequence = a.Terms(p.english)
	for _, t := range p.sequence {
		if !has[t] {
			has[t] = true
			unique = append(unique, t)
		}
	}
	p.first = min(maxUnique, len(unique))
	p.others = othersOf(a, reading, unique[:p.first])
	for i, o := range p.others {
		unique = slices.Insert(unique, p.first+i, o.text)
	}
	p.found = v.Retriever().Lookup(unique)
	if err := v.Err(); err != nil || len(unique) == 0 {
		return p, err
	}
	docs, all, err := leg.frequencies(ctx, v, unique[:p.first+len(p.others)], p.found)
	if err != nil {
		return nil, err
	}
	p.unique, p.docs, p.skills = unique, docs, all
	weighed, docs := unique[:p.first], p.frequencies()
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
	p.placeOthers()
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
	var list []string
	for at := range p.counted() {
		list = append(list, `"`+p.unique[at]+`"`) // terms have no quotes
	}
	return strings.Join(list, " OR ")
}

// nameWords returns how many words the name of skill i has, and how many of them
// occur in the prompt.
func (p *prompt) nameWords(v *snapshot.View, i int) (found, all int) {
	in, _, ends := v.Retriever().Head(p.found, i, 1)
	return p.matches(in), ends[0]
}

// nameShare returns the share of the prompt's weight that the name of skill i covers:
// much in a short prompt, little in a long one.
func (p *prompt) nameShare(v *snapshot.View, i int) (share float64) {
	has := p.present(v, i)
	for at, x := range p.shares {
		share += x * p.covered(at, has[:1])
	}
	return share
}

// headShare returns the share of the words of the name and the description of skill i that the
// prompt has.
func (p *prompt) headShare(v *snapshot.View, i int) float64 {
	in, _, ends := v.Retriever().Head(p.found, i, 2)
	return float64(p.matches(in)) / float64(max(1, ends[1]))
}

// coverage returns the share of the prompt's weight that the name, description and
// tags of skill i cover, and as evidence the same weight in units of rarest.
func (p *prompt) coverage(v *snapshot.View, i int) (share, evidence float64) {
	has := p.present(v, i)
	for at, x := range p.shares {
		share += x * p.covered(at, has[:])
	}
	return share, share * p.total / p.rarest
}

// presence holds, for each term of a prompt and then for each of its others, whether the name, the
// description and the tags of a skill have it.
type presence [3][maxTerms + maxOthers]bool

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
		for at := range p.counted() {
			if has[f][p.place[at]] {
				*list = append(*list, p.unique[at])
			}
		}
	}
	return m
}
