package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/skill"
)

// ErrNoEvals means that no skill has evals.
var ErrNoEvals = errors.New("no skill of the catalog has prompts in an " + skill.EvalsPattern + " file")

// FromEvals makes a set from the skills that are in a room, and the prompts in the evals/*.json files
// beside those of its catalog for which tried is true; nil means all. It has no Corpus: the room must
// stay open while it is measured. warn is called for each file of evals that is left out because it
// cannot be used. The error is ErrNoEvals if there is nothing to leave out and no prompt.
func FromEvals(ctx context.Context, r *evals.Room, tried func(*repertoire.Entry) bool, warn func(error)) (*Dataset, []evals.Unusable, error) {
	entries, err := r.List(ctx, r.Agent, &repertoire.ListOptions{Person: true})
	if err != nil {
		return nil, nil, err
	}
	d := &Dataset{Name: "from-evals", room: r}
	var bad []evals.Unusable
	unread := 0
	for _, e := range entries {
		if !r.Has(&e) || tried != nil && !tried(&e) {
			continue
		}
		prompts, unusable, err := evals.Read(ctx, r, e, r.Agent)
		if err != nil {
			warn(fmt.Errorf("%s: not used: %w", e.Location, err))
			unread++
			continue
		}
		for _, u := range unusable {
			warn(errors.New(u.String()))
		}
		bad, d.Queries = append(bad, unusable...), append(d.Queries, queriesOf(e.ID, prompts)...)
	}
	switch {
	case len(d.Queries) > 0:
	case len(bad)+unread > 0:
		return nil, nil, errors.New("none of the evals can be used")
	default:
		return nil, nil, ErrNoEvals
	}
	return d, bad, ctx.Err()
}

// queriesOf turns the evals of a skill into labelled prompts. A prompt that should not
// trigger the skill may still need another one.
func queriesOf(skill string, prompts []evals.Prompt) []Query {
	list := make([]Query, len(prompts))
	for i, p := range prompts {
		q := Query{ID: p.ID, Text: p.Prompt, Kind: "negative", Owner: skill}
		if p.Trigger {
			q.Kind, q.Wanted = "positive", []string{skill}
		}
		list[i] = q
	}
	return list
}

// opened returns the catalog of a room as one that Run measures. Nothing is indexed anew.
func opened(ctx context.Context, r *evals.Room) (*Catalog, error) {
	c := &Catalog{search: r, agent: r.Agent, ids: make(map[string]string), named: make(map[string]string)}
	entries, err := r.List(ctx, r.Agent, &repertoire.ListOptions{Person: true})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		c.ids[e.ID], c.named[e.ID] = e.ID, e.Name
	}
	c.Skills = len(entries)
	return c, c.countTokens(ctx)
}

// explain says how each of the measured prompts fares that stands beside a skill.
func explain(ctx context.Context, d *Dataset, measured []PromptResult, o *Options) ([]evals.Outcome, error) {
	asked := make(map[string]bool)
	for _, a := range measured {
		asked[a.ID] = true
	}
	var list []evals.Outcome
	for _, q := range d.Queries {
		if !asked[q.ID] || q.Owner == "" || q.NeedsNone() {
			continue
		}
		p := evals.Prompt{ID: q.ID, Eval: skill.Eval{Prompt: q.Text, Trigger: len(q.Wanted) > 0}}
		out, err := d.room.Try(ctx, q.Owner, []evals.Prompt{p}, evals.Levels{Disturb: o.Disturb, Unfit: o.Unfit, Threshold: o.Threshold})
		if err != nil {
			return nil, err
		}
		list = append(list, out...)
	}
	evals.Sort(list)
	return list, nil
}
