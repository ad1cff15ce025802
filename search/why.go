package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/skill"
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
	Missing []string // terms of the prompt that the skill does not have, but other skills have
	Absent  []string // all terms of the prompt that the skill does not have
	Ignored []string // triggers of the skill that do not count, and why
	// RuledOut is the clause in which the description says that the skill is not for what the prompt asks:
	// the one with most words of the prompt that name, description and tags lack otherwise; "" if none has any.
	RuledOut string
	Filter   string // the rule of the agent's scope that keeps the skill out; "" when none does
	Verdict  string // one sentence

	// chain are the skills because of which it is offered though the prompt does not want
	// it: each requires the next, the last one this skill.
	chain  []string
	advice []string
}

// Why explains the place of one skill for a query. An ID that the agent's scope does not
// have is looked up in the whole catalog: Why is meant for the owner of the catalog, not
// for the agent.
func (x *explainer) Why(ctx context.Context, id string, q Query) (e Explanation, err error) {
	if q.Syntax {
		return e, errors.New("why explains ranking by prompt; leave syntax out")
	}
	if err := q.CheckLevels(); err != nil {
		return e, err
	}
	q.Typed, q.Person = true, false
	err = x.retrieve(ctx, q, func(r *retrieval) error {
		// Look up in the same view: numbers of skills differ between views.
		everybody, err := scopeOf(r.view, nil, r.held)
		if err != nil {
			return err
		}
		whole := r.view.In(everybody)
		own, err := scopeOf(r.view, q.Agent, r.held)
		if err != nil {
			return err
		}
		i := -1
		for _, v := range []*snapshot.View{whole, r.view} {
			if list := find(v, id); len(list) == 1 {
				i = list[0]
			}
		}
		if i < 0 { // only now look for similar names, which takes long in a large catalog
			if i, err = x.scopes.lookup(r.view.Whole(), id); err != nil {
				return err
			}
		}
		if err := x.order(ctx, r, false); err != nil {
			return err
		}
		e = Explanation{Ranking: r.Ranking, Of: len(r.candidates)}
		if err := x.place(ctx, &e, r, i); err != nil {
			return err
		}
		switch {
		case r.held.has(i):
			e.Entry = r.held.entry(whole, i, r.view.Whole().Doc(i))
		case own.Reserved.Has(i) && !r.view.Scope.In.Has(i):
			e.Entry = entryOf(r.view.In(own), i)
		case !r.view.Scope.In.Has(i):
			e.Entry = entryOf(whole, i)
			e.Filter = q.Agent.filter(r.view, i, r.held)
		}
		x.dir.setAvailable(ctx, r.view, &e.Entry)
		r.held.setSwitches(&e.Entry, i)
		if r.view.Scope.In.Has(i) && !e.Relevant {
			x.setChain(ctx, &e, r, i)
		}
		e.Verdict = e.verdict(r.mostProbable())
		e.Relevant = e.Relevant && e.CopyOf == "" && e.State == Offered
		e.Ignored = r.ignoredPatterns(i)
		return x.matchBody(ctx, &e, r.prompt, r.view.Facts(i).Row)
	})
	return e, err
}

// place fills in the rank and the scores of skill i. It computes scores for a skill
// that is no candidate too.
func (x *explainer) place(ctx context.Context, e *Explanation, r *retrieval, i int) error {
	kept, isCopy := r.copyOf(i)
	if isCopy {
		e.CopyOf = r.view.ID(kept)
	}
	if len(r.scored) > 0 {
		e.Best = r.scored[0].ID
	}
	is := func(s rank.Scored) bool { return s.Key == i }
	for _, list := range [][]rank.Scored{r.scored, r.all} { // a copy is in the second only
		at := slices.IndexFunc(list, is)
		if at < 0 {
			continue
		}
		e.Rank = at + 1
		e.Hit = r.hit(&list[at])
		if n := slices.IndexFunc(r.scored, func(s rank.Scored) bool { return s.Key == kept }); isCopy && n >= 0 { // which was judged for both
			e.Relevant, e.Probability = r.scored[n].Relevant, r.scored[n].Probability
		}
		return nil
	}
	// Match only this skill. The score is on the same scale, because BM25 counts all
	// skills, whatever the scope.
	var only snapshot.Skills
	only.Add(i)
	hits, err := x.leg(r.view.Set).match(ctx, r.view.In(r.view.NewScope(only)), r.prompt, 1)
	if err != nil {
		return err
	}
	lexical := 0.0
	for _, h := range hits {
		lexical = h.Score
	}
	c := r.candidate(i, lexical)
	c.ID = r.view.ID(i)
	all := x.judge(r, rank.Order(append(slices.Clone(r.candidates), c), r.prompt.full, *x.opts.Params))
	e.Hit = r.hit(&all[slices.IndexFunc(all, is)])
	return nil
}

