package bench

import (
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/search"
)

// asker joins what makes blocks with what explains them.
type asker struct {
	*contextprovider.Provider
	*search.Searcher
}

// explain says how each of the measured prompts fares that stands beside a skill of c.
func explain(ctx context.Context, c *Catalog, d *Dataset, measured []Answered, o *Options) ([]evals.Outcome, error) {
	entries, err := c.search.List(ctx, nil, nil)
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
		out, err := judge.Ask(ctx, id, evals.Prompt{ID: q.ID, Eval: evals.Eval{Prompt: q.Text, Trigger: len(q.Wanted) > 0}})
		if err != nil {
			return nil, err
		}
		out.Skill, out.To = q.Owner, documents[out.To]
		list = append(list, out)
	}
	evals.Sort(list)
	return list, nil
}
