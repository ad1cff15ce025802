package snapshot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTop: top keeps the same k hits as sorting.
func TestTop(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	var best top
	for round := range 400 {
		n, k := rng.IntN(300), rng.IntN(40)
		if round%10 == 0 {
			n, k = 5000, rng.IntN(5000)
		}
		best.reset(k)
		var all []Hit
		for doc := range n {
			score := float32(rng.IntN(1+rng.IntN(200)) - 50) // many are the same
			all = append(all, Hit{doc, float64(score)})
			best.offer(keyOf(doc, score))
			if least := best.least(); len(all) < k && least != 0 {
				t.Fatalf("%d of %d hits and a floor of %v", len(all), k, least)
			}
		}
		slices.SortFunc(all, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.Doc-b.Doc) })
		if got, want := best.sorted(), all[:min(k, n)]; !slices.Equal(got, want) {
			t.Fatalf("%d of %d: %v, want %v", k, n, got, want)
		}
	}
}

// TestSelectGreatest: it also works for keys in an order that is hard for quicksort.
func TestSelectGreatest(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 17, 100} {
		for k := range n + 2 {
			for name, key := range map[string]func(i int) uint64{
				"rising":  func(i int) uint64 { return uint64(i) },
				"falling": func(i int) uint64 { return uint64(n - i) },
				"organ":   func(i int) uint64 { return uint64(min(2*i, 2*(n-i)+1)) },
				"mixed":   func(i int) uint64 { return uint64(i * 37 % 101) },
			} {
				t.Run(fmt.Sprint(name, n, "/", k), func(t *testing.T) {
					keys := make([]uint64, n)
					for i := range keys {
						keys[i] = key(i)
					}
					want := slices.Sorted(slices.Values(keys))
					slices.Reverse(want)
					selectGreatest(keys, k)
					got := keys[:min(k, n)]
					slices.Sort(got)
					slices.Reverse(got)
					if !slices.Equal(got, want[:min(k, n)]) {
						t.Errorf("%v, want %v", got, want[:min(k, n)])
					}
				})
			}
		}
	}
}
