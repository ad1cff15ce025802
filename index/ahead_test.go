package index

import (
	"errors"
	"slices"
	"testing"
)

func TestAhead(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	running := false
	count := func(yield func(int, error) bool) {
		running = true
		defer func() { running = false }()
		for i := range 1000 {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, stop)
	}
	for _, n := range []int{0, 1, 500, 1001} {
		var got []int
		var last error
		for i, err := range ahead(count) {
			if len(got) == n {
				break
			}
			got, last = append(got, i), err
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i % 1000
		}
		if !slices.Equal(got, want) || running || (last == stop) != (n > 1000) {
			t.Errorf("asked for %d: %d values, error %v, still running %v", n, len(got), last, running)
		}
	}
}
