package snapshot

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// A Retriever finds skills by the words and the vector of a prompt. It counts the whole set,
// whatever the scope of the view.
type Retriever struct{ v *View }

// Retriever returns the Retriever of the set of the view.
func (v *View) Retriever() Retriever { return Retriever{v} }

// Terms are some terms as each segment of a set knows them.
type Terms struct{ segments []segmentTerms }

type segmentTerms struct {
	all   []Term
	known []knownTerm // those that occur in the segment, by rising ID
	sieve [4]uint64   // one bit for each of known, by the low 8 bits of its ID
}

type knownTerm struct {
	id uint32
	at int32 // index in all
}

// termsOf returns the terms that f returns for each segment.
func (x Retriever) termsOf(f func(*Reader) ([]Term, error)) *Terms {
	t := &Terms{make([]segmentTerms, len(x.v.readers))}
	for n, r := range x.v.readers {
		list, err := f(r)
		x.v.note(err)
		t.segments[n].fill(list)
	}
	return t
}

func (t *segmentTerms) fill(list []Term) {
	t.all = list
	for i := range list {
		if found := &list[i]; found.Docs > 0 {
			t.known = append(t.known, knownTerm{found.ID, int32(i)})
			t.sieve[found.ID>>6&3] |= 1 << (found.ID & 63)
		}
	}
	slices.SortFunc(t.known, func(a, b knownTerm) int { return cmp.Compare(a.id, b.id) })
}

// find returns the index of the term with an ID; ok is false if there is none. The sieve
// sorts out most IDs without a search.
func (t *segmentTerms) find(id uint32) (at int32, ok bool) {
	if t.sieve[id>>6&3]>>(id&63)&1 == 0 {
		return 0, false
	}
	n, ok := slices.BinarySearchFunc(t.known, id, func(k knownTerm, id uint32) int { return cmp.Compare(k.id, id) })
	if !ok {
		return 0, false
	}
	return t.known[n].at, true
}

// Lookup returns what the set knows about some different terms.
func (x Retriever) Lookup(terms []string) *Terms {
	return x.termsOf(func(r *Reader) ([]Term, error) { return r.Lookup(nil, terms) })
}

// Beginning returns the terms that begin with a prefix.
func (x Retriever) Beginning(prefix string) *Terms {
	return x.termsOf(func(r *Reader) ([]Term, error) { return r.Beginning(prefix) })
}

// Frequencies returns how many skills have each of the first n terms of Lookup.
func (x Retriever) Frequencies(t *Terms, n int) []int {
	docs := make([]int, n)
	for s, r := range x.v.readers {
		known := t.segments[s].all[:n]
		for i := range known {
			docs[i] += known[i].Docs
		}
		if gone := x.v.Set.segments[s].gone; gone != nil {
			// Otherwise the terms of a changed skill would count twice.
			counts, err := r.Among(known, gone)
			x.v.note(err)
			for i := range counts {
				docs[i] -= counts[i]
			}
		}
	}
	return docs
}

// Occurrences returns how often each skill has any of the terms, see Reader.Occurrences.
// Skills that are not in the set count too.
func (x Retriever) Occurrences(t *Terms) []float32 {
	counts := make([]float32, 64*len(x.v.Set.all.In))
	for n, r := range x.v.readers {
		g := &x.v.Set.segments[n]
		for _, term := range t.segments[n].all {
			x.v.note(r.Occurrences(counts[g.first:g.first+g.Len()], term))
		}
	}
	return counts
}

// Score returns the text score of a skill that has terms so often, see Occurrences.
func (x Retriever) Score(count float32, idf float64) float64 {
	return idf * maxImpact * float64(count/(1+count))
}

// Head says which of the terms stand in the head of a skill, as indexes in what Lookup got:
// first in its name, with repetitions, then in the visible part of its description and in
// its tags. lists is how many of these three to read; ends are the positions in found after
// each, and all the numbers of terms that it has up to there. found is valid until the next
// call.
func (x Retriever) Head(t *Terms, i, lists int) (found []uint32, ends, all [3]int) {
	n, doc := x.v.at(i)
	ids, ends, err := x.v.readers[n].HeadTerms(x.v.ids[:0], doc, lists)
	x.v.note(err)
	x.v.ids, all = ids, ends
	known, start := &t.segments[n], 0
	found = ids[:0]
	for f := range lists {
		for _, id := range ids[start:ends[f]] {
			if at, ok := known.find(id); ok {
				found = append(found, uint32(at))
			}
		}
		start, ends[f] = ends[f], len(found)
	}
	return found, ends, all
}

