package search

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A Twin is a pair of skills that a model, or a ranker, can hardly tell apart: their
// descriptions or their instructions are nearly the same.
type Twin struct {
	A, B       Entry
	Similarity float64 // of the descriptions: shared words of all words of both (Jaccard), 0 to 1
	Body       float64 // of the instructions: shared runs of five words, estimated, 0 to 1; 0 if they are short
	Copies     bool    // they are copies of one skill: a search lists one for both
}

// alike is the similarity from which descriptions, or instructions, are twins.
const alike = .8

// Twins returns the pairs of offered skills with nearly the same description or nearly
// the same instructions, most alike first.
func (x *reviewer) Twins(ctx context.Context) (twins []Twin, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		twins = twinsOf(v)
		return ctx.Err()
	})
	return twins, err
}

// A pairing is two indexes in a list, the smaller one first.
type pairing [2]int

func twinsOf(v *snapshot.View) []Twin {
	list := v.Names().Sorted(v.Scope.Offered)
	sets := descriptions(list)
	found := make(map[pairing]bool) // true for copies
	likeDescriptions(sets, found)
	likeBodies(v, list, found)
	copies(v, list, found)
	entries := make(map[int]Entry) // a family of a hundred has thousands of pairs
	entry := func(i int) Entry {
		if _, ok := entries[i]; !ok {
			entries[i] = entryOfDoc(v, list[i].I, list[i].Document)
		}
		return entries[i]
	}
	twins := make([]Twin, 0, len(found))
	for p, copies := range found {
		i, j := p[0], p[1]
		t := Twin{A: entry(i), B: entry(j), Similarity: jaccard(sets[i], sets[j]), Copies: copies}
		if body, few := v.Similarity(list[i].I, list[j].I); !few {
			t.Body = body
		}
		twins = append(twins, t)
	}
	slices.SortFunc(twins, func(a, b Twin) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(b.Body, a.Body), cmp.Compare(a.A.ID, b.A.ID), cmp.Compare(a.B.ID, b.B.ID))
	})
	return twins
}

// likeDescriptions adds the pairs with nearly the same description. It does not compare
// all pairs: two descriptions that share four fifths of their words must share a word of
// the rarest fifth, so it compares only skills that do.
func likeDescriptions(sets [][]int32, found map[pairing]bool) {
	byRare := make(map[int32][]int) // indexes in sets, by one of their rare words
	for i, words := range sets {
		seen := make(map[int]bool)
		for _, w := range words[:prefix(len(words))] {
			for _, j := range byRare[w] {
				if !seen[j] && jaccard(words, sets[j]) >= alike {
					found[pairing{j, i}] = false
				}
				seen[j] = true
			}
			byRare[w] = append(byRare[w], i)
		}
	}
}

// likeBodies adds the pairs with nearly the same instructions. It compares only skills
// whose sketches have a whole band of bins in common, as all long bodies have that are
// so much alike.
func likeBodies(v *snapshot.View, list []snapshot.Listed, found map[pairing]bool) {
	byBand := make(map[[2]uint32][]int) // indexes in list, by the number and the bins of a band
	for i := range list {
		sketch := v.Sketch(list[i].I)
		if sketch.TooFew() {
			continue
		}
		seen := make(map[int]bool)
		for n := range words.SketchBands {
			bins, used := sketch.Band(n)
			if !used {
				continue
			}
			band := [2]uint32{uint32(n), bins}
			for _, j := range byBand[band] {
				if !seen[j] && sketch.Likeness(v.Sketch(list[j].I)) >= alike {
					found[pairing{j, i}] = false
				}
				seen[j] = true
			}
			byBand[band] = append(byBand[band], i)
		}
	}
}

// copies adds the pairs of one family.
func copies(v *snapshot.View, list []snapshot.Listed, found map[pairing]bool) {
	at := make(map[int]int, len(list)) // in list, by number
	for i := range list {
		at[list[i].I] = i
	}
	for i := range list {
		for _, number := range v.Family(list[i].I) {
			if j, ok := at[number]; ok && j < i {
				found[pairing{j, i}] = true
			}
		}
	}
}

// prefix returns how many of n words, rarest first, must be compared: two twins share
// at least one of them.
func prefix(n int) int {
	if n == 0 {
		return 0
	}
	return min(n, n-int(alike*float64(n))+1)
}

// descriptions returns the different words of the description of each skill as numbers,
// the rarest word first: the rarer a word, the lower its number.
func descriptions(list []snapshot.Listed) [][]int32 {
	terms := make([][]string, len(list))
	count := make(map[string]int)
	a := new(words.Analyzer)
	for i := range list {
		words := a.Terms(list[i].Description)
		slices.Sort(words)
		terms[i] = slices.Compact(words)
		for _, w := range terms[i] {
			count[w]++
		}
	}
	number := make(map[string]int32, len(count))
	for n, w := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	}) {
		number[w] = int32(n)
	}
	sets := make([][]int32, len(list))
	for i, words := range terms {
		for _, w := range words {
			sets[i] = append(sets[i], number[w])
		}
		slices.Sort(sets[i])
	}
	return sets
}

// jaccard returns the share of common numbers among all numbers of two ascending lists.
func jaccard(a, b []int32) float64 {
	all, both := len(a)+len(b), 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both++
			a, b = a[1:], b[1:]
		}
	}
	return float64(both) / float64(max(1, all-both))
}