// matchBody fills in which terms the body has, which terms the skill lacks, and which of its
// triggers were malformed. It reads what is stored.
func (x *explainer) matchBody(ctx context.Context, e *Explanation, p *prompt, row int64) error {
	s, ok, err := x.stored(ctx, row)
	if err != nil || !ok {
		return err
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Rule, "trigger") {
			e.Ignored = append(e.Ignored, p.Message)
		}
	}
	if p.asTyped != nil && words.SameLanguage(p.text, s.Name+" "+s.Description+" "+s.Body) {
		p = p.asTyped // the skill is in the language of the prompt
	}
	body, m := words.Terms(s.Body), &e.Matched
	e.Absent = absent(p.sequence, append(words.Terms(s.Name+"\n"+s.Description+"\n"+strings.Join(s.Tags, "\n")), body...))
	head := slices.Concat(m.Name, m.Description, m.Tags)
	for _, t := range p.terms {
		switch {
		case slices.Contains(body, t.text):
			m.Body = append(m.Body, t.text)
		case !slices.Contains(head, t.text) && !isNumber(t.text) && !p.hasOther(t.at, append(head, body...)):
			e.Missing = append(e.Missing, t.text)
		}
	}
	if e.RuledOut = ruledOut(s, p, head); e.RuledOut == "" {
		e.advice = e.adviceFor(p, s.Name+" "+s.Description+" "+s.Body)
	}
	return nil
}

// ruledOut returns Explanation.RuledOut for a skill whose name, description and tags have these terms.
func ruledOut(s *skill.Skill, p *prompt, head []string) (best string) {
	most := 0
	for _, clause := range s.RuledOut() {
		n := 0
		for _, t := range words.Terms(clause) {
			if i := slices.Index(p.unique, t); i >= 0 && !p.common(t) && !isNumber(t) && !slices.Contains(head, t) {
				n++
			}
		}
		if n > most {
			most, best = n, clause
		}
	}
	return best
}

// common reports whether too many skills have a term of the prompt for it to tell one of them apart.
func (p *prompt) common(t string) bool {
	i := slices.Index(p.unique, t)
	return i >= 0 && i < len(p.docs) && rareShare*p.docs[i] > max(p.skills, 2*rareShare)
}

// adviceFor returns the words of Advice. Of a prompt in another language only the body's words can be the skill's,
// and pairs of characters are no words.
func (e *Explanation) adviceFor(p *prompt, skill string) []string {
	pairs := make(map[string]bool)
	words.Split(p.english, func(word string, kind words.Kind) { pairs[word] = pairs[word] || kind == words.Pair })
	common := func(t string) bool { return pairs[t] || p.common(t) }
	advice := words.Spelled(p.english, slices.DeleteFunc(e.BodyOnly(), common))
	if words.SameLanguage(p.english, skill) {
		absent := words.Spelled(p.english, slices.DeleteFunc(slices.Clone(e.Absent), common))
		if p.asTyped != nil { // what could not be read is no word of the skill's language
			absent = slices.DeleteFunc(absent, func(word string) bool { return !gloss.HasEnglish(word) })
		}
		advice = append(advice, absent...)
	}
	return words.Telling(advice)
}

// rareShare is the part of the skills, one in so many, that may have a word that tells one of them apart.
const rareShare = 10

// Advice returns words of the prompt that the description of the skill would need to be offered, in lower case:
// those that only its body has, then those that it lacks, if few skills have them and they are of its language. It is nil for
// a skill that is offered, or is kept back for another reason than its text.
func (e *Explanation) Advice() []string {
	if e.Relevant || e.State != Offered || e.Filter != "" || e.ShadowedBy != "" || e.Away || e.Kind != "" || e.CopyOf != "" {
		return nil
	}
	return e.advice
}

