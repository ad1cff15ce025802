package bench

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
)

const (
	depth = 50 // number of hits that are judged
	shown = 10 // number of hits that are kept in a result
)

// Options of Run; nil means all prompts, and a seed of 0.
type Options struct {
	// Limit is the size of two samples: of the prompts that need a skill, and of the
	// prompts that need none. 0 means all prompts.
	Limit int
	Seed  uint64
	// Disturb and Threshold are passed to search.Query.
	Disturb, Threshold float64
	// Step is called after each prompt; nil means no call.
	Step func(done, all int)
}

// Run measures the prompts of d against c. It leaves out prompts that are labelled
// neither with a skill nor as needing none.
func Run(ctx context.Context, c *Catalog, d *Dataset, opts *Options) (Set, error) {
	if opts == nil {
		opts = &Options{}
	}
	queries := d.Sample(opts.Limit, opts.Seed)
	r := &runner{catalog: c, searcher: &searcher{Searcher: c.search}, modes: make(map[string]int), disturb: opts.Disturb, threshold: opts.Threshold}
	r.provider = contextprovider.New(r.searcher, nil) // nothing is pinned, so no file is read
	// Search once before measuring, because the first search reads the catalog.
	if _, err := c.search.Search(ctx, search.Query{Text: d.Name}); err != nil {
		return Set{}, err
	}
	answered := make([]Answered, len(queries))
	for i, q := range queries {
		var err error
		if answered[i], err = r.answer(ctx, q); err != nil {
			return Set{}, err
		}
		if opts.Step != nil {
			opts.Step(i+1, len(queries))
		}
	}
	s := summary(answered, opts.Seed)
	s.Set, s.Skills, s.Modes, s.Gate.AllTokens = d.Name, c.Skills, r.modes, c.Tokens
	s.Latency, s.Calibration = latency(r.searcher.took), r.calibration()
	return s, nil
}

// A searcher keeps the answer that a block was made of. So one search gives both the
// ranking and the block, and its time is the time that a prompt costs.
type searcher struct {
	*search.Searcher
	answer search.Answer // of the last search
	took   []float64     // of all searches, in milliseconds
}

func (s *searcher) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	q.Limit, q.Relevant = max(q.Limit, depth), false // the block itself leaves out what is not relevant
	start := time.Now()
	answer, err := s.Searcher.Search(ctx, q)
	s.took = append(s.took, float64(time.Since(start))/float64(time.Millisecond))
	s.answer = answer
	return answer, err
}

// runner is one Run under way.
type runner struct {
	catalog   *Catalog
	searcher  *searcher
	provider  *contextprovider.Provider
	modes     map[string]int
	disturb   float64
	threshold float64
	outcomes  []Outcome
}

func (r *runner) answer(ctx context.Context, q Query) (Answered, error) {
	block, err := r.provider.Block(ctx, q.Text, contextprovider.Budget{Disturb: r.disturb, Threshold: r.threshold}, nil)
	if err != nil {
		return Answered{}, err
	}
	r.modes[block.Mode]++
	hits := r.searcher.answer.Hits
	ids, listed := r.catalog.idsOf(hits), r.catalog.idsOf(block.Skills)
	a := Answered{
		ID: q.ID, Kind: q.Kind, Lang: q.Lang, Wanted: len(q.Wanted), Ranks: Ranks(ids[:min(depth, len(ids))], q.Wanted),
		Injected: len(listed), Fitting: len(Ranks(listed, q.Wanted)), Tokens: block.Tokens, Top: ids[:min(shown, len(ids))],
	}
	if len(a.Ranks) > 0 {
		a.Rank = a.Ranks[0]
	}
	a.NDCG = a.relevance().NDCG10
	r.predict(hits[:min(shown, len(hits))], ids, q.Wanted)
	return a, nil
}

// predict notes the probabilities of the first hits of a prompt.
func (r *runner) predict(hits []search.Hit, ids, wanted []string) {
	for i, h := range hits {
		r.outcomes = append(r.outcomes, Outcome{h.Probability, slices.Contains(wanted, ids[i])})
	}
}

func (r *runner) calibration() *Calibration {
	if len(r.outcomes) == 0 {
		return nil
	}
	c := Reliability(r.outcomes)
	return &c
}

func latency(took []float64) Latency {
	slices.Sort(took)
	return Latency{P50: quantile(took, .5), P99: quantile(took, .99)}
}

// summary computes all figures of a set from its answers.
func summary(answered []Answered, seed uint64) Set {
	s := Set{Metrics: []Named{}, Breakdown: breakdown(answered, seed), Queries: answered}
	values := lists(answered)
	for _, name := range Measures() {
		if s.Prompts = len(values[name]); s.Prompts > 0 {
			s.Metrics = append(s.Metrics, Named{name, Bootstrap(seed, values[name])})
		}
	}
	s.Gate = Gate{
		None:           len(values[falseInjection]),
		FalseInjection: Bootstrap(seed, values[falseInjection]),
		Coverage:       Bootstrap(seed, values[coverage]),
		Precision:      Bootstrap(seed, values[precision]),
	}
	for _, a := range answered {
		s.Gate.Tokens += float64(a.Tokens) / float64(len(answered))
	}
	return s
}

// Names of the measures of the gate.
const (
	falseInjection = "false_injection"
	coverage       = "coverage"
	precision      = "precision"
)

// values returns the value of one answer for each measure that applies to it.
func (a *Answered) values() map[string]float64 {
	v := make(map[string]float64)
	if a.Wanted == 0 {
		v[falseInjection] = float64(min(1, a.Injected))
		return v
	}
	names := Measures()
	for i, value := range a.relevance().List() {
		v[names[i]] = value
	}
	v[coverage] = float64(min(1, a.Fitting))
	if a.Injected > 0 {
		v[precision] = float64(a.Fitting) / float64(a.Injected)
	}
	return v
}

// lists collects the values of all answers by measure.
func lists(answered []Answered) map[string][]float64 {
	out := make(map[string][]float64)
	for i := range answered {
		for name, v := range answered[i].values() {
			out[name] = append(out[name], v)
		}
	}
	return out
}

// breakdown returns Hit@1 by kind and by language, if there are several.
func breakdown(answered []Answered, seed uint64) []Part {
	parts := []Part{}
	for _, by := range []struct {
		name string
		of   func(*Answered) string
	}{
		{"kind", func(a *Answered) string { return a.Kind }},
		{"lang", func(a *Answered) string { return a.Lang }},
	} {
		groups := make(map[string][]float64)
		for i := range answered {
			if a := &answered[i]; a.Wanted > 0 {
				groups[by.of(a)] = append(groups[by.of(a)], a.relevance().Hit1)
			}
		}
		if len(groups) < 2 {
			continue
		}
		for of, hits := range groups {
			parts = append(parts, Part{by.name, of, len(hits), Bootstrap(seed, hits)})
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Of, b.Of)) })
	return parts
}

// NewResult adds the means over the sets.
func NewResult(sets []Set, seed uint64) Result {
	r := Result{Seed: seed, Sets: sets, Mean: []Named{}}
	for _, name := range append(Measures(), coverage, falseInjection, precision) {
		var groups [][]float64
		for _, s := range sets {
			if list := lists(s.Queries)[name]; len(list) > 0 {
				groups = append(groups, list)
			}
		}
		if len(groups) > 0 {
			r.Mean = append(r.Mean, Named{name, Bootstrap(seed, groups...)})
		}
	}
	return r
}
