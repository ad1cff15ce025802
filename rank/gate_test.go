package rank_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
)

// simple is a gate with simple weights: the log odds are the nearness, or the strength, of the best
// candidate, minus 1.
var simple = rank.Gate{
	Vectors: rank.Logit{Base: -1, Nearness: 1, Spread: 1}, Text: rank.Logit{Base: -1, Strength: 1, Spread: 1},
	Threshold: .5, Least: .25,
}

// judged returns the demand of candidates and the IDs of the relevant ones.
func judged(g rank.Gate, in []rank.Candidate, from rank.Known) (rank.Demand, []rank.Scored, []string) {
	scored := rank.Order(in, 0, plain)
	d := g.Judge(scored, from)
	var relevant []string
	for _, s := range scored {
		if s.Relevant {
			relevant = append(relevant, s.ID)
		}
	}
	return d, scored, relevant
}

func TestJudge(t *testing.T) {
	text := func(id string, lexical, strength float64) rank.Candidate {
		return rank.Candidate{ID: id, Values: values(lexical), Strength: strength}
	}
	named := rank.Candidate{ID: "n", Exact: true}
	for _, tt := range []struct {
		name   string
		in     []rank.Candidate
		demand float64 // log odds
		want   []string
	}{
		{"strong", []rank.Candidate{text("a", 1, 2)}, 1, []string{"a"}},
		{"weak", []rank.Candidate{text("a", 1, .9)}, -.1, nil},
		{"just enough", []rank.Candidate{text("a", 1, 1)}, 0, []string{"a"}},
		{"the best counts, not the strongest", []rank.Candidate{text("a", 1, 2), text("b", .01, 3)}, 1, []string{"a", "b"}},
		// The demand is .88; the others have e to the power of -.5 and of -.75 of it, and of -1.5.
		{"further ones that are likely enough", []rank.Candidate{text("a", 4, 3), text("b", 2, 0), text("c", 1, 0)}, 2, []string{"a", "b", "c"}},
		{"strength has a limit", []rank.Candidate{text("a", 1, 1000)}, 5, []string{"a"}},
		{"named in spite of all", []rank.Candidate{text("a", 1, 0), named}, -1, []string{"n"}},
		{"named beside another", []rank.Candidate{text("a", 1, 2), named}, 1, []string{"n", "a"}},
	} {
		d, scored, got := judged(simple, tt.in, rank.Known{Skills: 100})
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: relevant are %q, want %q", tt.name, got, tt.want)
		}
		if want := 1 / (1 + math.Exp(-tt.demand)); math.Abs(d.Probability-want) > 1e-12 {
			t.Errorf("%s: demand %v, want %v", tt.name, d.Probability, want)
		}
		last := 0.0
		for _, s := range scored {
			switch {
			case s.Exact && s.Probability != 1:
				t.Errorf("%s: %s is named and has a probability of %v", tt.name, s.ID, s.Probability)
			case !s.Exact && last == 0 && s.Probability != d.Probability:
				t.Errorf("%s: the best has the probability %v, the demand is %v", tt.name, s.Probability, d.Probability)
			case !s.Exact && last > 0 && s.Probability > last:
				t.Errorf("%s: %s has the probability %v after %v", tt.name, s.ID, s.Probability, last)
			}
			if !s.Exact {
				last = s.Probability
			}
		}
	}
	for _, in := range [][]rank.Candidate{nil, {named}} {
		if d, _, _ := judged(simple, in, rank.Known{}); d.Probability != 0 || d.Terms != nil {
			t.Errorf("%v: demand %v", in, d)
		}
	}
}

// TestJudgeScale: cosines count only if they are calibrated.
func TestJudgeScale(t *testing.T) {
	in := []rank.Candidate{{ID: "a", Values: values(1, .9, .6), Strength: 5}}
	for calibrated, want := range map[bool]float64{true: .5, false: 4} {
		d, _, _ := judged(simple, in, rank.Known{Skills: 100, Calibrated: calibrated})
		if got := math.Log(d.Probability / (1 - d.Probability)); math.Abs(got-want) > 1e-9 {
			t.Errorf("calibrated %v: log odds %v, want %v", calibrated, got, want)
		}
	}
	in[0].Values = values(1)
	if d, _, _ := judged(simple, in, rank.Known{Skills: 100, Calibrated: true}); d.Probability < .9 {
		t.Errorf("without vectors: %v, want the probability of the text alone", d.Probability)
	}
}

