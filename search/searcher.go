// Package search is the read side of a catalog: a prompt, an agent and a set of
// snapshots in, an answer out. It also explains an answer (Why), shows what matches
// (Snippets), lists and looks up skills, and finds twins. Package query is its query language.
//
// The one rule: it never writes. The publisher decides which set is current (see
// Sets). While that set is compiled, search opens the database only to read
// instructions (for snippets, a reranker and Why) and for the query language.
package search

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Sets provides the current set of snapshots; *index.Index implements it. Both
// methods may be called by several goroutines.
type Sets interface {
	// Current returns the set of the current generation of the catalog. The set may
	// be closed at any time; then the next call returns another one.
	Current(ctx context.Context) (*snapshot.Set, error)
	// Discard removes a set that turned out to be damaged.
	Discard(s *snapshot.Set)
}

// A Searcher answers questions about one catalog. It may be used from several
// goroutines. A goroutine of its own outlives a call only if an embedder or a
// reranker ignores its deadline.
type Searcher struct {
	*scopes
	*directory
	*ranker
	*explainer
	*reviewer
}

// scopes know the current set and which of its skills an agent sees.
type scopes struct {
	sets   Sets
	policy atomic.Pointer[policy]   // nil means that nothing is held back
	labels atomic.Pointer[[]string] // of all sources; nil means unknown
}

// A directory lists skills and looks them up.
type directory struct {
	scopes  *scopes
	missing func(ctx context.Context, n skill.Needs) []string // see Options.Missing
}

// A ranker ranks skills for prompts.
type ranker struct {
	scopes    *scopes
	dir       *directory
	store     store.Reader
	embedder  embed.Embedder // nil means none
	opts      Options
	analyzers sync.Pool // of *words.Analyzer, which caches words: prompts repeat words
}

// An explainer shows why a ranker ranks as it does.
type explainer struct{ *ranker }

// A reviewer tells the owner of a catalog what is wrong with its skills and rules.
type reviewer struct{ *ranker }

// Options of New; nil means all defaults.
type Options struct {
	// Deadline is how long a search waits for the vector of its prompt before
	// it answers with text alone; 0 means 250 ms.
	Deadline time.Duration
	// Inline means that the embedder is fast: a search embeds its prompt without a
	// deadline.
	Inline bool
	// Fallback embeds prompts while the vectors of the catalog are from it; nil
	// means none. See index.Options.
	Fallback embed.Embedder
	// Contextual is the encoder whose vectors rank beside those of the embedder, where the
	// catalog has them; nil means none.
	Contextual embed.Embedder
	// ContextualDeadline is how long a search waits for it before it answers without; 0
	// means 80 ms.
	ContextualDeadline time.Duration
	// Reranker orders the best candidates anew; nil means none.
	Reranker rerank.Reranker
	// RerankDeadline is how long a search waits for the reranker before it
	// answers without; 0 means 500 ms.
	RerankDeadline time.Duration
	// RerankCandidates is how many candidates the reranker gets at most; 0 means 20.
	RerankCandidates int
	// Threshold, Disturb and Unfit are those of queries that set none, see Query.
	Threshold float64
	Disturb   float64 // 0 means rank.DefaultRate
	Unfit     float64 // 0 means rank.DefaultUnfit
	// Policy says which skills are held back, see SetPolicy; nil means none.
	Policy *Policy
	// Missing returns what is not there of the commands and environment variables that a
	// skill needs, as parts of a sentence ("the command gh, which is not in PATH"); of
	// Needs.Either it gets those that are no skills. nil means that all skills have what
	// they need. It is called for each hit that would be shown and needs anything.
	Missing func(ctx context.Context, n skill.Needs) []string
	// AsOf returns Ranking.AsOf for the current set; nil means that it is always up to date.
	AsOf func() time.Time
	// Params are the weights of ranking; nil means rank.Defaults.
	Params *rank.Params
}

// New returns a Searcher of the catalog in st, whose snapshots sets provides. If the
// embedder is nil, ranking is by text alone, and every answer says so. opts may be
// nil.
func New(sets Sets, st store.Reader, embedder embed.Embedder, opts *Options) *Searcher {
	opts = cmp.Or(opts, new(Options))
	scopes := &scopes{sets: sets}
	scopes.SetPolicy(opts.Policy, nil)
	dir := &directory{scopes, opts.Missing}
	x := &ranker{scopes: scopes, dir: dir, store: st, embedder: embedder, opts: *opts}
	x.analyzers.New = func() any { return new(words.Analyzer) }
	x.opts.Deadline = cmp.Or(x.opts.Deadline, 250*time.Millisecond)
	x.opts.ContextualDeadline = cmp.Or(x.opts.ContextualDeadline, 80*time.Millisecond)
	x.opts.RerankDeadline = cmp.Or(x.opts.RerankDeadline, 500*time.Millisecond)
	x.opts.RerankCandidates = cmp.Or(x.opts.RerankCandidates, 20)
	params := rank.Defaults()
	x.opts.Params = cmp.Or(x.opts.Params, &params)
	return &Searcher{scopes, dir, x, &explainer{x}, &reviewer{x}}
}

// read calls f with a view of what the agent sees of the current set. If the set was closed meanwhile, or turned out to be damaged, it calls f again with another.
func (x *scopes) read(ctx context.Context, a *Agent, f func(*snapshot.View) error) error {
	return x.readHeld(ctx, a, func(v *snapshot.View, _ *held) error { return f(v) })
}

// readHeld is read for a function that needs to know which skills are held back.
func (x *scopes) readHeld(ctx context.Context, a *Agent, f func(*snapshot.View, *held) error) error {
	// Replacing a set takes longer than an attempt, so 20 are more than enough.
	const attempts = 20
	for attempt := 1; ; attempt++ {
		set, err := x.sets.Current(ctx)
		if err != nil {
			return err
		}
		err = set.Read(func(v *snapshot.View) error {
			h, err := x.heldIn(v)
			if err != nil {
				return err
			}
			s, err := scopeOf(v, a, h)
			if err != nil {
				return err
			}
			return f(v.In(s), h)
		})
		switch {
		case attempt == attempts:
			return err
		case errors.Is(err, snapshot.ErrDamaged):
			x.sets.Discard(set)
		case !errors.Is(err, snapshot.ErrClosed):
			return err
		}
	}
}
