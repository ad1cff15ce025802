package rank_test

import (
	"math"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

func TestRaise(t *testing.T) {
	list := func(named string, offered bool) []rank.Scored {
		var all []rank.Scored
		for i, id := range []string{"a", "b", "c", "d", "e"} {
			s := rank.Scored{Candidate: rank.Candidate{ID: id, Key: i, Exact: id <= named}, Score: 5 - float64(i), Probability: .5, Terms: []rank.Term{{Name: "text", Value: 5 - float64(i), Weight: 1}}}
			s.Relevant = s.Exact || offered && i == 0
			all = append(all, s)
		}
		return all
	}
	part := func(key int, p float64) rank.Part { return rank.Part{Text: "part", Key: key, Probability: p} }
	for _, tt := range []struct {
		name    string
		in      []rank.Scored
		parts   []rank.Part
		want    string // the order
		offered int    // how many of the first are relevant
	}{
		{"none", list("", true), nil, "abcde", 1},
		{"in their order", list("", true), []rank.Part{part(4, .9), part(2, .1)}, "aecbd", 3},
		{"the first, and one twice", list("", true), []rank.Part{part(0, .9), part(3, .9), part(3, .9)}, "adbce", 2},
		{"unknown", list("", true), []rank.Part{part(7, .9)}, "abcde", 1},
		{"the first is not wanted", list("", false), []rank.Part{part(4, .9)}, "aebcd", 0},
		{"behind what is named", list("b", false), []rank.Part{part(4, .9), part(1, .9)}, "abecd", 3},
		{"all are named", list("e", false), []rank.Part{part(3, .9)}, "abcde", 5},
	} {
		rank.Raise(tt.in, tt.parts)
		got, offered := "", 0
		for i, s := range tt.in {
			got += s.ID
			if s.Relevant && offered == i {
				offered++
			}
			sum := 0.0
			for _, term := range s.Terms {
				sum += term.Value * term.Weight
			}
			if math.Abs(sum-s.Score) > 1e-9 || i > 0 && s.Score > tt.in[i-1].Score {
				t.Errorf("%s: %s has %v, the sum is %v", tt.name, s.ID, s.Score, sum)
			}
			at := slices.IndexFunc(tt.parts, func(p rank.Part) bool { return p.Key == s.Key })
			if s.Part != "" && (at < 0 || s.Probability != max(.5, tt.parts[at].Probability)) {
				t.Errorf("%s: %s is %v likely, for %q", tt.name, s.ID, s.Probability, s.Part)
			}
		}
		if got != tt.want || offered != tt.offered {
			t.Errorf("%s: %s, of which %d are offered, want %s and %d", tt.name, got, offered, tt.want, tt.offered)
		}
	}
}
