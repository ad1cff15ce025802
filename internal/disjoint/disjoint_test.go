package disjoint_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/disjoint"
)

// TestSets compares sets with lists of members that are merged at each join.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		const n = 40
		var s disjoint.Sets[int]
		of := make([][]int, n) // the members of the set of each
		for i := range of {
			of[i] = []int{i}
		}
		for range rng.IntN(2 * n) {
			a, b := rng.IntN(n), rng.IntN(n)
			if s.Join(a, b); !slices.Contains(of[a], b) {
				all := slices.Sorted(slices.Values(slices.Concat(of[a], of[b])))
				for _, i := range all {
					of[i] = all
				}
			}
		}
		joined := s.Joined()
		for i := range n {
			for j := range n {
				if s.Same(i, j) != slices.Contains(of[i], j) {
					t.Fatalf("same %d and %d: %t; the set of the first is %v", i, j, s.Same(i, j), of[i])
				}
			}
			members := slices.Sorted(slices.Values(joined[of[i][0]]))
			if s.Root(i) != of[i][0] || len(of[i]) > 1 && !slices.Equal(members, of[i]) || len(of[i]) == 1 && members != nil {
				t.Fatalf("%d: root %d, members %v, want %v", i, s.Root(i), members, of[i])
			}
		}
	}
}
