package bench

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/rank"
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
	// Disturb, Unfit and Threshold are passed to search.Query.
	Disturb, Unfit, Threshold float64
	// LeaveOneOut asks each prompt that needs a skill once more, as if the skills that it needs and
	// their copies were not there: a prompt of the kind absent.
	LeaveOneOut bool
	// Step is called after each prompt; nil means no call.
	Step func(done, all int)
}

// Run measures the prompts of d against c. It leaves out prompts that are labelled
// neither with a skill nor as needing none.
func Run(ctx context.Context, c *Catalog, d *Dataset, opts *Options) (Set, error) {
	opts = cmp.Or(opts, new(Options))
	queries := slices.Concat(d.Sample(opts.Limit, opts.Seed), c.known(d.nearMisses(opts.Limit, opts.Seed)), d.absent(opts.Limit, opts.Seed))
	r := &runner{catalog: c, searcher: &searcher{Catalog: c.search, agent: c.agent, trial: d.room != nil}, modes: make(map[string]int)}
	r.provider = contextprovider.New(r.searcher, nil) // nothing is pinned, so no file is read
	// Search once before measuring, because the first search reads the catalog. It also
	// tells which threshold holds.
	first, err := c.search.Search(ctx, search.Query{Agent: c.agent, Text: d.Name, Disturb: opts.Disturb, Unfit: opts.Unfit, Threshold: opts.Threshold})
	if err != nil {
		return Set{}, err
	}
	r.threshold = first.Threshold
	var answered []PromptResult
	for i, q := range queries {
		a, err := r.answer(ctx, q, nil)
		if err != nil {
			return Set{}, err
		}
		answered = append(answered, a)
		if opts.LeaveOneOut && len(q.Wanted) > 0 {
			if a, err = r.leftOut(ctx, q); err != nil {
				return Set{}, err
			}
			answered = append(answered, a)
		}
		if opts.Step != nil {
			opts.Step(i+1, len(queries))
		}
	}
	s := summary(answered, r.threshold, opts.Seed)
	s.Set, s.Skills, s.Modes, s.Gate.AllTokens = d.Name, c.Skills, r.modes, c.Tokens
	slices.Sort(r.searcher.took)
	s.Latency = Latency{P50: quantile(r.searcher.took, .5), P99: quantile(r.searcher.took, .99)}
	s.Calibration = r.calibration()
	if d.room != nil {
		s.Among = &d.room.Among
		s.Evals, err = explain(ctx, d, answered, opts)
	}
	return s, err
}

// known returns the near misses whose skill is in the catalog.
func (c *Catalog) known(near []Query) []Query {
	return slices.DeleteFunc(near, func(q Query) bool {
		_, ok := c.named[q.Owner]
		return !ok
	})
}

// A searcher keeps the answer that a block was made of. So one search gives both the
// ranking and the block, and its time is the time that a prompt costs.
type searcher struct {
	contextprovider.Catalog
	agent  *search.Agent // who asks; nil means the whole catalog
	trial  bool          // see search.Query
	answer search.Answer // of the last search
	took   []float64     // of all searches, in milliseconds
}

func (s *searcher) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	q.Limit, q.Relevant = max(q.Limit, depth), false // the block itself leaves out what is not relevant
	q.Person = true                                  // what only the user starts is judged by what a search finds
	q.Trial = s.trial
	if q.Agent == nil {
		q.Agent = s.agent
	}
	start := time.Now()
	answer, err := s.Catalog.Search(ctx, q)
	s.took = append(s.took, milliseconds(time.Since(start)))
	s.answer = answer
	return answer, err
}

// runner is one Run under way.
type runner struct {
	catalog   *Catalog
	searcher  *searcher
	provider  *contextprovider.Provider
	modes     map[string]int
	threshold float64
	outcomes  []Outcome
}

// leftOut asks the prompt that was answered last as if the skills that it needs were not there, nor
// others of their families.
func (r *runner) leftOut(ctx context.Context, q Query) (PromptResult, error) {
	out := *cmp.Or(r.searcher.agent, new(search.Agent))
	out.Exclude.Names = slices.Clone(out.Exclude.Names)
	hide := func(name string) { out.Exclude.Names = append(out.Exclude.Names, literal.Replace(name)) }
	for _, id := range q.Wanted {
		hide(r.catalog.named[id])
	}
	for _, h := range r.searcher.answer.Hits {
		if slices.Contains(q.Wanted, r.catalog.idsOf([]search.Hit{h}, q.Wanted...)[0]) {
			hide(h.Name)
			for _, e := range h.Copies {
				hide(e.Name)
			}
		}
	}
	q.ID, q.Kind, q.Owner, q.Wanted = q.ID+" left out", absent, "", nil
	return r.answer(ctx, q, &out)
}

