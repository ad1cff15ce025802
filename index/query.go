package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxPrompt is how many bytes of a prompt are read: pasted logs are longer,
	// and what they are about stands at their start or at their end.
	maxPrompt = 64 << 10
	// maxUnique is how many different terms of a prompt are weighed.
	maxUnique = 512
	// maxTerms is how many terms are searched for. Of a long prompt the rarest
	// 25 ranked better than all of them (Hit@1 .667 against .640), 12 worse.
	maxTerms = 25
	// fewSkills is the size below which a catalog says nothing about how common
	// a word is: its words are weighed as if it had as many.
	fewSkills = 20
)

// A prompt is a text prepared for both legs.
type prompt struct {
	text   string
	terms  []term             // different terms by rising frequency, the commonest left out
	has    map[string]bool    // all its terms, for the coverage of names
	total  float64            // sum of the weights of all its terms, unknown ones too
	rarest float64            // the weight of a term that one skill has
	share  map[string]float64 // of total, of each of terms
	query  string             // of FTS5, "" when there is nothing to search for
}

// A term is one word of a prompt as the index knows it.
type term struct {
	text string
	docs int     // number of skills that have it
	idf  float64 // as BM25 weighs it, never below 0
}

// frequencies tells in how many of all skills each term occurs.
type frequencies func(ctx context.Context, terms []string) (map[string]int, int, error)

// newPrompt analyses text with a; any text is safe.
func newPrompt(ctx context.Context, a *analyzer, text string, count frequencies) (*prompt, error) {
	p := &prompt{text: clip(text), has: make(map[string]bool), rarest: 1}
	var unique []string
	for _, t := range a.terms(p.text) {
		if !p.has[t] && len(unique) < maxUnique {
			unique = append(unique, t)
		}
		p.has[t] = true
	}
	if len(unique) == 0 {
		return p, nil
	}
	docs, all, err := count(ctx, unique)
	if err != nil {
		return nil, err
	}
	all = max(all, fewSkills)
	p.rarest = inverseFrequency(1, all)
	for _, t := range unique {
		idf := inverseFrequency(docs[t], all)
		p.total += idf
		if docs[t] > 0 {
			p.terms = append(p.terms, term{text: t, docs: docs[t], idf: idf})
		}
	}
	p.choose(all)
	return p, nil
}

// choose keeps the rarest terms. A term that most skills have weighs nothing,
// but costs a visit of all of them: it is searched for only when there is no
// other.
func (p *prompt) choose(all int) {
	slices.SortStableFunc(p.terms, func(a, b term) int { return cmp.Compare(a.docs, b.docs) })
	keep := 0
	for keep < min(maxTerms, len(p.terms)) && (2*p.terms[keep].docs < all || keep == 0) {
		keep++
	}
	p.terms = p.terms[:keep]
	p.share = make(map[string]float64, keep)
	quoted := make([]string, keep)
	for i, t := range p.terms {
		p.share[t.text] = t.idf / max(p.total, 1e-9)
		quoted[i] = `"` + t.text + `"` // terms hold letters, digits and marks only
	}
	p.query = strings.Join(quoted, " OR ")
}

// inverseFrequency is the weight of a term in BM25, which SQLite computes in
// the same way. A term that no skill has weighs as much as one that one has:
// the prompt says something that the catalog does not know.
func inverseFrequency(docs, all int) float64 {
	n := float64(max(docs, 1))
	return max(0, math.Log((float64(all)-n+.5)/(n+.5)))
}

// clip keeps the start and the end of an overlong text.
func clip(s string) string {
	if len(s) <= maxPrompt {
		return s
	}
	head, tail := s[:maxPrompt*3/4], s[len(s)-maxPrompt/4:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return strings.ToValidUTF8(head, "") + " " + tail
}

// nameCoverage returns the share of the words of a name that the prompt has.
func (p *prompt) nameCoverage(name []string) float64 {
	if len(name) == 0 {
		return 0
	}
	n := 0
	for _, t := range name {
		if p.has[t] {
			n++
		}
	}
	return float64(n) / float64(len(name))
}

// coverage returns the share of the prompt's weight that a skill's name,
// description and tags have, and that weight in words that one skill has.
func (p *prompt) coverage(n *names) (share, evidence float64) {
	for _, t := range n.all {
		share += p.share[t]
	}
	return share, share * p.total / p.rarest
}

// matched returns the terms of the prompt that list has.
func (p *prompt) matched(list []string) []string {
	var out []string
	for _, t := range p.terms {
		if slices.Contains(list, t.text) {
			out = append(out, t.text)
		}
	}
	return out
}