// BodyOnly returns the terms of the prompt that only the body of the skill has.
func (e *Explanation) BodyOnly() []string {
	m := &e.Matched
	head := slices.Concat(m.Name, m.Description, m.Tags)
	return slices.DeleteFunc(slices.Clone(m.Body), func(term string) bool { return slices.Contains(head, term) })
}

// absent returns the different terms of a prompt that are not in those of a skill, without
// numbers: no skill need have those of a prompt.
func absent(prompt, skill []string) []string {
	known := make(map[string]bool, len(skill))
	for _, t := range skill {
		known[t] = true
	}
	var list []string
	for _, t := range prompt {
		if !known[t] && !isNumber(t) {
			known[t], list = true, append(list, t)
		}
	}
	return list
}

// mostProbable returns the most probable of the skills that the prompt does not name.
func (r *retrieval) mostProbable() (best rank.Scored) {
	for _, s := range r.scored {
		if !s.Exact && s.Probability > best.Probability {
			best = s
		}
	}
	return best
}

// verdict says in one sentence what decided. best is the most probable skill.
func (e *Explanation) verdict(best rank.Scored) string {
	switch {
	case e.State != Offered:
		return "Not offered: " + e.Reason + "."
	case e.Filter != "":
		return "Not offered: " + e.Filter + "."
	case e.ShadowedBy != "":
		return fmt.Sprintf("Not offered: %s of %s has the same name and comes first.", e.ShadowedBy, e.ShadowedFrom)
	case e.Away:
		return fmt.Sprintf("Not offered: its source %s cannot be read now.", e.Source)
	case len(e.chain) > 0:
		return fmt.Sprintf("Offered, if the budget has room, because %s requires %s.", e.chain[0], strings.Join(append(slices.Clone(e.chain[1:]), "it"), ", which requires "))
	case e.Kind != "" && !e.Relevant:
		return "Not offered: " + e.Quiet() + "."
	case e.CopyOf != "" && e.Relevant: // the skill that stays is relevant too
		return fmt.Sprintf("Not offered: it is the same as %s, which is offered.", e.CopyOf)
	case e.Rank == 0 && e.Strength == 0:
		return "Not offered: it has no word in common with the prompt."
	case e.Rank == 0:
		return fmt.Sprintf("Not offered: it is not among the %d best candidates.", e.Of)
	case e.Relevant:
		return fmt.Sprintf("Offered, as number %d of %d candidates.", e.Rank, e.Of)
	case e.Demand.Probability < e.Threshold:
		return "Not offered: " + e.Quiet() + "."
	}
	own, others := figures.Percents(e.Probability, best.Probability)
	return fmt.Sprintf("Far behind %s (%s against %s).", best.ID, own, others)
}

// filter describes the rule that keeps skill i out of the scope of the agent.
func (a *Agent) filter(v *snapshot.View, i int, h *held) string {
	for _, s := range h.switched(i) {
		if a != nil && s.Client == a.Client {
			return "it is " + s.String()
		}
	}
	if a == nil {
		return "only agents that use it see it"
	}
	return fmt.Sprintf("agent %s %s", a.Name, a.rule(v, i, h))
}

// rule describes which of its rules keeps skill i out of the scope of the agent.
func (a *Agent) rule(v *snapshot.View, i int, h *held) string {
	var excluding []string
	for _, part := range []Rules{{Names: a.Exclude.Names}, {Tags: a.Exclude.Tags}, {Sources: a.Exclude.Sources}} {
		if heldBy(v, part).Has(i) {
			excluding = append(excluding, part.String())
		}
	}
	if len(excluding) > 0 {
		return fmt.Sprintf("excludes it (%s)", strings.Join(excluding, "; "))
	}
	switch {
	case h != nil && h.private.Has(i):
		return "does not use it, and only agents that use it see it"
	case a.Include.empty():
		return "sees only what it uses: " + strings.Join(a.Uses, ", ")
	}
	return fmt.Sprintf("includes only %s", a.Include)
}

// String lists the rules as "names a, b; tags c".
func (r Rules) String() string {
	var out []string
	add := func(key string, list []string) {
		if len(list) > 0 {
			out = append(out, key+" "+strings.Join(list, ", "))
		}
	}
	add("names", r.Names)
	add("tags", r.Tags)
	add("sources", r.Sources)
	return strings.Join(out, "; ")
}