// NameTerms returns the terms of the names of two skills as numbers, valid until the next
// call; ok is false if the numbers cannot be compared.
func (x Retriever) NameTerms(i, j int) (one, other []uint32, ok bool) {
	n, doc := x.v.at(i)
	m, next := x.v.at(j)
	if n != m {
		return nil, nil, false
	}
	r := x.v.readers[n]
	ids, first, err := r.HeadTerms(x.v.ids[:0], doc, 1)
	ids, _, err2 := r.HeadTerms(ids, next, 1)
	x.v.note(cmp.Or(err, err2))
	x.v.ids = ids
	return ids[:first[0]], ids[first[0]:], true
}

// Search returns the k skills of a set whose text matches best. weights yields which terms of
// Lookup to search for, and their inverse frequencies.
func (x Retriever) Search(t *Terms, weights iter.Seq2[int, float64], in Skills, k int) []Hit {
	return x.best(k, func(n int, r *Reader) ([]Hit, error) {
		var terms []Term
		for at, idf := range weights {
			if found := t.segments[n].all[at]; found.Docs > 0 {
				found.IDF = idf
				terms = append(terms, found)
			}
		}
		return r.Search(terms, x.v.Set.segments[n].part(in), k)
	})
}

// Prepare prepares the vectors of a prompt.
func (x Retriever) Prepare(prompt Point) (v Vector) {
	for s, vector := range prompt {
		if vector == nil {
			continue
		}
		v[s] = make([]*Prompt, len(x.v.readers))
		for n, r := range x.v.readers {
			var err error
			v[s][n], err = r.Prompt(Space(s), vector)
			x.v.note(err)
		}
	}
	return v
}

// Cosines returns the similarities of a prompt to a skill.
func (x Retriever) Cosines(prompt *Vector, i int) (c Cosines) {
	n, doc := x.v.at(i)
	for s := range prompt {
		if prompt[s] != nil && prompt[s][n] != nil {
			x.v.note(x.v.readers[n].Cosines(prompt[s][n], doc, &c))
		}
	}
	return c
}

// PointOf returns where the description of a skill is, rounded as the snapshot keeps it.
func (x Retriever) PointOf(i int) (p Point) {
	for s := range Spaces {
		p[s] = of(x.v, i, func(r *Reader, doc int) ([]float32, error) { return r.firstVector(s, doc) })
	}
	return p
}

// Nearest returns the k skills of a set that are nearest to a prompt in each space.
func (x Retriever) Nearest(prompt *Vector, in Skills, k int) (all []Hit) {
	for s := range prompt {
		all = append(all, x.best(k, func(n int, r *Reader) ([]Hit, error) {
			if prompt[s] == nil || prompt[s][n] == nil {
				return nil, nil
			}
			return r.Nearest(prompt[s][n], x.v.Set.segments[n].part(in), k)
		})...)
	}
	return all
}

// Examples returns the k skills whose examples are nearest to a prompt, see Reader.Examples.
func (x Retriever) Examples(prompt *Vector, in Skills, least, most float64, k int) []Hit {
	return x.best(k, func(n int, r *Reader) ([]Hit, error) {
		if prompt[Sentences] == nil || prompt[Sentences][n] == nil {
			return nil, nil
		}
		hits, err := r.Examples(prompt[Sentences][n], x.v.Set.segments[n].part(in), least, most)
		sortHits(hits)
		return hits, err
	})
}

// sortHits puts the highest scores first; ties are broken by document.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
}

// best calls f for the k best hits of each segment and merges them into the k best.
func (x Retriever) best(k int, f func(n int, r *Reader) ([]Hit, error)) []Hit {
	var all []Hit
	for n, r := range x.v.readers {
		hits, err := f(n, r)
		x.v.note(err)
		for i := range hits {
			hits[i].Doc += x.v.Set.segments[n].first
		}
		all = append(all, hits...)
	}
	if len(x.v.readers) > 1 {
		sortHits(all)
	}
	return all[:min(k, len(all))]
}

// Claims returns the claims of all offered skills to a text that has these terms. Doc is the
// number of a skill.
func (x Retriever) Claims(terms []string) (all []Claim) {
	for n, r := range x.v.readers {
		list, err := r.Claims(terms)
		x.v.note(err)
		for _, c := range list {
			if c.Doc += x.v.Set.segments[n].first; x.v.Set.all.Offered.Has(c.Doc) {
				all = append(all, c)
			}
		}
	}
	return all
}

// Patterns returns the patterns of all offered skills, the cheapest first, then by text. Doc
// is the number of a skill.
func (x Retriever) Patterns() (all []Pattern) {
	for n, r := range x.v.readers {
		list, err := r.Patterns()
		x.v.note(err)
		for _, p := range list {
			if p.Doc += x.v.Set.segments[n].first; x.v.Set.all.Offered.Has(p.Doc) {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), strings.Compare(a.Text, b.Text))
	})
	return all
}
