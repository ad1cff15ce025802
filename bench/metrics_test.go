package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(0, 1e-12)

func TestMeasure(t *testing.T) {
	log3 := 1 / math.Log2(3) // worth of the second place, about .63
	sixth, eleventh := 1/math.Log2(7), []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "a"}
	for _, tt := range []struct {
		name     string
		rankings [][]string
		wanted   [][]string
		prompts  int
		want     Relevance // hit@1, mrr@10, recall@5, @10, @50, ndcg@10, full@10
	}{
		{"first", [][]string{{"a", "b"}}, [][]string{{"a"}}, 1, Relevance{1, 1, 1, 1, 1, 1, 1}},
		{"second", [][]string{{"b", "a"}}, [][]string{{"a"}}, 1, Relevance{0, .5, 1, 1, 1, log3, 1}},
		{"absent", [][]string{{"b", "c"}}, [][]string{{"a"}}, 1, Relevance{}},
		{"empty", [][]string{nil}, [][]string{{"a"}}, 1, Relevance{}},
		{"sixth", [][]string{{"b", "c", "d", "e", "f", "a"}}, [][]string{{"a"}}, 1, Relevance{0, 1. / 6, 0, 1, 1, sixth, 1}},
		{"eleventh", [][]string{eleventh}, [][]string{{"a"}}, 1, Relevance{Recall50: 1}},
		{"two wanted, one found second", [][]string{{"c", "b"}}, [][]string{{"a", "b"}}, 1, Relevance{0, .5, .5, .5, .5, log3 / (1 + log3), 0}},
		{"two wanted, both found", [][]string{{"b", "a"}}, [][]string{{"a", "b"}}, 1, Relevance{1, 1, 1, 1, 1, 1, 1}},
		{"two wanted, second and sixth", [][]string{{"c", "b", "d", "e", "f", "a"}}, [][]string{{"a", "b"}}, 1,
			Relevance{0, .5, .5, 1, 1, (log3 + sixth) / (1 + log3), 1}},
		{"the same twice", [][]string{{"a", "a"}}, [][]string{{"a", "b"}}, 1, Relevance{1, 1, .5, .5, .5, 1 / (1 + log3), 0}},
		{"mean of two", [][]string{{"a"}, {"b", "a"}}, [][]string{{"a"}, {"a"}}, 2, Relevance{.5, .75, 1, 1, 1, (1 + log3) / 2, 1}},
		{"nothing wanted does not count", [][]string{{"a"}, {"a"}}, [][]string{{"a"}, nil}, 1, Relevance{1, 1, 1, 1, 1, 1, 1}},
		{"nothing at all", nil, nil, 0, Relevance{}},
	} {
		got := Measure(tt.rankings, tt.wanted)
		if diff := cmp.Diff(tt.want, got.Relevance, near); diff != "" || got.Prompts != tt.prompts {
			t.Errorf("%s: %d prompts, want %d (-want +got):\n%s", tt.name, got.Prompts, tt.prompts, diff)
		}
	}
	if names, list := measures(), new(Relevance).fields(); len(names) != len(list) {
		t.Errorf("%d names for %d measures", len(names), len(list))
	}
}

func TestBootstrap(t *testing.T) {
	if got, want := bootstrap(1, []float64{.3, .3, .3}), (Estimate{.3, .3, .3}); !cmp.Equal(got, want, near) {
		t.Errorf("all alike: %+v, want %+v", got, want)
	}
	if got := bootstrap(1, nil, nil); got != (Estimate{}) {
		t.Errorf("nothing: %+v", got)
	}
	if got, want := bootstrap(1, []float64{1, 1}, nil, []float64{0}), (Estimate{.5, .5, .5}); got != want {
		t.Errorf("two sets: %+v, want %+v", got, want)
	}
	var coin []float64 // the mean of 400 has a deviation of .025
	for i := range 400 {
		coin = append(coin, float64(i%2))
	}
	got := bootstrap(1, coin)
	if got.Value != .5 || math.Abs(got.Low-.451) > .01 || math.Abs(got.High-.549) > .01 {
		t.Errorf("a coin: %+v, want about .5, .451, .549", got)
	}
	if again := bootstrap(1, coin); again != got {
		t.Errorf("the same seed gives %+v, then %+v", got, again)
	}
}

func TestReliability(t *testing.T) {
	got := Reliability([]Outcome{{0, false}, {.05, false}, {.25, true}, {.25, false}, {.9, true}, {1, true}, {1.5, true}, {-1, false}})
	want := make([]Bin, 10)
	for i := range want {
		want[i].From = float64(i) / 10
	}
	want[0] = Bin{0, 3, .05 / 3, 0}
	want[2] = Bin{.2, 2, .25, .5}
	want[9] = Bin{.9, 3, 2.9 / 3, 1}
	if diff := cmp.Diff(Calibration{(.05 + .5 + .1) / 8, want}, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if empty := Reliability(nil); empty.Error != 0 || len(empty.Bins) != 10 {
		t.Errorf("nothing: %+v", empty)
	}
}

func TestQuantile(t *testing.T) {
	list := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, .25: 1, .5: 2, .51: 3, .99: 4, 1: 4} {
		if got := quantile(list, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := quantile(nil, .5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
