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
	part := func(key int, p float64) rank.Part {
		return rank.Part{Text: "part", Key: key, Demand: rank.Demand{Probability: p}}
	}
	for _, tt := range []struct {
		name    string
		in      []rank.Scored
		whole   float64 // the demand of the whole prompt; the usual threshold is .5
		parts   []rank.Part
		want    string // the order
		offered int    // how many of the first are relevant
		demand  float64
	}{
		{"none", list("", true), .6, nil, "abcde", 1, .6},
		{"in their order", list("", true), .6, []rank.Part{part(4, .9), part(2, .1)}, "aecbd", 3, .6},
		{"the first, and one twice", list("", true), .6, []rank.Part{part(0, .9), part(3, .9), part(3, .9)}, "adbce", 2, .6},
		{"unknown", list("", true), .6, []rank.Part{part(7, .9)}, "abcde", 1, .6},
		{"the whole wants none", list("", false), .1, []rank.Part{part(4, .6), part(2, .8)}, "ecabd", 2, .8},
		{"nor does a part", list("", false), .1, []rank.Part{part(4, .4)}, "eabcd", 0, .4},
		{"at a lower threshold the order is the same", list("", true), .1, []rank.Part{part(4, .6)}, "eabcd", 1, .6},
		{"behind what is named", list("b", false), .1, []rank.Part{part(4, .9), part(1, .9)}, "abecd", 3, .1},
		{"all are named", list("e", false), .1, []rank.Part{part(3, .9)}, "abcde", 5, .1},
	} {
		if d := rank.Raise(tt.in, rank.Demand{Probability: tt.whole}, tt.parts, .5, .5); d.Probability != tt.demand {
			t.Errorf("%s: demand %v, want %v", tt.name, d.Probability, tt.demand)
		}
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
			if s.Part != "" && (at < 0 || s.Probability != max(.5, tt.parts[at].Demand.Probability)) {
				t.Errorf("%s: %s is %v likely, for %q", tt.name, s.ID, s.Probability, s.Part)
			}
		}
		if got != tt.want || offered != tt.offered {
			t.Errorf("%s: %s, of which %d are offered, want %s and %d", tt.name, got, offered, tt.want, tt.offered)
		}
	}
}

func TestDoubt(t *testing.T) {
	d := rank.Demand{Probability: .5, Terms: []rank.Term{{Name: "base", Value: 1}}}
	got := d.Doubt("clause", 1)
	if want := 1 / (1 + math.E); math.Abs(got.Probability-want) > 1e-12 || len(got.Terms) != 2 || len(d.Terms) != 1 {
		t.Errorf("%+v", got)
	}
}
