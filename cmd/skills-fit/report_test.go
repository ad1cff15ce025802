package main

import (
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

func TestLiteral(t *testing.T) {
	w := row(-2.789, 4.004, .746)
	w[figure("size")] = -.37
	if got, want := literal(logitOf(w, .25)), "Logit{Base: -2.79, Nearness: 4, Sentence: 0.75, Trigger: 0.5, Example: 3, Read: 0.7, Size: -0.37, Spread: 0.25}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOffers: with odds of 1 and a spread of .5, a hit whose score is 1 lower than the best
// has e^-2 of the best one's probability, and a hit whose score is 2 lower has e^-4, which is
// below the least. One that is named is offered at any threshold, a kind that needs nothing at none.
func TestOffers(t *testing.T) {
	l := rank.Logit{Base: 1, Spread: .5}
	absent, named, kind := found(0), found(1), found(0)
	absent.class, kind.class, kind.usable = isAbsent, isNeedless, false
	named.hits[0].named, named.usable = true, false
	g := group{samples: []sample{found(1), found(3), named, absent, kind}}
	const least = .05
	if got, want := g.offers(l, .5, least), (offers{threshold: .5, unfit: 1, coverage: 2. / 3, entries: 2, right: 1. / 3}); got != want {
		t.Errorf("offers %v, want %v", got, want)
	}
	if got := g.offers(l, .9, least); got.unfit != 0 || got.coverage != 1./3 {
		t.Errorf("above the threshold: %v", got)
	}
}

// TestQuantile: of ten prompts, a fifth exceeds the result; who names a skill is above all,
// a kind that needs none below.
func TestQuantile(t *testing.T) {
	var g group
	for i := range 10 {
		s := found(0)
		s.x = row(float64(i))
		g.samples = append(g.samples, s)
	}
	g.samples[3].hits[0].named, g.samples[3].usable, g.samples[9].usable = true, false, false
	l := rank.Logit{Base: 1}
	if got := quantile(g.odds(l, isThere), .2); got != 7 {
		t.Errorf("the quantile is %v, want 7", got)
	}
}
