package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	most        = 10  // number of changed prompts that a comparison lists, better and worse each
	significant = .05 // a difference with a lower p-value is significant
)

// A Comparison compares two measurements of one set.
type Comparison struct {
	Set     string   `json:"set"`
	Paired  int      `json:"paired"`  // number of prompts that both measured with the same labels
	Metrics []Change `json:"metrics"` // over these prompts
	// Worsened holds the names of the metrics that are significantly worse.
	Worsened []string `json:"worsened"`
	Better   []Moved  `json:"better"` // prompts whose nDCG@10 rose most, then prompts whose wanted skill rose most
	Worse    []Moved  `json:"worse"`  // the same for falls
}

// A Change is the difference of one measure.
type Change struct {
	Name       string  `json:"name"`
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
	Difference float64 `json:"difference"`
	P          float64 `json:"p"` // see significance
}

// A Moved is one prompt whose wanted skill has another place.
type Moved struct {
	ID         string  `json:"id"`
	Before     int     `json:"before"` // rank; 0 means not found
	After      int     `json:"after"`
	Difference float64 `json:"difference"` // of nDCG@10
}

// Compare pairs the sets of two results by name, and their prompts by ID. It leaves out
// sets that only one result has.
func Compare(before, after Result) []Comparison {
	list := []Comparison{}
	for _, now := range after.Sets {
		for _, then := range before.Sets {
			if then.Set == now.Set {
				list = append(list, compareSets(then, now, after.Seed))
			}
		}
	}
	return list
}

// direction returns 1 for a measure of which more is better, -1 for one of which less is
// better, and 0 for the number of entries, of which neither is.
func direction(measure string) float64 {
	measure, _, _ = strings.Cut(measure, "@")
	if measure == falseInjection {
		return -1
	}
	for _, f := range figures {
		if f.name == measure {
			return f.better
		}
	}
	return 1
}

// A pair is one prompt, measured twice.
type pair struct{ before, after *PromptResult }

func compareSets(before, after Set, seed uint64) Comparison {
	pairs := pairsOf(before.Queries, after.Queries)
	c := Comparison{Set: after.Set, Paired: len(pairs), Metrics: []Change{}, Worsened: []string{}}
	old, now := make(map[string][]ratio), make(map[string][]ratio)
	for _, p := range pairs {
		x, y := before.ratios(p.before), after.ratios(p.after)
		for name := range x {
			if _, also := y[name]; also {
				old[name], now[name] = append(old[name], x[name]), append(now[name], y[name])
			}
		}
	}
	for _, name := range allMeasures() {
		if len(old[name]) == 0 {
			continue
		}
		x, y := total(old[name]).value(), total(now[name]).value()
		m := Change{name, x, y, y - x, significance(seed, old[name], now[name])}
		c.Metrics = append(c.Metrics, m)
		if m.P < significant && m.Difference*direction(name) < 0 {
			c.Worsened = append(c.Worsened, name)
		}
	}
	c.Better, c.Worse = moved(pairs, 1), moved(pairs, -1)
	return c
}

func pairsOf(before, after []PromptResult) []pair {
	byID := make(map[string]*PromptResult)
	for i := range before {
		byID[before[i].ID] = &before[i]
	}
	var pairs []pair
	for i := range after {
		if b := byID[after[i].ID]; b != nil && b.Wanted == after[i].Wanted && b.Owner == after[i].Owner {
			pairs = append(pairs, pair{b, &after[i]})
		}
	}
	return pairs
}

// moved lists the prompts that changed most in one direction: 1 is better.
func moved(pairs []pair, direction float64) []Moved {
	list := []Moved{}
	for _, p := range pairs {
		m := Moved{p.after.ID, p.before.Rank, p.after.Rank, p.after.NDCG - p.before.NDCG}
		if change := cmp.Or(m.Difference, rise(m)); change*direction > 0 {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Moved) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)),
			cmp.Compare(math.Abs(rise(b)), math.Abs(rise(a))),
			cmp.Compare(a.ID, b.ID))
	})
	return list[:min(most, len(list))]
}

// rise returns how many places the first wanted skill rose. A skill that was not found
// counts as just behind the last place.
func rise(m Moved) float64 {
	place := func(rank int) int {
		if rank == 0 {
			return depth + 1
		}
		return rank
	}
	return float64(place(m.Before) - place(m.After))
}
