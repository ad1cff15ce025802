package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// An evalCatalog is a catalog that is measured by the evals beside its skills.
type evalCatalog struct {
	catalog *repertoire.Catalog
	agent   *repertoire.Agent
	warn    func(error)
}

// ErrNoEvals means that no skill has evals.
var ErrNoEvals = errors.New("no skill of the catalog has prompts in an " + skill.EvalsPattern + " file")

// FromEvals makes a set from the skills that an agent sees and the prompts in the
// evals/*.json files beside them. A nil agent sees all skills. The catalog must stay
// open while the corpus of the set is read. warn is called for each file of evals and
// each skill that is left out because it cannot be used. The error is ErrNoEvals if there is
// nothing to leave out and no prompt.
func FromEvals(ctx context.Context, c *repertoire.Catalog, a *repertoire.Agent, warn func(error)) (*Dataset, []evals.Unusable, error) {
	entries, err := c.List(ctx, a, &repertoire.ListOptions{Person: true})
	if err != nil {
		return nil, nil, err
	}
	o := &evalCatalog{c, a, warn}
	d := &Dataset{Name: "from-evals", Corpus: o.documents(ctx, entries), beside: true}
	var bad []evals.Unusable
	unread := 0
	for _, e := range entries {
		prompts, unusable, err := evals.Read(ctx, c, e, a)
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

// documents reads the skills as they are now.
func (o *evalCatalog) documents(ctx context.Context, entries []repertoire.Entry) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, e := range entries {
			body, err := o.catalog.Body(ctx, e.ID, o.agent)
			var s *skill.Skill
			if err == nil {
				s, err = skill.Parse(strings.NewReader(body.Text), e.Location)
			}
			if err != nil {
				o.warn(fmt.Errorf("%s: left out: %w", e.ID, err))
				continue
			}
			s.Name, s.Description, s.Digest = e.Name, e.Description, e.Digest
			if !yield(Document{ID: e.ID, At: e.Location, Skill: s}, nil) {
				return
			}
		}
	}
}

// asker joins what makes blocks with what explains them.
type asker struct {
	*contextprovider.Provider
	*search.Searcher
}

// explain says how each of the measured prompts fares that stands beside a skill of c.
func explain(ctx context.Context, c *Catalog, d *Dataset, measured []PromptResult, o *Options) ([]evals.Outcome, error) {
	entries, err := c.search.List(ctx, nil, &search.ListOptions{Person: true})
	if err != nil {
		return nil, err
	}
	known, documents := make(map[string]string), make(map[string]string)
	for _, e := range entries {
		document := c.ids[e.Dir()]
		known[document], documents[e.ID] = e.ID, document
	}
	asked := make(map[string]bool)
	for _, a := range measured {
		asked[a.ID] = true
	}
	judge := &evals.Judge{Catalog: asker{contextprovider.New(c.search, nil), c.search}, Disturb: o.Disturb, Threshold: o.Threshold}
	var list []evals.Outcome
	for _, q := range d.Queries {
		id := known[q.Owner]
		if !asked[q.ID] || id == "" || q.NeedsNone() {
			continue
		}
		out, err := judge.Ask(ctx, id, evals.Prompt{ID: q.ID, Eval: skill.Eval{Prompt: q.Text, Trigger: len(q.Wanted) > 0}})
		if err != nil {
			return nil, err
		}
		out.Skill, out.To = q.Owner, documents[out.To]
		list = append(list, out)
	}
	evals.Sort(list)
	return list, nil
}
