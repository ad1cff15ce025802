package main

import (
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

func TestLiteral(t *testing.T) {
	for _, tt := range []struct {
		w    features
		want string
	}{
		{features{-2.789, 4.004, .746, 10.5, -.37}, "Logit{Base: -2.79, Nearness: 4, Strength: 0.75, Coverage: 10.5, Size: -0.37, Spread: 0.25}"},
		{features{1, -.001, 0, 1, 1}, "Logit{Base: 1, Coverage: 1, Size: 1, Spread: 0.25}"},
	} {
		if got := literal(logitOf(tt.w, .25)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.w, got, tt.want)
		}
	}
}

// TestOffer: with odds of 1 and a spread of .5, a hit whose score is 1 lower than the best
// has e^-2 of the best one's probability, and a hit whose score is 2 lower has e^-4, which is
// below the gate's Rival.
func TestOffer(t *testing.T) {
	l := rank.Logit{Coverage: 1, Spread: .5}
	plain, named, bySort := found(1), found(1), found(1)
	named.hits[0].named, named.usable = true, false
	bySort.x = features{}
	for _, tt := range []struct {
		name      string
		of        sample
		threshold float64
		want      int
	}{
		{"at the threshold", plain, .5, 2},
		{"below the threshold", plain, .51, 0},
		{"named, and those near the best that is not", named, .5, 3},
		{"named, below the threshold", named, .51, 1},
		{"a kind that wants nothing", bySort, .3, 0},
	} {
		if got := tt.of.offer(l, tt.threshold); len(got) != tt.want {
			t.Errorf("%s: %d are offered, want %d", tt.name, len(got), tt.want)
		}
	}
	none := plain
	none.none = true
	g := group{samples: []sample{plain, found(3), none}}
	if coverage, injection := g.offers(l, .5); coverage != .5 || injection != 1 {
		t.Errorf("coverage %v, false injection %v, want .5 and 1", coverage, injection)
	}
}
