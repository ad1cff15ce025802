package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/steps"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// depth is how many candidates each leg hands to ranking. More do not help: with 50,
// 70 and 100 of them Hit@1 over the four dev sets was .655, and nDCG@10 .766, .767
// and .767; ranking all skills moved no figure by more than .001.
const depth = 64

// Always is a threshold that every prompt reaches: skills are offered for every
// prompt, unless it is of a kind that needs none. (A threshold of 0 means the
// default.)
const Always = -1.0

// A Query asks for the skills that fit a prompt.
type Query struct {
	Text  string // any text
	Limit int    // most hits; 0 means 10
	// Threshold is the probability, up to 1, from which on the best hit counts as what the prompt
	// wants; below it no hit is relevant. 0 means that Disturb and Unfit decide, Always (or
	// any negative value) that every prompt counts.
	Threshold float64
	// Disturb is the share of the prompts that need no skill that may get an offer, up
	// to 1: the threshold follows from it, see Background. 0 means the share of the
	// options, OnlyNamed that no hit is relevant but skills that the prompt names.
	// Threshold and Disturb must not both be set.
	Disturb float64
	// Unfit is the share of the prompts that need a skill which is not in the catalog, and that may get
	// an offer, up to 1. 0 means the share of the options, OnlyNamed that no hit is relevant but skills
	// that the prompt names. The threshold is the higher of those that Disturb and Unfit give.
	Unfit float64
	Agent *Agent // the agent in whose scope to search; nil means the whole catalog
	// Person means that a person reads the answer: it has skills that only the user starts, too,
	// in the state Reserved. No model may see it.
	Person bool
	// Typed means that the user wrote Text, and a model gets the answer: of the skills that only
	// the user starts it has those that Text starts, by /name, $name or "the skill NAME".
	Typed bool
	// Relevant leaves out the hits that are not relevant.
	Relevant bool
	// Fitting leaves out the hits that are hardly worth listing to somebody who asks:
	// those with a negligible probability, and all of them if nothing fits. For a text
	// of a kind that needs no skill, that is the probability without regard to the kind.
	Fitting bool
	// Least is, for Fitting, the least probability of a hit that is not relevant; 0 means
	// that only a negligible one is too little. See WorthReading.
	Least float64
	// Source and Tag leave out the skills that are not of the source with this label, or do
	// not have this tag, before the best are chosen; "" means any.
	Source, Tag string
	// Within leaves out the skills that one of these rules does not match, before the best are
	// chosen; none means any.
	Within []Rules
	// Trial leaves out an example that is this very prompt: so a skill is tried with the prompts of
	// its evals as if these had not been there.
	Trial bool
	// Syntax makes Text a query in the language of SQLite's FTS5, with the columns
	// name, description, tags and body; words match by their stems. Matches are
	// ranked by BM25 alone: vectors, the reranker, Threshold, Fitting and probabilities
	// are not used. A malformed query is a *query.SyntaxError.
	Syntax bool
}

// An Answer holds the hits of a query, best first.
type Answer struct {
	Ranking
	Hits  []Hit // best first
	Unfit int   // how many candidates Query.Fitting left out
}

// A Ranking says what the order of skills is based on, and whether the prompt
// wants any of them.
type Ranking struct {
	// Mode says what the ranking is based on: "hybrid", "hybrid (…)" with the
	// model of the fallback and how far embedding has come, "text (no
	// embedder)", "text (embedder timed out)" and so on, with ", contextual", ", contextual
	// for 12 of 40 skills" or ", encoder late", with ", read as German", and with ", reranked" or why not; "syntax"
	// for a query in the query language, or "syntax (…)" if not all texts could be checked.
	Mode string
	// Kind says why nothing is worth offering, unless the prompt names it: the
	// prompt is "empty", a "slash command", "reply" (or greeting), "shell
	// command", "diff", "log" or "code" without a request. It is "" for all
	// others.
	Kind string
	// Demand is the probability that the prompt wants the best of the skills that it does not name,
	// with its reasons. Skills are relevant when it reaches Threshold.
	Demand     rank.Demand
	Threshold  float64
	Background Background // what Threshold follows from
	Skills     int        // how many skills were searched: those that are offered in the scope
	// Unread is how many sources of the catalog have not been read yet, see Searcher.Unread:
	// what is not found may still be there.
	Unread int
	// Unencoded means that the encoder has not embedded all skills yet, and that this machine
	// should.
	Unencoded bool
	// AsOf is when the catalog was last known to be as this answer has it, if it is shared
	// and cannot be reached now; the zero time means that it is so now.
	AsOf time.Time
	// RerankError says why the reranker had no part in the order; nil when it
	// had, or there is none or nothing to order.
	RerankError error
	// Readings are what the words of a prompt in another language were read as; nil for one in English.
	Readings []Read
}

