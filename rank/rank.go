// Package rank orders candidate skills for a prompt. Its one rule: it is pure arithmetic
// on its arguments. It keeps every term of a score, so that people can explain and check
// the score by hand.
package rank

import (
	"cmp"
	"slices"
	"strings"
)

// A Candidate is what retrieval found out about one skill.
type Candidate struct {
	ID  string // breaks ties
	Key int    // free for the caller's use

	Values

	// Strength is how well the text matches, measured in words that only one skill
	// has. It is an absolute value, unlike the share of the highest BM25 that Order
	// uses. Order ignores Strength, Coverage, HeadShare and Evidence; a Gate uses the
	// first three.
	Strength float64

	NameMatch float64 // how well the prompt matches the words of its name, see the function NameMatch

	// Mention is the share of the prompt, weighted by how rare each word is, that the
	// name has, if the prompt seems to name the skill; 0 if it does not seem so.
	Mention float64

	// Coverage is the share of the prompt's words, weighted by how rare each is,
	// that the name, description and tags contain, 0 to 1.
	Coverage float64

	// HeadShare is the share of the words of its name and description that the prompt has: much
	// of a short description, little of a long one.
	HeadShare float64

	// Evidence is the weighted number of these words. A rare word counts nearly 1,
	// a word that half of all skills have counts 0.
	Evidence float64

	// Trigger is how much the best trigger of the skill says that the prompt has, up to 1, or 8
	// for a skill of the user's own; 0 means that it has none.
	Trigger float64

	Exact     bool // the prompt certainly names the skill
	Triggered bool // Exact is true because of a trigger that counts as a name
	Lower     bool // its source is trusted less
}

// Params are the weights of the terms of a score.
type Params struct {
	Legs    [Legs]float64 // of BM25 divided by its maximum over the candidates, and of the cosines
	Name    float64       // weight of NameMatch
	Mention float64       // weight of Mention
	Trigger float64       // weight of Trigger
	Exact   float64       // weight of Exact; larger than all others together, so that a name wins
	Lower   float64       // weight of Lower; it only decides between skills that fit about equally
	Gate    Gate
}

// Defaults returns the weights that measured best: BM25 divided by its maximum for the
// prompt, 1.2 times both cosines and .8 times the match of the name. With 1.5 for cosines
// Hit@1 is .002 higher, but among 20,000 more skills prompts of one set then find their
// skill less often than by text alone; with 1.2 for the name, 500 more skills that are named
// like everyday words take a tenth of Hit@1. Weights of Mention from 0 to 2 differ by less
// than .001 where names are not meant; with 1, a prompt that is nothing but vague beside a
// name in backticks finds that skill in .84 of the cases among 19,700 skills instead of .64.
// A trigger's .4 gave the prompts of skills that have triggers Hit@1 .599 instead of .571 (294
// prompts, catalogs of 60 to 4,400 skills), .2 gave .585, .8 gave .605; but at .8 skills of
// others push the user's own away by claiming much.
// The description's coverage, neighbouring words, BM25 of single fields, the best chunk and
// late interaction of words made figures worse or improved them by less than .005.
func Defaults() Params {
	p := Params{Name: .8, Mention: 1, Trigger: .4, Exact: 10, Lower: -.05, Gate: DefaultGate()}
	for l := range legs {
		p.Legs[l] = legs[l].weight
	}
	return p
}

// NameMatch returns how well a prompt matches a name of that many words, of which it has
// found words: their share, as if each name had three more words that the prompt lacks.
// So a name of a single everyday word says little.
func NameMatch(found, words int) float64 { return float64(found) / float64(words+3) }

// A Term is one summand of a score.
type Term struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
}

// Scored is a candidate with its score.
type Scored struct {
	Candidate
	Score float64 // the sum of Value·Weight over Terms
	Terms []Term

	// Set by Gate.Judge.
	Probability float64 // how likely the prompt wants this skill, 0 to 1
	Relevant    bool    // worth offering to a model that did not ask for skills

	Part string // the part of the prompt that it is the best for; only Raise sets it
}

// Order scores the candidates and returns them best first; ties are broken by ID. It
// divides BM25 by its maximum over the candidates, and by no less than full, the BM25 of a
// full match; 0 means that the maximum alone counts. A leg without a value for any candidate
// does not count.
func Order(candidates []Candidate, full float64, p Params) []Scored {
	// Only indexes are sorted, because candidates are large to move.
	order := make([]int32, len(candidates))
	for i := range order {
		order[i] = int32(i)
	}
	byID := func(i, j int32) int { return strings.Compare(candidates[i].ID, candidates[j].ID) }
	if someLackValues(candidates) {
		// The means count here. A sum of floats depends on the order of its terms,
		// so fix the order.
		slices.SortFunc(order, byID)
	}
	norm := normsOf(candidates, full, order)
	terms := make([]Term, 0, maxTerms*len(candidates)) // one slice for all scores, because many small ones cost more than the sums
	list := make([]scores, len(candidates))
	for n, i := range order {
		from := len(terms)
		terms = appendTerms(terms, &candidates[i], &norm, &p)
		list[n] = scores{sum(terms[from:]), i, int32(from), int32(len(terms))}
	}
	slices.SortFunc(list, func(a, b scores) int {
		if c := cmp.Compare(b.sum, a.sum); c != 0 {
			return c
		}
		return byID(a.index, b.index)
	})
	scored := make([]Scored, len(list))
	for n, s := range list {
		scored[n] = Scored{Candidate: candidates[s.index], Score: s.sum, Terms: terms[s.from:s.to:s.to]}
	}
	return scored
}

// someLackValues reports whether some candidates have values of legs that others lack.
func someLackValues(candidates []Candidate) bool {
	for i := range candidates {
		if candidates[i].has != candidates[0].has {
			return true
		}
	}
	return false
}

// scores is what Order sorts by, for one candidate.
type scores struct {
	sum      float64
	index    int32 // of the candidate
	from, to int32 // position of its terms in the slice of all terms
}

// maxTerms is for how many terms of a score there is room from the start. A single skill may
// have one more, because of a trigger.
const maxTerms = int(Legs) + 3

// appendTerms appends the terms of c's score.
func appendTerms(terms []Term, c *Candidate, n *norms, p *Params) []Term {
	terms = n.appendTo(terms, c, &p.Legs)
	terms = append(terms, Term{"name", c.NameMatch, p.Name})
	if c.Trigger > 0 {
		terms = append(terms, Term{"trigger", c.Trigger, p.Trigger})
	}
	switch {
	case c.Triggered:
		terms = append(terms, Term{"certain trigger", 1, p.Exact})
	case c.Exact:
		terms = append(terms, Term{"exact name", 1, p.Exact})
	case c.Mention > 0:
		terms = append(terms, Term{"mention", c.Mention, p.Mention})
	}
	if c.Lower {
		terms = append(terms, Term{"trusted less", 1, p.Lower})
	}
	return terms
}

func sum(terms []Term) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.Value * t.Weight
	}
	return total
}
