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
		{features{-2.789, 4.004, .746, 10.5, 2.5, -.37, .25}, "Logit{Base: -2.79, Nearness: 4, Strength: 0.75, Coverage: 10.5, Head: 2.5, Size: -0.37, Request: 0.25, Spread: 0.25}"},
		{features{1, -.001, 0, 1, 0, 1, 0}, "Logit{Base: 1, Coverage: 1, Size: 1, Spread: 0.25}"},
	} {
		if got := literal(logitOf(tt.w, .25)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.w, got, tt.want)
		}
	}
}

// TestOffer: with odds of 1 and a spread of .5, a hit whose score is 1 lower than the best
// has e^-2 of the best one's probability, and a hit whose score is 2 lower has e^-4, which is
// below the gate's Least.
func TestOffer(t *testing.T) {
	l := rank.Logit{Base: 1, Spread: .5}
	plain, named, bySort := found(1), found(1), found(1)
	named.hits[0].named, named.usable = true, false
	bySort.x = features{}
	for _, tt := range []struct {
		name      string
		of        sample
		threshold float64 // log odds
		want      int
	}{
		{"above the threshold", plain, .9, 2},
		{"at the threshold", plain, 1, 0},
		{"named, and those near the best that is not", named, 0, 3},
		{"named, below the threshold", named, 2, 1},
		{"a kind that wants nothing", bySort, -9, 0},
	} {
		if got := tt.of.offer(l, tt.threshold, rank.DefaultGate()); len(got) != tt.want {
			t.Errorf("%s: %d are offered, want %d", tt.name, len(got), tt.want)
		}
	}
	none := plain
	none.class = isNone
	g := group{samples: []sample{plain, found(3), none}}
	if got, want := g.offers(l, 0, rank.DefaultGate()), (offers{coverage: .5, entries: 2, right: .25}); got != want {
		t.Errorf("offers %v, want %v", got, want)
	}
}

// TestQuantile: of ten prompts, a fifth exceeds the result; who names a skill is above all,
// a kind that needs none below.
func TestQuantile(t *testing.T) {
	var list []*sample
	for i := range 10 {
		s := found(0)
		s.x = features{float64(i)}
		list = append(list, &s)
	}
	l := rank.Logit{Base: 1}
	if got := quantile(list, l, .2); got != 7 {
		t.Errorf("%v, want 7", got)
	}
	list[0].hits[0].named = true
	if got := quantile(list, l, .2); got != 8 {
		t.Errorf("with a name %v, want 8", got)
	}
	list[9].x = features{}
	if got := quantile(list, l, .2); got != 7 {
		t.Errorf("with a kind that needs none %v, want 7", got)
	}
}
