package main

import (
	"math"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
)

// TestRegress: the fit finds the weights with which the points were made. Each x occurs with
// both answers, weighted by their probabilities, so that chance plays no part. There are so
// many points that the penalty has no effect.
func TestRegress(t *testing.T) {
	known := row(-2, 3, .5, 1.5, .25, .5)
	var points []point
	for i := range 3 * 4 * 3 * 3 * 2 {
		x := row(1, float64(i%3)*.6, float64(i/3%4)*1.5, float64(i/12%3)*.4, float64(3+i/36%3), float64(i/108)-.5)
		p := known.probability(x)
		points = append(points, point{x, 1, p * 1e6}, point{x, 0, (1 - p) * 1e6})
	}
	got, err := fit(points)
	must.Do(t, err)
	for i := range known {
		if math.Abs(got[i]-known[i]) > 1e-3 {
			t.Errorf("weights %v, want %v", got, known)
			break
		}
	}
}

// row returns features of which the last are 0.
func row(x ...float64) features { return append(x, make(features, len(rank.Figures)-len(x))...) }

// TestFitEvidence: what speaks against a skill by chance gets no weight, and the others are fitted
// as if it were not there.
func TestFitEvidence(t *testing.T) {
	known := row(-1, 2, -3)
	var points, without []point
	for i := range 12 {
		x := row(1, float64(i%3), float64(i/3))
		p := known.probability(x)
		for y, weight := range []float64{1 - p, p} {
			points = append(points, point{x, float64(y), weight * 1e6})
			without = append(without, point{row(1, x[1]), float64(y), weight * 1e6})
		}
	}
	got, err := fit(points)
	must.Do(t, err)
	want, err := fit(without)
	must.Do(t, err)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 || i == 2 && got[i] != 0 {
			t.Fatalf("weights %v, want %v", got, want)
		}
	}
}

// TestRegressByHand: three of four prompts want a skill, so the odds are 3. A feature that
// is always 0 gets the weight 0.
func TestRegressByHand(t *testing.T) {
	x := row(1)
	got, err := fit([]point{{x, 1, 1}, {x, 1, 2}, {x, 0, 1}})
	if err != nil || math.Abs(got[0]-math.Log(3)) > 1e-9 || got[1] != 0 {
		t.Errorf("weights %v, %v, want %v first", got, err, math.Log(3))
	}
	for _, points := range [][]point{nil, {{x, 1, 1}}, {{x, 0, 1}}} {
		if got, err := fit(points); err == nil || !strings.Contains(err.Error(), "no weights fit") {
			t.Errorf("%v: weights %v, %v", points, got, err)
		}
	}
}

func TestAUC(t *testing.T) {
	for _, tt := range []struct {
		high, low []float64
		want      float64
	}{
		{[]float64{3, 4}, []float64{1, 2}, 1},
		{[]float64{1, 3}, []float64{2}, .5},
		{[]float64{2}, []float64{2}, .5},
		{[]float64{3, 2}, []float64{1, 2}, .875},
		{[]float64{1}, []float64{2}, 0},
	} {
		if got := auc(tt.high, tt.low); got != tt.want {
			t.Errorf("auc(%v, %v) = %v, want %v", tt.high, tt.low, got, tt.want)
		}
	}
	if got := auc(nil, []float64{1}); !math.IsNaN(got) {
		t.Errorf("auc of nothing is %v", got)
	}
}

// found returns a usable sample whose only wanted hit has this rank, from 1; 0 means none.
// The scores are 0, -1, -2.
func found(place int) sample {
	s := sample{class: isThere, usable: true, x: row(1), hits: []hit{{score: 0}, {score: -1}, {score: -2}}}
	if place > 0 {
		s.hits[place-1].wanted = true
	}
	return s
}

// TestSpread: of two hits, 1 apart, the better one is wanted in three of four
// prompts when a score is worth a factor of 3: 1/ln 3 is .91.
func TestSpread(t *testing.T) {
	g := group{}
	for _, place := range []int{1, 1, 1, 2, 0} {
		s := found(place)
		s.hits = s.hits[:2]
		g.samples = append(g.samples, s)
	}
	named := found(2)
	named.usable = false
	g.samples = append(g.samples, named)
	if got := spreadOf([]group{g}); got != .91 {
		t.Errorf("spread %v, want .91", got)
	}
}

// TestPoints: both groups have the same weight, and in each every class has its share. Only a
// wanted hit that is the best makes a prompt count as answered.
func TestPoints(t *testing.T) {
	absent, needless, unusable := found(0), found(0), found(1)
	absent.class, needless.class, unusable.usable = isAbsent, isNeedless, false
	got := pointsOf([]group{{samples: []sample{found(1), found(2), absent, needless}}, {samples: []sample{unusable, found(1), absent, needless, needless}}})
	want := []point{{y: 1, weight: .8}, {y: 0, weight: .8}, {y: 0, weight: 1.6}, {y: 0, weight: .8}, {y: 1, weight: 1.6}, {y: 0, weight: 1.6}, {y: 0, weight: .4}, {y: 0, weight: .4}}
	if len(got) != len(want) {
		t.Fatalf("%d points, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].y != want[i].y || math.Abs(got[i].weight-want[i].weight) > 1e-9 {
			t.Errorf("point %d is %v, want %v", i, got[i], want[i])
		}
	}
}
