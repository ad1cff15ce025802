package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

func TestThresholdFor(t *testing.T) {
	above := func(x float64) float64 { return math.Nextafter(x, 2) }
	for _, tt := range []struct {
		name   string
		rate   float64
		scores []float64
		want   float64
	}{
		{"none may pass", 0, []float64{.2, .5}, above(.5)},
		{"one of four", .25, []float64{.2, .5, .9, .4}, above(.5)},
		{"less than one", .24, []float64{.2, .5, .9, .4}, above(.9)},
		{"a tie passes or fails as one", .25, []float64{.2, .5, .5, .4}, above(.5)},
		{"a tie that may pass", .5, []float64{.2, .5, .5, .4}, above(.4)},
		{"one names a skill for certain", .25, []float64{.2, .5, 1, .4}, above(.5)},
		{"more than may name a skill for certain", .25, []float64{.2, 1, 1, .4}, above(1)},
		{"few are ever offered anything", .25, []float64{-1, -1, .3, -1}, 0},
		{"all may pass", 1, []float64{.2, .5}, 0},
		{"7 of 100", .07, make([]float64, 100), above(0)},
	} {
		if got := thresholdFor(tt.rate, tt.scores); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i) / 100
	}
	if got := thresholdFor(.07, hundred); got != above(.92) {
		t.Errorf("7 of 100 different ones: %v", got)
	}
}

// offered returns prompts: 40 that need no skill, 4 that need one, and 2 near misses.
func offered() []PromptResult {
	var list []PromptResult
	add := func(id string, a PromptResult) {
		a.ID = id
		given := a.block(.5)
		a.Injected, a.Fitting = given.Listed, given.Fitting
		list = append(list, a)
	}
	for i := range 40 {
		add("none", PromptResult{Demand: float64(i) / 50, Always: Listing{Listed: 1}}) // up to .78
	}
	add("sure", PromptResult{Wanted: 1, Ranks: []int{1}, Demand: .9, Always: Listing{Listed: 2, Fitting: 1}, Style: "terse"})
	add("likely", PromptResult{Wanted: 1, Ranks: []int{2}, Demand: .77, Always: Listing{Listed: 4, Fitting: 1}})
	add("wrong", PromptResult{Wanted: 1, Demand: .76, Always: Listing{Listed: 3}})
	add("named", PromptResult{Wanted: 1, Ranks: []int{1}, Demand: .1, Always: Listing{Listed: 3, Fitting: 1}, Certain: Listing{Listed: 1, Fitting: 1}})
	add("near", PromptResult{Owner: "a", Demand: .95, Always: Listing{Listed: 1, Own: 1}})
	add("nearer", PromptResult{Owner: "a", Demand: .745, Always: Listing{Listed: 1}})
	return list
}

func TestCurve(t *testing.T) {
	s := summary(offered(), .5, 1)
	if s.Prompts != 4 || s.NearMisses != 2 || s.Gate.None != 40 {
		t.Errorf("%d prompts, %d near misses, %d that need none", s.Prompts, s.NearMisses, s.Gate.None)
	}
	values := func(f Figures) []float64 {
		return []float64{f.Coverage.Value, f.Entries.Value, f.PerPrompt.Value, f.Right.Value, f.NearOwn.Value, f.NearAny.Value}
	}
	for _, tt := range []struct {
		rate, disturbed float64
		want            []float64
	}{
		{.01, 0, []float64{.5, 1.5, .75, 2. / 3, .5, .5}},         // above .78: sure, named
		{.02, 0, []float64{.5, 1.5, .75, 2. / 3, .5, .5}},         // a fortieth is 2.5 %
		{.03, .025, []float64{.75, 7. / 3, 1.75, 3. / 7, .5, .5}}, // above .76: likely too
		{.05, .05, []float64{.75, 2.5, 2.5, .3, .5, 1}},           // above .74: all
		{.10, .1, []float64{.75, 2.5, 2.5, .3, .5, 1}},
	} {
		p := s.point(tt.rate)
		if diff := cmp.Diff(tt.want, values(p.Figures), near); diff != "" {
			t.Errorf("at %g (-want +got):\n%s", tt.rate, diff)
		}
		if math.Abs(p.Disturbed-tt.disturbed) > 1e-9 {
			t.Errorf("at %g: %g disturbed, want %g", tt.rate, p.Disturbed, tt.disturbed)
		}
		if e := p.Coverage; e.Low > e.Value || e.High < e.Value || e.Low == e.High {
			t.Errorf("at %g: %+v", tt.rate, e)
		}
	}
	if diff := cmp.Diff([]float64{.75, 2.5, 2.5, .3, .5, 1}, values(s.Gate.Figures), near); diff != "" {
		t.Errorf("at the threshold (-want +got):\n%s", diff)
	}
	if len(s.Breakdown) != 2 || s.Breakdown[1].Of != "terse" || s.Breakdown[1].Coverage5.Value != 1 {
		t.Errorf("by style: %+v", s.Breakdown)
	}
	mean := make(map[string]float64)
	for _, m := range NewResult([]Set{s, s}, 1).Mean {
		mean[m.Name] = m.Value
	}
	for name, want := range map[string]float64{"coverage": .75, "right@3%": 3. / 7, "near_any@3%": .5, "entries@5%": 2.5} {
		if got, ok := mean[name]; !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("mean %s: %v, want %v", name, got, want)
		}
	}
}

