package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// ranked returns a set whose prompts q00, q01, … have their only wanted skill
// at these ranks.
func ranked(ranks ...int) Set {
	var list []PromptResult
	for i, rank := range ranks {
		a := PromptResult{ID: fmt.Sprintf("q%02d", i), Wanted: 1, Rank: rank, Injected: 1, Fitting: min(1, rank)}
		if rank > 0 {
			a.Ranks = []int{rank}
		}
		a.NDCG = a.relevance().NDCG10
		list = append(list, a)
	}
	s := summary(list, 0, 1)
	s.Set = "s"
	return s
}

func compared(before, after Set) Comparison {
	list := Compare(NewResult([]Set{before, {Set: "old"}}, 1), NewResult([]Set{{Set: "new"}, after}, 1))
	if len(list) != 1 {
		panic(fmt.Sprintf("%d comparisons", len(list)))
	}
	return list[0]
}

func TestCompare(t *testing.T) {
	c := compared(ranked(1, 2, 0, 11, 1), ranked(1, 1, 12, 11, 0, 1))
	if c.Paired != 5 {
		t.Errorf("%d pairs", c.Paired)
	}
	log3 := judge([]int{2}, 1).NDCG10
	if diff := cmp.Diff([]Moved{{"q01", 2, 1, 1 - log3}, {"q02", 0, 12, 0}}, c.Better, near); diff != "" {
		t.Errorf("better (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Moved{{"q04", 1, 0, -1}}, c.Worse, near); diff != "" {
		t.Errorf("worse (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Change{"hit@1", .4, .4, 0, 1}, c.Metrics[0], near); diff != "" {
		t.Errorf("hit@1 (-want +got):\n%s", diff)
	}
}

func TestCompareSame(t *testing.T) {
	s := ranked(1, 2, 3, 0)
	c := compared(s, s)
	for _, m := range c.Metrics {
		if m.Difference != 0 || m.P != 1 {
			t.Errorf("%+v", m)
		}
	}
	if len(c.Metrics) != 9 || len(c.Better)+len(c.Worse) != 0 { // none needs no skill: no false injection
		t.Errorf("%+v", c)
	}
}

func TestCompareClear(t *testing.T) {
	var bad, good []int
	for range 30 {
		bad, good = append(bad, 2), append(good, 1)
	}
	c := compared(ranked(bad...), ranked(good...))
	if hit := c.Metrics[0]; hit.Difference != 1 || hit.P > .001 {
		t.Errorf("%+v", hit)
	}
	if len(c.Better) != 10 || c.Better[9].ID != "q09" || len(c.Worse) != 0 {
		t.Errorf("better: %+v, worse: %+v", c.Better, c.Worse)
	}
}

// TestMean: each set counts the same, whatever its size.
func TestMean(t *testing.T) {
	r := NewResult([]Set{ranked(1, 1, 1, 1), ranked(0)}, 1)
	if m := r.Mean[0]; m.Name != "hit@1" || m.Value != .5 {
		t.Errorf("%+v", m)
	}
}

// TestCompareBlocks: blocks are compared at the thresholds that keep a rate, each result
// with its own, and what is significantly worse is named.
func TestCompareBlocks(t *testing.T) {
	testsize.Long(t)
	measured := func(fitting, own int) Set {
		var list []PromptResult
		for i := range 40 {
			list = append(list,
				PromptResult{ID: fmt.Sprint("none ", i), Demand: float64(i) / 50, Always: Listing{Listed: 1}},
				PromptResult{ID: fmt.Sprint("want ", i), Wanted: 1, Ranks: []int{1}, Rank: 1, NDCG: 1, Demand: .9, Always: Listing{Listed: 4 - 3*fitting, Fitting: min(1, fitting+i%2)}},
				PromptResult{ID: fmt.Sprint("near ", i), Owner: "a", Demand: .77, Always: Listing{Listed: 1, Own: own}})
		}
		s := summary(list, .95, 1)
		s.Set = "s"
		return s
	}
	good, bad := measured(1, 0), measured(0, 1)
	changes := make(map[string]Change)
	c := compared(good, bad)
	for _, m := range c.Metrics {
		changes[m.Name] = m
	}
	for _, want := range []Change{
		{"coverage", 0, 0, 0, 1}, // nothing reaches .95
		{"coverage@3%", 1, .5, -.5, 0}, {"entries@3%", 1, 4, 3, 0}, {"right@5%", 1, .125, -.875, 0},
		{"near_own@1%", 0, 0, 0, 0}, {"near_own@5%", 0, 1, 1, 0}, {"near_any@5%", 1, 1, 0, 1},
	} {
		got, ok := changes[want.Name]
		if ok != (want.Name != "near_own@1%") { // compared only at 3 and 5 %
			t.Errorf("%s: compared %t", want.Name, ok)
			continue
		}
		if got.P < .001 {
			got.P = 0
		}
		if diff := cmp.Diff(want, got, near); ok && diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	want := []string{"coverage@3%", "right@3%", "near_own@3%", "coverage@5%", "right@5%", "near_own@5%"}
	if diff := cmp.Diff(want, c.Worsened); diff != "" {
		t.Errorf("worsened (-want +got):\n%s", diff)
	}
	if better := compared(bad, good); len(better.Worsened) != 0 {
		t.Errorf("worsened: %q", better.Worsened)
	}
	old := good
	old.Curve = nil // as in a file that was written before there were curves
	for _, m := range compared(old, bad).Metrics {
		if strings.Contains(m.Name, "%") {
			t.Errorf("compared with nothing: %+v", m)
		}
	}
}

func TestSignificance(t *testing.T) {
	var low, high, mixed, zeros, ones, even []ratio
	for i := range 40 {
		zeros, ones, even = append(zeros, ratio{0, 1}), append(ones, ratio{1, 1}), append(even, ratio{float64(i%2*2 - 1), 1})
		low, high = append(low, ratio{1, 4}), append(high, ratio{1, 1})
		if i%2 == 0 {
			mixed = append(mixed, ratio{1, 4})
		} else {
			mixed = append(mixed, ratio{1, 1})
		}
	}
	swapped := append(append([]ratio{}, mixed[1:]...), mixed[0])
	for _, tt := range []struct {
		name          string
		before, after []ratio
		least, most   float64
	}{
		{"identical", low, low, 1, 1},
		{"all lower", high, low, 0, .001},
		{"all higher", low, high, 0, .001},
		{"as many lower as higher", mixed, swapped, 1, 1},
		{"3 of 3 lower", high[:3], low[:3], .22, .28},
		{"nothing", nil, nil, 1, 1},
		{"means, all better", zeros, ones, 0, .001},
		{"means, as many better as worse", zeros, even, 1, 1},
		{"means, 3 of 3 lower", ones[:3], zeros[:3], .22, .28}, // of 8 patterns of signs 2 are as extreme
	} {
		if p := significance(1, tt.before, tt.after); p < tt.least || p > tt.most {
			t.Errorf("%s: p %v, want %v to %v", tt.name, p, tt.least, tt.most)
		}
	}
}
