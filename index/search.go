package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/rank"
)

// depth is how many candidates each leg hands to ranking. Ranking all skills
// instead moved no measured figure by more than .001.
const depth = 100

// A Query asks for the skills that fit a prompt.
type Query struct {
	Text  string // any text
	Limit int    // most hits; 0 means 10
	// Threshold is the least probability that the prompt wants a skill for any
	// to be relevant, 0 to 1; 0 means that of the options.
	Threshold float64
	Agent     *Agent // whose part of the catalog is searched; nil means all
}

// An Answer holds the hits of a query, best first.
type Answer struct {
	// Mode says what the ranking is based on: "hybrid", "hybrid (…)" with the
	// model of the fallback and how far embedding has come, "text (no
	// embedder)", "text (embedder timed out)" and so on, with ", reranked" or
	// why not.
	Mode string
	// Kind says why nothing is worth offering, unless the prompt names it: the
	// prompt is "empty", a "slash command", "reply" (or greeting), "shell
	// command", "diff", "log" or "code" without a request. It is "" for all
	// others.
	Kind string
	// Demand is the probability that the prompt wants any of the skills, with
	// its reasons. Skills are relevant when it reaches Threshold.
	Demand    rank.Demand
	Threshold float64
	Hits      []Hit
	// RerankError says why the reranker had no part in the order; nil when it
	// had, or there is none or nothing to order.
	RerankError error
}

// A Hit is one skill of an answer.
type Hit struct {
	Entry
	Score    float64     // comparable within one answer only
	Terms    []rank.Term // what Score is the sum of
	Coverage float64     // share of the prompt that name, description and tags cover, see rank.Candidate
	Evidence float64     // how much that is, see rank.Candidate
	Strength float64     // how strongly the full text matches, see rank.Candidate
	Relevant bool        // worth showing to a model that did not ask
	// Probability is that the skill is wanted for the prompt, 0 to 1: comparable
	// between answers and catalogs.
	Probability float64
	Matched     Matched
	Copies      []Entry // copies of this skill that are left out, best first

	// RerankScore is the score of the reranker, by which the best hits are
	// ordered; nil for a hit that it did not score.
	RerankScore *float64
}