// TestCurveInterval: an interval includes that other prompts would have set another
// threshold.
func TestCurveInterval(t *testing.T) {
	var list []PromptResult
	for i := range 100 {
		demand := float64(i) / 100
		list = append(list, PromptResult{Demand: demand, Always: Listing{Listed: 1}}, PromptResult{Wanted: 1, Demand: demand, Always: Listing{Listed: 1, Fitting: 1}})
	}
	s := summary(list, thresholdFor(.05, sorted(list).none), 1)
	at, fixed := s.point(.05).Coverage, s.Gate.Coverage
	if at.Value != fixed.Value || at.High-at.Low < 1.2*(fixed.High-fixed.Low) {
		t.Errorf("%+v with a threshold that is drawn, %+v with a fixed one", at, fixed)
	}
	if without := summary(list[1:2], .5, 1); len(without.Curve) != 0 {
		t.Errorf("a curve without prompts that need no skill: %+v", without.Curve)
	}
}

// TestBlocksAreReal: what a threshold lets through is what the provider offers with it.
func TestBlocksAreReal(t *testing.T) {
	d := pets(t)
	for i, text := range []string{"post", "thanks!", "ls -la", "/cat feed", "tuna for the kitten, and letters", "use the post skill to feed the cat", "zebra crossing"} {
		d.Queries = append(d.Queries, Query{ID: "more" + string(rune('0'+i)), Text: text, Kind: "none"})
	}
	c, err := NewCatalog(t.Context(), d, nil)
	must.Do(t, err)
	defer c.Close() // a file in the temporary folder
	p := contextprovider.New(c.search, nil)
	seen := make(map[bool]int)
	for _, threshold := range []float64{search.Always, .01, .3, rank.DefaultGate().Threshold, .999} {
		s, err := Run(t.Context(), c, d, &Options{Threshold: threshold})
		must.Do(t, err)
		if want := max(0, threshold); s.Gate.Threshold != want {
			t.Errorf("threshold %v, want %v", s.Gate.Threshold, want)
		}
		for _, a := range s.Queries {
			for _, q := range d.Queries {
				if q.ID != a.ID {
					continue
				}
				b, err := p.Block(t.Context(), q.Text, contextprovider.Budget{Threshold: threshold, Command: "skills"}, nil)
				must.Do(t, err)
				seen[len(b.Skills) > 0]++
				if fitting := len(ranksOf(c.idsOf(b.Skills), q.Wanted)); a.Injected != len(b.Skills) || a.Fitting != fitting || a.Tokens != b.Tokens {
					t.Errorf("%q at %g: %d listed, %d fitting, %d tokens; the provider: %d, %d, %d",
						q.Text, threshold, a.Injected, a.Fitting, a.Tokens, len(b.Skills), fitting, b.Tokens)
				}
			}
		}
	}
	if seen[true] < 10 || seen[false] < 10 {
		t.Errorf("%d blocks with skills, %d without", seen[true], seen[false])
	}
}
