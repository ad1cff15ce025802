package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

// plain are weights that make scores easy to add up.
var plain = rank.Params{Legs: [rank.Legs]float64{1, .5, .5}, Name: .25, Mention: 2, Trigger: .5, Exact: 10}

// values returns the values of the first legs: text, description, full text.
func values(list ...float64) (v rank.Values) {
	for l, x := range list {
		v.Set(rank.Leg(l), x)
	}
	return v
}

// ids returns "id score" of all, in order.
func ids(scored []rank.Scored) []string {
	var list []string
	for _, s := range scored {
		list = append(list, fmt.Sprintf("%s %.4g", s.ID, s.Score))
	}
	return list
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []rank.Candidate
		want []string
	}{
		{"nothing", nil, nil},
		{"text only, divided by the maximum", []rank.Candidate{
			{ID: "a", Values: values(2)}, {ID: "b", Values: values(8), NameMatch: .5}, {ID: "c", Values: values(4), NameMatch: 1},
		}, []string{"b 1.125", "c 0.75", "a 0.25"}},
		{"no text at all", []rank.Candidate{{ID: "a"}, {ID: "b", NameMatch: 1}}, []string{"b 0.25", "a 0"}},
		{"ties by ID", []rank.Candidate{{ID: "c", Values: values(1)}, {ID: "a", Values: values(1)}, {ID: "b", Values: values(1)}},
			[]string{"a 1", "b 1", "c 1"}},
		{"vectors", []rank.Candidate{
			{ID: "a", Values: values(4, .2, .2)},
			{ID: "b", Values: values(1, 1, .8)},
		}, []string{"a 1.2", "b 1.15"}},
		// The means of the others are .4 and .2: 1 + .5·.4 + .5·.2.
		{"missing vectors get the mean", []rank.Candidate{
			{ID: "a", Values: values(0, .6, .4)},
			{ID: "b", Values: values(0, .2, 0)},
			{ID: "c", Values: values(3)},
		}, []string{"c 1.3", "a 0.5", "b 0.1"}},
		{"each leg has its own mean", []rank.Candidate{{ID: "a", Values: values(0, .8)}, {ID: "b", Values: values(1, .4, .2)}, {ID: "c", Values: values(0)}},
			[]string{"b 1.3", "a 0.5", "c 0.4"}},
		{"an exact name beats everything", []rank.Candidate{
			{ID: "a", Values: values(100, 1, 1), NameMatch: 1, Coverage: 1},
			{ID: "b", Values: values(0, -1, -1), Exact: true},
		}, []string{"b 9", "a 2.25"}},
		{"a trigger counts by its value, and like a name if it is certain", []rank.Candidate{
			{ID: "a", Values: values(1)}, {ID: "b", Trigger: .5}, {ID: "c", Trigger: 1, Exact: true, Triggered: true},
		}, []string{"c 10.5", "a 1", "b 0.25"}},
		{"a mention does not", []rank.Candidate{{ID: "a", Values: values(1)}, {ID: "b", Mention: .25}}, []string{"a 1", "b 0.5"}},
	} {
		if got := ids(rank.Order(tt.in, 0, plain)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOrderFull: a weak match does not count as a full one because no other is stronger.
func TestOrderFull(t *testing.T) {
	in := []rank.Candidate{{ID: "a", Values: values(2)}, {ID: "b", Values: values(1), NameMatch: 1}}
	for full, want := range map[float64][]string{
		0: {"a 1", "b 0.75"},
		1: {"a 1", "b 0.75"}, // the maximum is more
		8: {"b 0.375", "a 0.25"},
	} {
		if got := ids(rank.Order(in, full, plain)); !reflect.DeepEqual(got, want) {
			t.Errorf("full match %v: %q, want %q", full, got, want)
		}
	}
}

// TestNameMatch: a longer name that the prompt has in full says more than a shorter one.
func TestNameMatch(t *testing.T) {
	last := 0.0
	for words := 1; words < 8; words++ {
		if got := rank.NameMatch(words, words); got <= last || got >= 1 || rank.NameMatch(words-1, words) >= got {
			t.Errorf("%d words: %v, one less: %v", words, got, last)
		} else {
			last = got
		}
	}
	if got := rank.NameMatch(0, 0); got != 0 {
		t.Errorf("no words: %v", got)
	}
}

func TestScoreIsSumOfTerms(t *testing.T) {
	for _, s := range rank.Order(random(rand.New(rand.NewPCG(1, 1)), 50), 0, rank.Defaults()) {
		sum := 0.0
		for _, term := range s.Terms {
			sum += term.Value * term.Weight
		}
		if sum != s.Score {
			t.Errorf("%s: terms add up to %v, score %v", s.ID, sum, s.Score)
		}
	}
}

func TestDefaultsExactIsLargest(t *testing.T) {
	p := rank.Defaults()
	// Cosines reach from -1 to 1.
	if rest := p.Legs[rank.Text] + 2*p.Legs[rank.Description] + 2*p.Legs[rank.Full] + p.Name + p.Mention; p.Exact <= rest {
		t.Errorf("an exact name weighs %v, all else up to %v", p.Exact, rest)
	}
}

// random returns n candidates whose values are multiples of 1/64, so that their sums are
// exact.
func random(rng *rand.Rand, n int) []rank.Candidate {
	step := func(low, high int) float64 { return float64(low+rng.IntN(high-low+1)) / 64 }
	list := make([]rank.Candidate, n)
	for i := range list {
		list[i] = rank.Candidate{
			ID: fmt.Sprintf("s%03d", i), Values: values(append([]float64{step(0, 640)}, []float64{step(-64, 64), step(-64, 64)}[:2*min(1, rng.IntN(4))]...)...),
			NameMatch: step(0, 64), Coverage: step(0, 64), Exact: rng.IntN(20) == 0,
		}
	}
	return list
}

// TestOrderShuffled: the order of the candidates must not change a single bit.
func TestOrderShuffled(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	in := random(rng, 60)
	for i := range in { // sums of these depend on their order
		if _, ok := in[i].CosineSum(); ok {
			in[i].Values = values(in[i].Value(rank.Text), rng.Float64()*2-1, rng.Float64()*2-1)
		}
	}
	want := rank.Order(in, 0, rank.Defaults())
	for range 50 {
		before := slices.Clone(in)
		if got := rank.Order(in, 0, rank.Defaults()); !reflect.DeepEqual(got, want) {
			t.Fatal("another order in, other scores out")
		}
		if !reflect.DeepEqual(in, before) {
			t.Fatal("the input was changed")
		}
		rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	}
}

// TestOrderSentences: where an encoder knows only some skills, the others get what it would
// probably say, and what it says counts for the share of those that it knows.
func TestOrderSentences(t *testing.T) {
	known, other := rank.Candidate{ID: "a", Values: values(1, .2, .2, .6)}, rank.Candidate{ID: "b", Values: values(1, .2, .2)}
	sentence := func(all ...rank.Candidate) (list []float64) {
		for _, s := range rank.Order(all, 0, rank.Defaults()) {
			for _, term := range s.Terms {
				if term.Name == rank.Sentence.String() {
					list = append(list, term.Value)
				}
			}
		}
		return list
	}
	if got := sentence(known); !slices.Equal(got, []float64{.6}) {
		t.Errorf("known alone: %v, want its cosine", got)
	}
	if got := sentence(other); got != nil {
		t.Errorf("without any vector: %v, want no such term", got)
	}
	if got := sentence(known, other); len(got) != 2 || got[1] < .05 || got[1] > .2 || math.Abs(got[0]-(.6+got[1])/2) > 1e-9 {
		t.Errorf("one of two known: %v, want something usual for the other, and halfway to it", got)
	}
}

// TestOrderMonotone: a higher value of any feature never lowers a candidate's rank.
func TestOrderMonotone(t *testing.T) {
	features := map[string]func(*rank.Candidate){
		"lexical":     func(c *rank.Candidate) { add(c, rank.Text, .5) },
		"description": func(c *rank.Candidate) { add(c, rank.Description, .125) },
		"full":        func(c *rank.Candidate) { add(c, rank.Full, .125) },
		"name":        func(c *rank.Candidate) { c.NameMatch += .125 },
		"mention":     func(c *rank.Candidate) { c.Mention += .125 },
		"exact":       func(c *rank.Candidate) { c.Exact = true },
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		in := random(rng, 20)
		i := rng.IntN(len(in))
		before := place(rank.Order(in, 0, rank.Defaults()), in[i].ID)
		for name, raise := range features {
			more := slices.Clone(in)
			raise(&more[i])
			if after := place(rank.Order(more, 0, rank.Defaults()), in[i].ID); after > before {
				t.Errorf("more %s moved %+v from %d to %d", name, in[i], before, after)
			}
		}
	}
}

// add adds to the value of a leg that has one.
func add(c *rank.Candidate, l rank.Leg, x float64) {
	if _, ok := c.CosineSum(); ok || l == rank.Text {
		c.Set(l, c.Value(l)+x)
	}
}

func place(scored []rank.Scored, id string) int {
	return slices.IndexFunc(scored, func(s rank.Scored) bool { return s.ID == id })
}

func TestOrderFinite(t *testing.T) {
	for _, s := range rank.Order(random(rand.New(rand.NewPCG(4, 4)), 100), 0, rank.Defaults()) {
		if math.IsNaN(s.Score) || math.IsInf(s.Score, 0) {
			t.Errorf("%s: score %v", s.ID, s.Score)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	in := random(rand.New(rand.NewPCG(5, 5)), 200)
	b.ReportAllocs()
	for b.Loop() {
		rank.Order(in, 0, rank.Defaults())
	}
}