// literal makes a pattern of a name.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// answer asks a prompt in the scope of an agent; nil means the whole catalog.
func (r *runner) answer(ctx context.Context, q Query, scope *search.Agent) (PromptResult, error) {
	block, err := r.block(ctx, q.Text, search.Always, scope)
	if err != nil {
		return PromptResult{}, err
	}
	r.modes[block.Mode]++
	hits := r.searcher.answer.Hits
	ids := r.catalog.idsOf(hits, q.Wanted...)
	a := PromptResult{
		ID: q.ID, Kind: q.Kind, Lang: q.Lang, Style: q.Style, Wanted: len(q.Wanted),
		Ranks: ranksOf(ids[:min(depth, len(ids))], q.Wanted), Top: ids[:min(shown, len(ids))], Demand: block.Demand.Probability,
		Always: r.listing(block.Skills, &q), Certain: r.listing(certain(block.Skills), &q),
	}
	if q.nearMiss() {
		a.Owner = q.Owner
	} else if !q.isAbsent() { // for those another skill may fit, so they say nothing of probabilities
		r.predict(hits[:min(shown, len(hits))], ids, q.Wanted)
	}
	if len(a.Ranks) > 0 {
		a.Rank = a.Ranks[0]
	}
	a.NDCG = a.relevance().NDCG10
	given := a.block(r.threshold)
	a.Injected, a.Fitting = given.Listed, given.Fitting
	switch {
	case given == a.Always:
		a.Tokens = block.Tokens
	case given.Listed > 0: // its text is not known yet
		block, err = r.block(ctx, q.Text, r.threshold, scope)
		a.Tokens = block.Tokens
	}
	return a, err
}

func (r *runner) block(ctx context.Context, prompt string, threshold float64, scope *search.Agent) (contextprovider.Block, error) {
	return r.provider.Block(ctx, prompt, contextprovider.Budget{Threshold: threshold, Command: "skills"}, scope)
}

// certain returns the hits that the prompt names for certain.
func certain(hits []search.Hit) []search.Hit {
	var list []search.Hit
	for _, h := range hits {
		if slices.ContainsFunc(h.Terms, func(t rank.Term) bool { return t.Name == "exact name" }) {
			list = append(list, h)
		}
	}
	return list
}

// listing counts the skills of a block.
func (r *runner) listing(hits []search.Hit, q *Query) Listing {
	ids := r.catalog.idsOf(hits, append(slices.Clone(q.Wanted), q.Owner)...)
	l := Listing{Listed: len(ids), Fitting: len(ranksOf(ids, q.Wanted))}
	if q.nearMiss() && slices.Contains(ids, q.Owner) {
		l.Own = 1
	}
	return l
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

// summary computes all figures of a set from its answers. The threshold is the one that
// the blocks were made with.
func summary(answered []PromptResult, threshold float64, seed uint64) Set {
	s := Set{Metrics: []Named{}, Queries: answered}
	values := lists(answered)
	for _, name := range measures() {
		if s.Prompts = len(values[name]); s.Prompts > 0 {
			s.Metrics = append(s.Metrics, Named{name, bootstrap(seed, values[name])})
		}
	}
	groups := sorted(answered)
	s.NearMisses, s.Absent = len(groups.by[missing]), len(groups.by[lacking])
	s.Curve = curve(answered, seed)
	s.Breakdown = breakdown([]Set{s}, 1, seed)
	fixed := groups.figures(seed, []chooser{func([]float64) float64 { return threshold }})
	s.Gate = Gate{
		None:           len(groups.none),
		Threshold:      threshold,
		FalseInjection: bootstrap(seed, values[falseInjection]),
		Precision:      bootstrap(seed, values[precision]),
		Figures:        fixed[0].figures(),
	}
	for i := range answered {
		if a := &answered[i]; a.need() == wanting || a.need() == needless {
			s.Gate.Tokens += float64(a.Tokens) / float64(s.Prompts+s.Gate.None)
		}
	}
	return s
}

// Names of the measures of the gate.
const (
	falseInjection = "false_injection"
	coverage       = "coverage"
	precision      = "precision"
	distracted     = "hit@1_distractors"
	distractedText = "hit@1_distractors_text"
)

// values returns the value of one answer for each measure that applies to it.
func (a *PromptResult) values() map[string]float64 {
	v := make(map[string]float64)
	if a.Wanted == 0 {
		if a.need() == needless {
			v[falseInjection] = float64(min(1, a.Injected))
		}
		return v
	}
	r := a.relevance()
	for i, value := range r.fields() {
		v[measures()[i]] = *value
	}
	v[coverage] = float64(min(1, a.Fitting))
	if d := a.Distracted; d != nil {
		v[distracted], v[distractedText] = first(d.Rank), first(d.TextRank)
	}
	if a.Injected > 0 {
		v[precision] = float64(a.Fitting) / float64(a.Injected)
	}
	return v
}

// first returns 1 for the first rank and 0 for others.
func first(rank int) float64 {
	if rank == 1 {
		return 1
	}
	return 0
}

// lists collects the values of all answers by measure.
func lists(answered []PromptResult) map[string][]float64 {
	out := make(map[string][]float64)
	for i := range answered {
		for name, v := range answered[i].values() {
			out[name] = append(out[name], v)
		}
	}
	return out
}