// Matched are the terms of the prompt (stemmed) that a skill has, by field.
type Matched struct {
	Name        []string `json:"name,omitempty"`
	Description []string `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Body        []string `json:"body,omitempty"` // known only to Why
}

// Search answers a query. The scope of its agent is applied before the best
// skills are chosen. When the embedder fails or is late the answer is by text
// alone, and its mode says so.
func (x *Index) Search(ctx context.Context, q Query) (Answer, error) {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	r, err := x.retrieve(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	if err := x.order(ctx, r); err != nil {
		return Answer{}, err
	}
	best := r.scored[:min(q.Limit, len(r.scored))]
	a := Answer{Mode: r.mode, Kind: r.kind, Demand: r.demand, Threshold: r.threshold, RerankError: r.rerankError, Hits: make([]Hit, 0, len(best))}
	for _, s := range best {
		a.Hits = append(a.Hits, r.hit(s))
	}
	return a, nil
}

// retrieval is what the two legs found for one query.
type retrieval struct {
	snap       *snapshot
	analyzer   *analyzer
	scope      *scope
	prompt     *prompt
	mode       string
	kind       string       // of the prompt, see Answer
	threshold  float64      // see Answer
	vector     embed.Vector // of the prompt, nil for text alone
	candidates []rank.Candidate
	index      map[string]int // in entries, by candidate ID
	copies     map[int][]int  // left out, by the one that stays; indexes in entries

	// What order makes of them.
	all         []rank.Scored      // best first
	demand      rank.Demand        // of the prompt
	scored      []rank.Scored      // the same without copies, the best as reranked
	reranked    map[string]float64 // the reranker's scores, by candidate ID
	rerankError error
}

func (r *retrieval) hit(s rank.Scored) Hit {
	i := r.index[s.ID]
	n := r.snap.names(i, r.analyzer)
	h := Hit{
		Entry: r.snap.entry(i), Score: s.Score, Terms: s.Terms, Coverage: s.Coverage, Evidence: s.Evidence, Strength: s.Strength, Relevant: s.Relevant, Probability: s.Probability,
		Matched: Matched{
			Name:        r.prompt.matched(n.name),
			Description: r.prompt.matched(n.description),
			Tags:        r.prompt.matched(n.tags),
		},
		Copies: r.copiesOf(i),
	}
	if score, ok := r.reranked[s.ID]; ok {
		h.RerankScore = &score
	}
	return h
}

// retrieve runs both legs, the embedder beside the text leg.
func (x *Index) retrieve(ctx context.Context, q Query) (*retrieval, error) {
	snap, sc, err := x.view(ctx, q.Agent)
	if err != nil {
		return nil, err
	}
	r := &retrieval{snap: snap, scope: sc, analyzer: newAnalyzer(), index: make(map[string]int)}
	r.kind, r.threshold = kindOf(clip(q.Text)), cmp.Or(q.Threshold, x.opts.Threshold, x.opts.Params.Gate.Threshold)
	vector := x.embedPrompt(ctx, snap, q.Text)
	if r.prompt, err = newPrompt(ctx, r.analyzer, q.Text, x.db.Frequencies); err != nil {
		return nil, err
	}
	lexical, err := x.matchText(ctx, r)
	if err != nil {
		return nil, err
	}
	r.vector, r.mode = vector()
	r.merge(lexical)
	return r, ctx.Err()
}

// matchText is the text leg: BM25 by entry index.
func (x *Index) matchText(ctx context.Context, r *retrieval) (map[int]float64, error) {
	found := make(map[int]float64)
	if r.prompt.query == "" {
		return found, nil
	}
	matches, err := x.db.Match(ctx, r.prompt.query, *x.opts.Weights, r.scope.rows, depth)
	if err != nil {
		return nil, fmt.Errorf("searching text: %w", err)
	}
	for _, m := range matches {
		// A skill that was added after the snapshot was read waits for the next.
		if i, ok := r.snap.byRow[m.ID]; ok && r.scope.allowed(i) {
			found[i] = m.Score
		}
	}
	return found, nil
}

// merge makes candidates of what the legs found and of what the prompt names.
func (r *retrieval) merge(lexical map[int]float64) {
	named := r.snap.named(r.prompt.text)
	for _, i := range r.snap.prefixed(r.prompt.text, r.scope.allowed) {
		if _, ok := lexical[i]; !ok {
			lexical[i] = 0
		}
	}
	for i := range named {
		if _, ok := lexical[i]; !ok && r.scope.allowed(i) {
			lexical[i] = 0
		}
	}
	if r.vector != nil {
		for _, i := range r.snap.nearest(r.vector, r.scope.allowed, depth) {
			if _, ok := lexical[i]; !ok {
				lexical[i] = 0
			}
		}
	}
	for i, score := range lexical {
		c := r.candidate(i, score)
		c.Exact = named[i]
		r.candidates = append(r.candidates, c)
		r.index[c.ID] = i
	}
}

func (r *retrieval) candidate(i int, lexical float64) rank.Candidate {
	n := r.snap.names(i, r.analyzer)
	c := rank.Candidate{
		ID:           r.snap.entries[i].Ref(),
		Lexical:      lexical,
		NameCoverage: r.prompt.nameCoverage(n.name),
	}
	c.Coverage, c.Evidence = r.prompt.coverage(n)
	// SQLite gives a word that half of the skills have no weight, so that in a
	// catalog of one or two nothing would match.
	c.Strength = max(lexical/r.prompt.rarest, c.Evidence)
	if row, ok := r.snap.vectors.rowOf[i]; ok && r.vector != nil {
		c.Vectors = true
		c.Description, c.Full = r.snap.vectors.cosines(r.vector, row)
	}
	return c
}

// embedPrompt starts the embedding of a prompt and returns a function that
// waits for it, until the deadline. A vector of nil means text alone; the mode
// says why.
func (x *Index) embedPrompt(ctx context.Context, s *snapshot, text string) func() (embed.Vector, string) {
	v := &s.vectors
	if v.embedder == nil {
		return func() (embed.Vector, string) { return nil, v.mode }
	}
	ctx, cancel := context.WithTimeout(ctx, x.opts.Deadline)
	type result struct {
		vectors []embed.Vector
		err     error
	}
	done := make(chan result, 1) // the sender never waits, even when nobody listens any more
	go func() {
		vectors, err := v.embedder.Embed(ctx, embed.Query, []string{clip(text)})
		done <- result{vectors, err}
	}()
	return func() (embed.Vector, string) {
		defer cancel()
		select {
		case r := <-done:
			return v.checkPrompt(r.vectors, r.err)
		case <-ctx.Done():
			return v.checkPrompt(nil, ctx.Err())
		}
	}
}

// checkPrompt turns the answer of the embedder into a vector and a mode.
func (v *vectors) checkPrompt(vectors []embed.Vector, err error) (embed.Vector, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, "text (embedder timed out)"
	case err != nil:
		return nil, "text (embedder failed)"
	case len(vectors) != 1 || len(vectors[0]) != v.dim:
		return nil, "text (embedder answered with another dimension)"
	}
	return vectors[0], v.mode
}
