package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A Twin is a pair of skills whose descriptions a ranker can hardly tell apart.
type Twin struct {
	A, B       Entry
	Similarity float64 // shared words of all words of both (Jaccard), 0 to 1
}

// alike is the similarity from which descriptions are twins.
const alike = .8

// Twins returns the pairs of offered skills with nearly the same description, most
// alike first. It does not compare all pairs: two descriptions that share four
// fifths of their words must share a word of the rarest fifth, so it compares only
// skills that do.
func (x *Searcher) Twins(ctx context.Context) (twins []Twin, err error) {
	err = x.read(ctx, nil, func(v *snapshot.View, _ *snapshot.Scope) error {
		twins = twinsOf(v)
		return ctx.Err()
	})
	return twins, err
}

func twinsOf(v *snapshot.View) (twins []Twin) {
	list := v.Sorted(v.IsOffered)
	sets := descriptions(list)
	byRare := make(map[string][]int) // indexes in list, by one of their rare words
	for i, words := range sets {
		seen := make(map[int]bool)
		for _, w := range words[:prefix(len(words))] {
			for _, j := range byRare[w] {
				if s := jaccard(words, sets[j]); !seen[j] && s >= alike {
					twins = append(twins, Twin{entryOfDoc(v, list[j].I, list[j].Document), entryOfDoc(v, list[i].I, list[i].Document), s})
				}
				seen[j] = true
			}
			byRare[w] = append(byRare[w], i)
		}
	}
	slices.SortFunc(twins, func(a, b Twin) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A.ID, b.A.ID), cmp.Compare(a.B.ID, b.B.ID))
	})
	return twins
}

// prefix returns how many of n words, rarest first, must be compared: two twins share
// at least one of them.
func prefix(n int) int {
	if n == 0 {
		return 0
	}
	return min(n, n-int(alike*float64(n))+1)
}

// descriptions returns the different words of the description of each skill,
// rarest first.
func descriptions(list []snapshot.Listed) [][]string {
	sets := make([][]string, len(list))
	count := make(map[string]int)
	a := new(words.Analyzer)
	for i := range list {
		words := a.Terms(list[i].Description)
		slices.Sort(words)
		sets[i] = slices.Compact(words)
		for _, w := range sets[i] {
			count[w]++
		}
	}
	for _, words := range sets {
		slices.SortFunc(words, func(a, b string) int {
			return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
		})
	}
	return sets
}

func jaccard(a, b []string) float64 {
	in := make(map[string]bool, len(a))
	for _, w := range a {
		in[w] = true
	}
	both := 0
	for _, w := range b {
		if in[w] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
