package repertoire

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// An Owner looks after a catalog: it brings the catalog in step at once, repairs it, and
// sees what agents must not. A catalog with a schedule does by itself what has to be done;
// a program that answers once calls Catalog.Freshen.
type Owner struct{ c *Catalog }

// Owner returns the owner of the catalog.
func (c *Catalog) Owner() Owner { return Owner{c} }

// Rescan brings the catalog in step with its sources and returns what it did
// with each. A source or a skill that cannot be read is a problem in the
// report of its source, never an error. When ctx ends first, what was done is
// kept, the reports say what is incomplete, and the error is ctx's error. Where the
// catalog cannot be written the error wraps store.ErrReadOnly; it answers from what is
// there.
// A catalog with Config.Store pulls the state of the store instead; there are no reports.
// With the built-in embedder every text has its vector afterwards; another one
// waits for Embed.
//
// found, if not nil, is called for each SKILL.md that the walk has come to.
func (o Owner) Rescan(ctx context.Context, found func()) ([]Report, error) {
	return o.c.keeper.rescan(ctx, found, false)
}

// RescanAll is Rescan, but it reads every skill again and replaces what is indexed of it,
// whether or not it has changed. Meanwhile, and if it is interrupted, nobody finds fewer
// skills than before. Vectors of a server are kept for texts that are the same.
func (o Owner) RescanAll(ctx context.Context, found func()) ([]Report, error) {
	return o.c.keeper.rescan(ctx, found, true)
}

// Calibrate makes Config.Disturb hold in this catalog: it ranks some hundred prompts that
// need no skill, and keeps which threshold only a share of them exceeds, unless that is
// known of the catalog as it is. An embedder on a server embeds these prompts once. A
// catalog with a schedule calls it after each rescan. Until it has, the threshold of a
// typical catalog holds.
func (o Owner) Calibrate(ctx context.Context) error { return o.c.keeper.calibrate(ctx) }

// SetRules replaces Config.Policy and Config.Agents, for a program that stays while its user disables, pins or trusts
// skills. What Open would refuse is an error, and changes nothing. The next question goes by the policy; whoever has
// an agent from before asks Catalog.Agent for it again.
func (o Owner) SetRules(p *Policy, agents []*Agent) error {
	if err := cmp.Or(p.Check(), checkAgents(agents)); err != nil {
		return err
	}
	o.c.rules.Store(&rules{p, slices.Clone(agents)})
	o.c.keeper.setRules()
	return nil
}

// Embed gives every text of the catalog that has none a vector of the configured embedder, see
// EmbedWords, and every name and description one of the encoder, see EmbedSentences. progress, if
// not nil, is called with how many of all texts have one, and counts anew for the encoder. An
// interrupted run goes on where it stopped. A catalog that can only be read stays as it is.
func (o Owner) Embed(ctx context.Context, progress func(done, all int)) error {
	return errors.Join(o.EmbedWords(ctx, progress), o.EmbedSentences(ctx, progress))
}

// EmbedWords is Embed with the embedder alone. Until nearly all texts have a vector, ranking is by
// text, or by the vectors of the built-in embedder if the catalog still has them.
func (o Owner) EmbedWords(ctx context.Context, progress func(done, all int)) error {
	return o.c.keeper.embed(ctx, progress)
}

// EmbedSentences is Embed with the contextual encoder alone, which takes some 10 ms a skill. What it
// has embedded is published in steps. Where the machine is too slow for it, it does nothing.
func (o Owner) EmbedSentences(ctx context.Context, progress func(done, all int)) error {
	return o.c.keeper.encode(ctx, progress)
}

// Forget removes the skills of the source with this label, with their vectors. It is for
// a source that is away for good: the next Rescan adds the skills of any other again.
func (o Owner) Forget(ctx context.Context, label string) error { return o.c.keeper.forget(ctx, label) }

// Indexed reports whether all sources have been searched completely at least once or are
// away, and whether nearly all texts have a vector where a rescan embeds. Until then what
// is not found may still be there.
func (o Owner) Indexed(ctx context.Context) (bool, error) { return o.c.keeper.indexed(ctx) }

// Usable reports whether the catalog can answer about some of its sources: whether one of
// them has been searched completely or is away, if only in the catalog of which this one is
// a copy. Until all are, answers say so, see Catalog.Unread. Usable makes no catalog that
// would be empty.
func (o Owner) Usable(ctx context.Context) (bool, error) { return o.c.keeper.usable(ctx) }

// Glance looks whether the catalog can answer as it is: whether its ranking is
// compiled for these sources, and whether their folders are as the last complete
// rescan saw them. It looks at the 128 that are most likely to have changed and
// then, if there are more, for about the time of limit at others: it goes on where
// the last Glance, of whatever process, stopped. A catalog that was opened with
// Defer needs no database for it, nor for the answers after it.
func (o Owner) Glance(ctx context.Context, limit time.Duration) Freshness {
	return o.c.keeper.glance(ctx, limit)
}

// Recovered returns the name under which a damaged catalog file was kept, or
// "" when there was none.
func (o Owner) Recovered() string { return o.c.keeper.recovered() }

// Problems returns what is wrong with the skills that were indexed.
// Their paths can be opened where the source is on disk.
func (o Owner) Problems(ctx context.Context) ([]store.Reported, error) {
	return asked(ctx, o.c, func(s *state) ([]store.Reported, error) {
		list, err := s.store.Problems(ctx)
		for i := range list {
			list[i].Problem = s.reader.locate(list[i].Source, list[i].Problem)
		}
		return list, err
	})
}

// Unmatched returns a problem for each rule of an agent that matches no skill; for nil, of
// the Policy. It names skills that the agent does not see.
func (o Owner) Unmatched(ctx context.Context, a *Agent) ([]skill.Problem, error) {
	return asked(ctx, o.c, func(s *state) ([]skill.Problem, error) { return s.search.Unmatched(ctx, a) })
}

// Twins returns skills whose descriptions or instructions are nearly the same.
func (o Owner) Twins(ctx context.Context) ([]search.Twins, error) {
	return asked(ctx, o.c, func(s *state) ([]search.Twins, error) { return s.search.Twins(ctx) })
}

// Basis identifies all that Twins, and Position for "", follow from; see search.Searcher.Basis.
func (o Owner) Basis(ctx context.Context) (string, error) {
	return asked(ctx, o.c, func(s *state) (string, error) { return s.search.Basis(ctx) })
}

// Position returns how a skill ranks for a prompt that ought to lead to it, "" for its
// own description; see search.Searcher.Position.
func (o Owner) Position(ctx context.Context, id, prompt string) (search.Position, error) {
	return asked(ctx, o.c, func(s *state) (search.Position, error) { return s.search.Position(ctx, id, prompt) })
}

// Coverage returns how many texts of the catalog have a vector of a model, see
// embed.Embedder.
func (o Owner) Coverage(ctx context.Context, model string) (index.Coverage, error) {
	return asked(ctx, o.c, func(s *state) (index.Coverage, error) { return index.CoverageBy(ctx, s.store, model) })
}

// Available returns how many skills an agent, which may be nil, is offered that have the commands
// and variables that they need here.
func (o Owner) Available(ctx context.Context, a *Agent) (int, error) {
	return asked(ctx, o.c, func(s *state) (int, error) { return s.search.Available(ctx, a) })
}

// SourceSizes returns how many skills each source has. It reads no skill.
func (o Owner) SourceSizes(ctx context.Context) ([]search.SourceSize, error) {
	return asked(ctx, o.c, func(s *state) ([]search.SourceSize, error) { return s.search.SourceSizes(ctx) })
}
