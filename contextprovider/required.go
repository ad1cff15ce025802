package contextprovider

import (
	"context"
	"errors"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

const (
	// maxSteps is how many steps a required skill is away at most from the skill that is
	// offered or loaded: what that one requires is one step away.
	maxSteps = 3
	// maxLoaded and maxLoadedTokens bound the skills that are loaded with another one.
	maxLoaded       = 8
	maxLoadedTokens = 10_000
)

// required returns the skills that e requires and that can be offered or loaded. It leaves
// out those that seen has, and adds the others to it.
func (p *Provider) required(ctx context.Context, e search.Entry, a *search.Agent, seen map[string]bool) ([]search.Entry, error) {
	var list []search.Entry
	for _, id := range e.Requires {
		if seen[id] {
			continue
		}
		seen[id] = true
		r, err := p.catalog.Lookup(ctx, id, a)
		switch {
		case errors.Is(err, skill.ErrNotFound): // it has gone since
		case err != nil:
			return nil, err
		case r.State == search.Offered && !r.Away && r.ShadowedBy == "":
			list = append(list, r)
		}
	}
	return list, nil
}

// addRequired lists the skills that listed skills require, each directly after the skill
// that requires it, as far as the budget has room for them: they never displace a skill
// that the prompt wants. Their descriptions say why they are there.
func (p *Provider) addRequired(ctx context.Context, b *Block, entries []string, used size, budget Budget, f layout, a *search.Agent) ([]string, error) {
	if !slices.ContainsFunc(b.Skills, func(h search.Hit) bool { return len(h.Requires) > 0 }) {
		return entries, nil
	}
	seen, steps := make(map[string]bool), make(map[string]int)
	for _, h := range b.Skills {
		seen[h.ID] = true
		for _, e := range h.Copies {
			seen[e.ID] = true
		}
	}
	for _, body := range b.Pinned {
		seen[body.ID] = true
	}
	for i := 0; i < len(b.Skills); i++ { // those that are inserted have their turn too
		by := b.Skills[i]
		if len(by.Requires) == 0 || steps[by.ID] == maxSteps {
			continue
		}
		list, err := p.required(ctx, by.Entry, a, seen)
		if err != nil {
			return nil, err
		}
		next := i + 1
		for _, h := range budget.Choose(requiredHits(list, by)) {
			entry, with := f.add(&h, used, len(entries))
			if len(entries) >= budget.Skills || !with.within(budget) {
				continue
			}
			used, steps[h.ID] = with, steps[by.ID]+1
			entries, b.Skills = slices.Insert(entries, next, entry), slices.Insert(b.Skills, next, h)
			next++
		}
	}
	return entries, nil
}

// requiredHits makes hits of what a listed skill requires.
func requiredHits(list []search.Entry, by search.Hit) []search.Hit {
	hits := make([]search.Hit, len(list))
	for i, e := range list {
		e.Description = "Required by " + by.ID + ". " + words.FirstSentence(e.Description, maxSentence)
		hits[i] = search.Hit{Entry: e, Probability: by.Probability, RequiredBy: by.ID}
	}
	return hits
}

// BodyAndRequired is Body with the bodies of the skills that the skill requires, and of those
// that they require, within a bound. One that cannot be read is left out.
func (p *Provider) BodyAndRequired(ctx context.Context, id string, a *search.Agent) (Body, error) {
	e, in, err := p.find(ctx, id, a, false)
	if err != nil {
		return Body{}, err
	}
	b, tokens := bodyOf(e, in), 0
	seen := map[string]bool{e.ID: true}
	for level, step := []search.Entry{e}, 0; len(level) > 0 && step < maxSteps; step++ {
		var next []search.Entry
		for _, by := range level {
			list, err := p.required(ctx, by, a, seen)
			if err != nil {
				return Body{}, err
			}
			next = append(next, list...)
		}
		for _, r := range next {
			in, err := p.read(ctx, r, false, a)
			if ctx.Err() != nil {
				return Body{}, ctx.Err()
			}
			if err != nil || len(b.Required) == maxLoaded {
				continue
			}
			if own := bodyOf(r, in); tokens+own.Tokens <= maxLoadedTokens {
				tokens += own.Tokens
				b.Required = append(b.Required, own)
			}
		}
		level = next
	}
	return b, nil
}
