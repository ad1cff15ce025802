// Package rank orders candidate skills for a prompt. It is pure arithmetic:
// what it is given decides the order, and every term of a score is kept, so
// that it can be explained and checked by hand.
package rank

import (
	"cmp"
	"slices"
	"strings"
)

// A Candidate is what the retrieval legs found out about one skill.
type Candidate struct {
	ID  string // breaks ties
	Key int    // for the caller

	Lexical float64 // BM25 of the full text, 0 when it did not match

	// Strength is Lexical in units of a word that only one skill has: an
	// absolute figure, where Lexical divided by its maximum is relative. Like
	// Coverage and Evidence it has no part in the order, only in a Gate.
	Strength float64

	// Vectors says that the skill has vectors; then Description and Full are
	// the cosines of the prompt with its description and with all of it.
	Vectors           bool
	Description, Full float64

	NameCoverage float64 // share of the words of its name that the prompt has, 0 to 1

	// Coverage is the share of what the prompt says, weighted by how rare each
	// word is, that the name, description and tags say too, 0 to 1.
	Coverage float64

	// Evidence is how much they say of it, in words that only one skill has: a
	// rare word counts nearly 1, one that half of all skills have counts 0.
	Evidence float64

	Exact bool // the prompt names the skill
}

// Params are the weights of the terms of a score.
type Params struct {
	Lexical float64 // of BM25 divided by its maximum over the candidates
	Vector  float64 // of each of the two cosines
	Name    float64 // of NameCoverage
	Exact   float64 // of Exact; larger than all others together, so that a name wins
	Gate    Gate
}

// Defaults returns the recipe that measured best: BM25 over its maximum for
// the prompt, 1.2 of both cosines and .4 of the name's coverage. That of the
// description, neighbouring words, BM25 of single fields, the best chunk and
// late interaction of words added less than .005 to any figure, or took away.
func Defaults() Params {
	return Params{Lexical: 1, Vector: 1.2, Name: .4, Exact: 10, Gate: DefaultGate()}
}

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

	// What a Gate makes of it.
	Probability float64 // that the skill is wanted for the prompt, 0 to 1
	Relevant    bool    // worth showing to a model that did not ask
}

// Order scores the candidates and returns them best first, ties by ID. Without
// any vectors the order is that of the text alone. A skill that has no vectors
// yet among others that do gets the mean of their cosines, so that it neither
// gains nor loses by it.
func Order(candidates []Candidate, p Params) []Scored {
	// Only indexes are sorted, because candidates are large to move.
	order := make([]int32, len(candidates))
	for i := range order {
		order[i] = int32(i)
	}
	byID := func(i, j int32) int { return strings.Compare(candidates[i].ID, candidates[j].ID) }
	if someLackVectors(candidates) {
		// The means count, and sums of floats depend on the order of their terms:
		// one order for all.
		slices.SortFunc(order, byID)
	}
	norm := normsOf(candidates, order)
	terms := make([]Term, 0, norm.terms) // of all of them, because many small slices cost more than the sums
	list := make([]scores, len(candidates))
	for n, i := range order {
		from := len(terms)
		terms = appendTerms(terms, &candidates[i], norm, p)
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

// someLackVectors reports whether some candidates have vectors and others none.
func someLackVectors(candidates []Candidate) bool {
	n := 0
	for i := range candidates {
		if candidates[i].Vectors {
			n++
		}
	}
	return n > 0 && n < len(candidates)
}

// scores are what one candidate is sorted by.
type scores struct {
	sum      float64
	index    int32 // of the candidate
	from, to int32 // of its terms among all terms
}

// norms is what a score needs to know about all candidates.
type norms struct {
	lexical           float64 // maximum
	vectors           bool
	description, full float64 // means
	terms             int     // that all scores have together
}

// normsOf sums up the candidates in the given order.
func normsOf(candidates []Candidate, order []int32) norms {
	n := norms{terms: len(candidates)}
	count := 0.0
	for _, i := range order {
		c := &candidates[i]
		n.lexical = max(n.lexical, c.Lexical)
		if c.Vectors {
			n.description += c.Description
			n.full += c.Full
			count++
		}
		if c.Exact {
			n.terms++
		}
	}
	if n.lexical > 0 {
		n.terms += len(candidates)
	}
	if count > 0 {
		n.terms += 2 * len(candidates)
		n.vectors = true
		n.description /= count
		n.full /= count
	}
	return n
}

// appendTerms appends the terms of the score of c.
func appendTerms(terms []Term, c *Candidate, n norms, p Params) []Term {
	if n.lexical > 0 {
		terms = append(terms, Term{"text", c.Lexical / n.lexical, p.Lexical})
	}
	if n.vectors {
		description, full := n.description, n.full
		if c.Vectors {
			description, full = c.Description, c.Full
		}
		terms = append(terms, Term{"description vector", description, p.Vector}, Term{"full vector", full, p.Vector})
	}
	terms = append(terms, Term{"name", c.NameCoverage, p.Name})
	if c.Exact {
		terms = append(terms, Term{"exact name", 1, p.Exact})
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