// TestDefaultGate: more evidence never makes a skill less probable, and a larger catalog
// never makes it more probable.
func TestDefaultGate(t *testing.T) {
	weak := rank.Candidate{ID: "a", Values: values(1, .2, .2), Strength: 1, Coverage: .1}
	demand := func(c rank.Candidate, from rank.Known) float64 {
		d, _, _ := judged(rank.DefaultGate(), []rank.Candidate{c}, from)
		return d.Probability
	}
	for _, calibrated := range []bool{true, false} {
		from := rank.Known{Skills: 1000, Calibrated: calibrated}
		before := demand(weak, from)
		for name, raise := range map[string]func(*rank.Candidate){
			"strength": func(c *rank.Candidate) { c.Strength++ },
			"coverage": func(c *rank.Candidate) { c.Coverage += .2 },
			"nearness": func(c *rank.Candidate) { add(c, rank.Description, .2) },
		} {
			more := weak
			raise(&more)
			if after := demand(more, from); after < before || after == before && (calibrated || name != "nearness") {
				t.Errorf("calibrated %v: more %s makes %v of %v", calibrated, name, after, before)
			}
		}
		if more := (rank.Known{Skills: 20_000, Calibrated: calibrated}); demand(weak, more) >= before {
			t.Errorf("calibrated %v: as probable among more skills", calibrated)
		}
		if few, one := (rank.Known{Skills: 20, Calibrated: calibrated}), (rank.Known{Skills: 1, Calibrated: calibrated}); demand(weak, few) != demand(weak, one) {
			t.Error("a catalog of one skill says something about chance")
		}
	}
}

// TestJudgeContextual: the log odds go from those of the embedder to those of the encoder as
// more candidates have the encoder's cosine.
func TestJudgeContextual(t *testing.T) {
	g := simple
	g.Contextual = rank.Logit{Base: -2, Nearness: .5, Sentence: 4, Spread: .5}
	for with, want := range []float64{.2 - 1, (.2 - 1 + .1 + 4*.64 - 2) / 2, .1 + 4*.64 - 2} {
		in := []rank.Candidate{{ID: "a", Values: values(1, .1, .1)}, {ID: "b", Values: values(1, .1, .1)}}
		for i := range with {
			in[i].Set(rank.Sentence, .8-.1*float64(i))
		}
		d, _, _ := judged(g, in, rank.Known{Calibrated: true})
		if got := math.Log(d.Probability / (1 - d.Probability)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of 2 candidates have the encoder's cosine: log odds %v, want %v", with, got, want)
		}
		sum := 0.0
		for _, x := range d.Terms {
			sum += x.Value * x.Weight
		}
		if math.Abs(sum-want) > 1e-9 {
			t.Errorf("%d of 2: the terms add up to %v, want %v", with, sum, want)
		}
	}
}

// TestJudgeDistance: a candidate that stands above the next ones is likelier than one among its like,
// and one that is alone is neither.
func TestJudgeDistance(t *testing.T) {
	g := rank.Gate{Text: rank.Logit{Lead: 1, Margin: 1, Spread: 1}}
	of := func(lexical ...float64) (list []rank.Candidate) {
		for i, x := range lexical {
			list = append(list, rank.Candidate{ID: string(rune('a' + i)), Values: values(x)})
		}
		return list
	}
	for _, tt := range []struct {
		in   []rank.Candidate
		want float64 // log odds
	}{
		{of(2, 1), .5 + .5}, // Order divides by the highest
		{of(2, 2), 0},
		{of(2, 2, 1, 1, 1, 1), 0 + 1 - (1+.5+.5+.5+.5)/5},
		{of(2, 1, 1, 1, 1, 1, 0, 0, 0), .5 + .5}, // the next five count
		{of(2), .5 + .5},
	} {
		d, _, _ := judged(g, tt.in, rank.Known{})
		if got := math.Log(d.Probability / (1 - d.Probability)); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: log odds %v, want %v", tt.in, got, tt.want)
		}
	}
}