// A Hit is one skill of an answer.
type Hit struct {
	Entry
	Score    float64     // comparable within one answer only
	Terms    []rank.Term // Score is the sum of these
	Coverage float64     // share of the prompt that name, description and tags cover, see rank.Candidate
	Evidence float64     // absolute weight of what they cover, see rank.Candidate
	Strength float64     // how strongly the full text matches, see rank.Candidate
	Relevant bool        // worth showing to a model that did not ask
	// Probability is the probability that the prompt wants the skill, 0 to 1. It is
	// comparable between answers and catalogs.
	Probability float64
	Matched     Matched  // words of the prompt that the skill has, stemmed, by field
	Trigger     *Trigger // the best of its triggers that the prompt has; nil for none
	Part        string   // the clause of the prompt that it fits best of all skills, if it is listed because of that; else ""
	Copies      []Entry  // copies of this skill that are left out, best first

	Lower bool // its source is trusted less, see Policy.Lower

	// RequiredBy is the ID of the listed skill that requires this one, which is listed
	// only because of that; "" for what a search found. Blocks set it.
	RequiredBy string

	// RerankScore is the score of the reranker, by which the best hits are
	// ordered; nil for a hit that it did not score.
	RerankScore *float64
}

// Matched holds the stemmed terms of the prompt that a skill has, by field.
type Matched struct {
	Name        []string `json:"name,omitempty"`
	Description []string `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Body        []string `json:"body,omitempty"` // only Why fills it in
}

// Search answers a query. It applies the agent's scope before it chooses the best
// skills. If the embedder fails or is late, text ranks alone, and the mode says so.
func (x *ranker) Search(ctx context.Context, q Query) (a Answer, err error) {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	if err := q.CheckLevels(); err != nil {
		return a, err
	}
	if q.Syntax {
		return x.searchSyntax(ctx, q)
	}
	err = x.retrieve(ctx, q, func(r *retrieval) error {
		if err := x.order(ctx, r, q.Relevant); err != nil {
			return err
		}
		a = Answer{Ranking: r.Ranking, Hits: make([]Hit, 0, min(q.Limit, len(r.scored))), Unfit: r.unfit}
		for i := range r.scored {
			if len(a.Hits) == q.Limit {
				break
			}
			if h, ok := x.available(ctx, r, r.scored[i]); ok {
				a.Hits = append(a.Hits, h)
			}
		}
		return nil
	})
	return a, err
}

// retrieval is what the two legs found for one query.
type retrieval struct {
	Ranking // Demand and RerankError are set by order
	*trust
	view       *snapshot.View
	held       *held           // nil means that nothing is held back
	started    snapshot.Skills // of those that only the user starts, see Query.Typed
	analyzer   *words.Analyzer
	embedder   embed.Embedder // whose vectors rank, nil for none
	reading    *gloss.Reading // of the prompt; nil for one in English
	foreign    bool           // the prompt is in another language, and ranks by its reading
	prompt     *prompt
	vector     snapshot.Vector  // of the prompt
	request    float64          // how likely the prompt asks for a task, in log odds
	scale      rank.Scale       // of the embedder; unknown if its cosines are used as they are
	triggers   triggers         // that the prompt has
	examples   map[int]float64  // cosines of the prompt with the nearest example, by skill
	trusted    snapshot.Skills  // whose triggers are certain
	demands    snapshot.Demands // of the background prompts; the zero value means that nothing is known of them
	candidates []rank.Candidate
	copies     map[int][]int // left out, by the one that stays
	parts      []rank.Part   // the skills that clauses of the prompt are for, see findClauses

	nameless    bool    // names in the prompt do not count
	trial       bool    // see Query.Trial
	onlyFitting bool    // see Query.Fitting
	least       float64 // see Query.Least
	unfit       int     // how many candidates that leaves out

	// What order makes of them.
	all      []rank.Scored   // best first
	scored   []rank.Scored   // the same without copies, the best as reranked
	reranked map[int]float64 // the reranker's scores
}

// retrieval returns a retrieval in a view. The caller gives its analyzer back.
func (x *ranker) retrieval(v *snapshot.View) *retrieval {
	r := &retrieval{view: v, analyzer: x.analyzers.Get().(*words.Analyzer), embedder: x.embedderOf(v.Set), trust: new(trust)}
	if x.outdated(v.Set) == "" {
		r.scale = scaleOf(v.Set.Calibration)
	}
	return r
}

// available returns the hit of a candidate, or else of the first of its copies that has what
// it needs; ok is false if none has.
func (x *ranker) available(ctx context.Context, r *retrieval, s rank.Scored) (h Hit, ok bool) {
	copies := r.copies[s.Key]
	for {
		h = r.hit(&s)
		if x.dir.setAvailable(ctx, r.view, &h.Entry); h.State != Unavailable {
			return h, true
		}
		if len(copies) == 0 {
			return h, false
		}
		s.Key, copies = copies[0], copies[1:]
	}
}

func (r *retrieval) hit(s *rank.Scored) Hit {
	r.measure(s)
	h := Hit{
		Entry: entryOf(r.view, s.Key), Score: s.Score, Terms: s.Terms, Coverage: s.Coverage, Evidence: s.Evidence,
		Strength: s.Strength, Relevant: s.Relevant, Probability: s.Probability,
		Matched: r.prompt.matchedBy(r.view, s.Key), Copies: r.copiesOf(s.Key), Lower: r.lower.Has(s.Key),
	}
	h.Trigger, h.Part = r.triggerOf(s.Key, &h.Triggers), s.Part
	if score, ok := r.reranked[s.Key]; ok {
		h.RerankScore = &score
	}
	return h
}

// retrieve runs the text leg while the embedder works, then the vector leg, and calls
// f with what they found. It calls f again if a file turns out to be damaged.
func (x *ranker) retrieve(ctx context.Context, q Query, f func(*retrieval) error) error {
	text := tidy.CutMiddle(q.Text, MaxPrompt)
	return x.scopes.readHeld(ctx, q.Agent, func(v *snapshot.View, h *held) error {
		v, started := q.seeing(q.narrowed(v))
		r := x.retrieval(v)
		r.started = started
		defer x.analyzers.Put(r.analyzer)
		r.held, r.onlyFitting, r.least, r.trial = h, q.Fitting, q.Least, q.Trial
		var err error
		if r.trust, err = x.scopes.trustIn(v); err != nil {
			return err
		}
		r.reading = gloss.Read(text)
		r.foreign, r.Readings = r.reading != nil, readingsOf(r.reading)
		r.Kind, r.Unread, r.AsOf, r.Skills = string(kindOf(text, r.reading)), x.scopes.unread(v.Set), x.asOf(), v.Scope.Visible
		clauses := r.clausesOf(text)
		embedded := x.embedPrompt(ctx, v.Set, r.embedder, text, r.reading, clauses)
		var points []snapshot.Point
		err = x.find(ctx, r, text, func() snapshot.Point {
			points, r.Mode = embedded()
			if r.foreign {
				r.Mode += ", read as " + gloss.Language(r.reading.Languages[0])
			}
			return points[0]
		})
		if err != nil {
			return err
		}
		x.setThreshold(r, q)
		if err := x.findClauses(ctx, r, clauses, points[1:]); err != nil {
			return err
		}
		r.Unencoded = x.unencoded(v.Set)
		return f(r)
	})
}

// narrowed returns the view of the skills of Query.Source, Query.Tag and Query.Within.
func (q *Query) narrowed(v *snapshot.View) *snapshot.View {
	within := slices.Clone(q.Within)
	if q.Source != "" {
		within = append(within, Rules{Sources: []string{q.Source}})
	}
	if q.Tag != "" {
		within = append(within, Rules{Tags: []string{q.Tag}})
	}
	for _, rules := range within {
		v = v.In(v.Narrow(matching(v, rules)))
	}
	return v
}

// find runs the text leg, waits for the vector of the prompt, runs the vector leg and
// collects the candidates.
func (x *ranker) find(ctx context.Context, r *retrieval, text string, embedded func() snapshot.Point) (err error) {
	leg := x.leg(r.view.Set)
	if r.prompt, err = newPrompt(ctx, r.analyzer, text, r.reading, r.view, leg); err != nil {
		return err
	}
	lexical, err := leg.match(ctx, r.view, r.prompt, depth)
	if err != nil {
		return fmt.Errorf("searching text: %w", err)
	}
	steps.Done("words")
	var off snapshot.Skills
	if r.trusted, off, err = x.scopes.triggersIn(r.view); err != nil {
		return err
	}
	r.matchTriggers(off)
	steps.Done("triggers")
	point := embedded()
	steps.Done("encoder")
	r.vector, r.request = r.view.Retriever().Prepare(point), x.requestOf(r, point[snapshot.Sentences])
	r.merge(lexical)
	steps.Done("vectors")
	return cmp.Or(ctx.Err(), r.view.Err())
}

// merge collects the candidates: what both legs found, what the prompt names, names that
// begin with the prompt, and skills with a trigger that the prompt has.
func (r *retrieval) merge(lexical []snapshot.Hit) {
	var named mentions
	if !r.nameless {
		named = namesIn(r.view, r.prompt.text)
	}
	known := make(map[int]bool, 2*depth)
	add := func(i int, score float64) {
		if !known[i] && r.view.Scope.In.Has(i) {
			known[i] = true
			c := r.candidate(i, score)
			c.Exact = named.certain[i] || r.started.Has(i)
			if !r.nameless && !c.Exact && r.trusted.Has(i) && r.triggers.certain(i) {
				c.Exact, c.Triggered = true, true
			}
			if named.likely[i] {
				c.Mention = r.prompt.nameShare(r.view, i)
			}
			r.candidates = append(r.candidates, c)
		}
	}
	r.matchExamples()
	r.candidates = make([]rank.Candidate, 0, 2*depth)
	for _, h := range lexical {
		add(h.Doc, h.Score)
	}
	for _, i := range completions(r.view, r.prompt.text) {
		add(i, 0)
	}
	for _, list := range []map[int]bool{named.certain, named.likely} {
		for i := range list {
			add(i, 0)
		}
	}
	for i := range r.started.All() {
		add(i, 0)
	}
	for _, h := range r.view.Retriever().Nearest(&r.vector, r.view.Scope.Offered, depth) {
		add(h.Doc, 0)
	}
	for _, i := range r.triggers.strongest(depth) {
		add(i, 0)
	}
	for i := range r.examples {
		add(i, 0)
	}
	r.setIDs()
}

// candidate returns skill i as a candidate, without its ID.
func (r *retrieval) candidate(i int, lexical float64) rank.Candidate {
	found, all := r.prompt.nameWords(r.view, i)
	c := rank.Candidate{Key: i, NameMatch: rank.NameMatch(found, all), Lower: r.lower.Has(i), Trigger: r.triggers.best[i].value}
	if t := r.triggers.best[i]; c.Trigger > 0 && r.trusted.Has(i) && !t.calm() {
		c.Trigger *= trustedTrigger
	}
	c.Set(rank.Text, lexical)
	cosines := r.view.Retriever().Cosines(&r.vector, i)
	for n, cosine := range cosines.Value {
		if leg := vectorLeg(n); cosines.Known[n] {
			c.Set(leg, r.scale.Rescale(leg, cosine))
		}
	}
	if cosine, ok := r.examples[i]; ok {
		c.Set(rank.Example, cosine)
	}
	return c
}

// matchExamples finds the skills that have an example near to the prompt.
func (r *retrieval) matchExamples() {
	const same = .99 // of a prompt with itself, rounded
	most := math.Inf(1)
	if r.trial {
		most = same
	}
	r.examples = make(map[int]float64)
	for _, h := range r.view.Retriever().Examples(&r.vector, r.view.Scope.Offered, rank.ExampleFloor, most, depth) {
		r.examples[h.Doc] = h.Score
	}
}

// vectorLeg returns the leg of a snapshot.Leg.
func vectorLeg(n int) rank.Leg { return rank.Text + 1 + rank.Leg(n) }

// setIDs sets the IDs of the candidates, all in one allocation.
func (r *retrieval) setIDs() {
	all := make([]byte, 0, 32*len(r.candidates))
	ends := make([]int, len(r.candidates))
	for n := range r.candidates {
		all = r.view.AppendID(all, r.candidates[n].Key)
		ends[n] = len(all)
	}
	text, start := string(all), 0
	for n, end := range ends {
		r.candidates[n].ID = text[start:end]
		start = end
	}
}
