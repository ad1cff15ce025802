package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Explanation says why a skill is or is not offered for a prompt.
type Explanation struct {
	Hit
	Ranking
	CopyOf  string   // ID of the skill that is kept instead of this copy; "" when it is none
	Rank    int      // among the candidates, from 1; 0 when it is not one
	Of      int      // number of candidates
	Best    string   // ID of the first candidate
	Missing []string // terms of the prompt that the skill does not have
	Filter  string   // the rule of the agent's scope that keeps the skill out; "" when none does
	Verdict string   // one sentence
}

// Why explains the place of one skill for a query. It also knows skills that
// the agent does not see: it is for who keeps the catalog, not for the agent.
func (x *Searcher) Why(ctx context.Context, id string, q Query) (e Explanation, err error) {
	if q.Syntax {
		return e, errors.New("why explains ranking by prompt; leave syntax out")
	}
	err = x.retrieve(ctx, q, func(r *retrieval) error {
		// In the same view: another one may have other places.
		i, err := lookup(r.view, id, func(int) bool { return true })
		if err != nil {
			return err
		}
		if err := x.order(ctx, r); err != nil {
			return err
		}
		e = Explanation{Ranking: r.Ranking, Of: len(r.candidates)}
		if err := x.place(ctx, &e, r, i); err != nil {
			return err
		}
		if d := r.view.Doc(i); !r.scope.Allowed(i) {
			e.Filter = q.Agent.filter(&d)
		}
		e.Verdict = e.verdict(x.opts.Params.Gate.Rival)
		e.Relevant = e.Relevant && e.CopyOf == ""
		return x.matchBody(ctx, &e, r.prompt, r.view.Facts(i).Row)
	})
	return e, err
}

// place finds the rank of skill i, and its scores even when it is no candidate.
func (x *Searcher) place(ctx context.Context, e *Explanation, r *retrieval, i int) error {
	if kept, ok := r.copyOf(i); ok {
		e.CopyOf = r.view.ID(kept)
	}
	if len(r.scored) > 0 {
		e.Best = r.scored[0].ID
	}
	is := func(s rank.Scored) bool { return s.Key == i }
	for _, list := range [][]rank.Scored{r.scored, r.all} { // a copy is in the second only
		if at := slices.IndexFunc(list, is); at >= 0 {
			e.Rank = at + 1
			e.Hit = r.hit(&list[at])
			return nil
		}
	}
	// The text leg is asked for this skill alone; its score is on the same
	// scale, because BM25 counts all skills whatever the filter.
	hits, err := x.leg(r.view.Set).match(ctx, r.view, r.prompt, r.view.Only(i), 1)
	if err != nil {
		return err
	}
	lexical := 0.0
	for _, h := range hits {
		lexical = h.Score
	}
	c := r.candidate(i, lexical)
	c.ID = r.view.ID(i)
	all := x.judge(r, append(slices.Clone(r.candidates), c))
	e.Hit = r.hit(&all[slices.IndexFunc(all, is)])
	return nil
}

// matchBody fills in what only the stored text tells.
func (x *Searcher) matchBody(ctx context.Context, e *Explanation, p *prompt, row int64) error {
	s, ok, err := x.store.Skill(ctx, row)
	if err != nil || !ok {
		return err
	}
	body := words.Terms(s.Body)
	e.Matched.Body = p.matched(body)
	have := slices.Concat(e.Matched.Name, e.Matched.Description, e.Matched.Tags, e.Matched.Body)
	for _, t := range p.terms {
		if !slices.Contains(have, t.text) {
			e.Missing = append(e.Missing, t.text)
		}
	}
	return nil
}

// verdict says in one sentence what decided.
func (e *Explanation) verdict(rival float64) string {
	switch {
	case e.Filter != "":
		return "not offered: " + e.Filter
	case e.ShadowedBy != "":
		return fmt.Sprintf("not offered: %s has the same name and a higher priority", e.ShadowedBy)
	case e.Kind != "" && !e.Relevant:
		return "not offered: the prompt is " + intent.Kind(e.Kind).Phrase()
	case e.CopyOf != "" && e.Relevant: // and so is the other
		return fmt.Sprintf("not offered: it is the same as %s, which is offered", e.CopyOf)
	case e.Rank == 0 && e.Strength == 0:
		return "not offered: it has no word in common with the prompt"
	case e.Rank == 0:
		return fmt.Sprintf("not offered: it is not among the %d best candidates", e.Of)
	case e.Relevant:
		return fmt.Sprintf("offered, as number %d of %d candidates", e.Rank, e.Of)
	case e.Demand.Probability < e.Threshold:
		return fmt.Sprintf("not offered: that the prompt wants any skill has a probability of %.2f, below the threshold of %.2f", e.Demand.Probability, e.Threshold)
	}
	return fmt.Sprintf("not offered: its probability is below %g of the best one's (%s)", rival, e.Best)
}

// filter says which rule of the agent keeps the skill out.
func (a *Agent) filter(d *snapshot.Document) string {
	if a.Exclude.match(d) {
		return fmt.Sprintf("agent %s excludes it (%s)", a.Name, a.Exclude.which(d))
	}
	return fmt.Sprintf("agent %s includes only %s", a.Name, a.Include)
}

// which names the rules that match the skill.
func (r Rules) which(d *snapshot.Document) string {
	var out []string
	for _, part := range []Rules{{Names: r.Names}, {Tags: r.Tags}, {Sources: r.Sources}} {
		if part.match(d) {
			out = append(out, part.String())
		}
	}
	return strings.Join(out, "; ")
}

// String lists the rules as "names a, b; tags c".
func (r Rules) String() string {
	var out []string
	for _, part := range []struct {
		key  string
		list []string
	}{{"names", r.Names}, {"tags", r.Tags}, {"sources", r.Sources}} {
		if len(part.list) > 0 {
			out = append(out, part.key+" "+strings.Join(part.list, ", "))
		}
	}
	return strings.Join(out, "; ")
}
