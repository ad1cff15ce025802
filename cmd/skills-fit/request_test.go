package main

import (
	"math"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
)

// TestRequest: words that only one class has decide, a word of both does not, and the odds
// of a prompt come from the other prompts.
func TestRequest(t *testing.T) {
	classes := []class{
		{weight: 1, task: true, texts: []string{"build the house", "build a shed", "build the fence now", "please weld this"}},
		{weight: 1, texts: []string{"what is the house", "what does this do", "what now", "what a day"}},
	}
	m := newRequestModel(classes, 20)
	odds := m.requestOdds(classes)
	if build, what := m.odds("build it"), m.odds("what is it"); build < 1 || what > -1 {
		t.Errorf("odds %v and %v", build, what)
	}
	if odds("build it") != m.odds("build it") || odds("please weld this") >= m.odds("please weld this") {
		t.Errorf("the odds of a prompt that was fitted to are %v, of the weights that know it %v", odds("please weld this"), m.odds("please weld this"))
	}
	var file strings.Builder
	must.Do(t, m.write(&file))
	for _, want := range []string{"(base)\t", "(length)\t", "\n^build\t", "\nwhat\t-"} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("%q is missing from\n%s", want, &file)
		}
	}
}

// TestRegressSparse: both regressions find the same weights.
func TestRegressSparse(t *testing.T) {
	var dense []point
	var rare []sparsePoint
	for i := range 60 {
		x := make(features, len(rank.Figures))
		x[0], x[1], x[2] = 1, float64(i%3), float64(i%4)
		y := float64(i*7%5) < 2+float64(i%3)/2
		p := point{x: x, weight: 1 + float64(i%2)}
		if y {
			p.y = 1
		}
		dense = append(dense, p)
		rare = append(rare, sparsePoint{sparse{{0, 1}, {1, x[1]}, {2, x[2]}}, y, p.weight})
	}
	want, err := regress(dense, make([]bool, len(rank.Figures)))
	must.Do(t, err)
	got := regressSparse(rare, 3, .5)
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-2 {
			t.Errorf("weights %v, want %v", got, want[:3])
			break
		}
	}
}
