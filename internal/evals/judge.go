package evals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Levels are the rates and the threshold at which prompts are asked, see search.Query; the zero value
// means those of the catalog.
type Levels struct{ Disturb, Unfit, Threshold float64 }

// A Result is what happens to a prompt.
type Result string

// The results.
const (
	Offered Result = "offered" // the skill is listed
	Lost    Result = "lost"    // other skills are listed instead
	Below   Result = "below"   // nothing is listed: no skill fits well enough
	Kind    Result = "kind"    // nothing is listed for prompts of this kind, such as a greeting
	Hidden  Result = "hidden"  // the skill is listed for no prompt: it is held back, shadowed or away
)

// An Outcome says how a prompt fares.
type Outcome struct {
	ID      string `json:"id"`    // as of a Prompt
	Skill   string `json:"skill"` // ID of the skill
	Prompt  string `json:"prompt"`
	Trigger bool   `json:"should_trigger"`
	Right   bool   `json:"right"` // the author wants this result
	Result  Result `json:"result"`
	To      string `json:"lost_to,omitempty"` // ID of the skill that is listed first instead
	// ToInvented means that nobody has the skill To, see Among.
	ToInvented bool `json:"lost_to_invented,omitempty"`

	Demand    float64  `json:"demand"` // probability that the prompt wants the best skill
	Threshold float64  `json:"threshold"`
	Missing   []string `json:"missing,omitempty"` // words of the prompt that the skill lacks
	Verdict   string   `json:"verdict,omitempty"` // one sentence on why the skill is not listed

	// BySearch means that only the user starts the skill. No prompt is offered it, so that Result
	// says what a search finds for him.
	BySearch bool `json:"by_search,omitempty"`
}

// Try asks prompts of a skill with an ID, as a client would, and returns how each fares, see Sort.
func (r *Room) Try(ctx context.Context, id string, prompts []Prompt, l Levels) ([]Outcome, error) {
	list := make([]Outcome, len(prompts))
	for i, p := range prompts {
		var err error
		if list[i], err = r.ask(ctx, id, p, l); err != nil {
			return nil, fmt.Errorf("asking %s: %w", p.ID, err)
		}
	}
	Sort(list)
	return list, nil
}

func (r *Room) ask(ctx context.Context, id string, p Prompt, l Levels) (Outcome, error) {
	o := Outcome{ID: p.ID, Skill: id, Prompt: p.Prompt, Trigger: p.Trigger}
	block, err := r.Block(ctx, p.Prompt, contextprovider.Budget{Offer: contextprovider.Relevant, Disturb: l.Disturb, Unfit: l.Unfit, Threshold: l.Threshold, Trial: true}, r.Agent)
	if err != nil {
		return o, err
	}
	o.Demand, o.Threshold = block.Demand.Probability, block.Threshold
	if lists(block.Skills, id) {
		o.Result, o.Right = Offered, p.Trigger
		return o, nil
	}
	q := search.Query{Text: p.Prompt, Agent: r.Agent, Disturb: l.Disturb, Unfit: l.Unfit, Threshold: l.Threshold, Trial: true}
	why, err := r.Why(ctx, id, q)
	if err != nil {
		return o, err
	}
	hits := block.Skills
	if status, _ := why.Status(); status == string(search.Reserved) {
		q.Person, q.Relevant = true, true
		found, err := r.Search(ctx, q)
		if err != nil {
			return o, err
		}
		o.BySearch, o.Demand, hits, why.State = true, found.Demand.Probability, found.Hits, search.Offered
		if lists(hits, id) {
			o.Result, o.Right = Offered, p.Trigger
			return o, nil
		}
	}
	o.Right, o.Verdict, o.Missing = !p.Trigger, why.Verdict, words.Spelled(p.Prompt, why.Absent)
	switch {
	case why.State != search.Offered || why.Filter != "" || why.ShadowedBy != "" || why.Away:
		o.Result = Hidden
	case len(hits) > 0:
		o.Result, o.To, o.ToInvented = Lost, hits[0].ID, hits[0].Source == labelInvented
	case why.Kind != "":
		o.Result = Kind
	default:
		o.Result = Below
	}
	return o, nil
}

// lists reports whether hits have the skill, or a copy of it.
func lists(hits []search.Hit, id string) bool {
	return slices.ContainsFunc(hits, func(h search.Hit) bool {
		return h.ID == id || slices.ContainsFunc(h.Copies, func(e search.Entry) bool { return e.ID == id })
	})
}

// Says says in a few words what happens to the prompt.
func (o *Outcome) Says() string {
	listed := string(Offered)
	if o.BySearch {
		listed = "found by search"
	}
	switch {
	case !o.Trigger && o.Right:
		return "not " + listed + ", as it should be"
	case !o.Trigger:
		return listed + ", and should not be"
	case o.Result == Offered:
		return listed
	case o.Result == Lost:
		if o.ToInvented {
			return "lost to " + o.To + ", which is invented"
		}
		return "lost to " + o.To
	case o.Result == Below:
		likely, threshold := figures.Percents(o.Demand, o.Threshold)
		return fmt.Sprintf("below the rate (%s, needed %s)", likely, threshold)
	case o.Result == Kind:
		return "of a kind that needs no skill"
	}
	return string(o.Result)
}

// Sort puts the outcomes of each skill together: first the skills with a prompt that does
// not get what its author wants, by ID, and of each skill first those prompts.
func Sort(list []Outcome) {
	wrong := make(map[string]bool)
	for _, o := range list {
		wrong[o.Skill] = wrong[o.Skill] || !o.Right
	}
	first := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Outcome) int {
		return cmp.Or(first(wrong[a.Skill])-first(wrong[b.Skill]), cmp.Compare(a.Skill, b.Skill), first(!a.Right)-first(!b.Right))
	})
}

// Summary says how many prompts get what their authors want, what happens to the others, and among
// how many skills they were asked.
func Summary(list []Outcome, a Among) string {
	right, searched := 0, 0
	wrong := make(map[Result]int)
	for _, o := range list {
		if o.BySearch {
			searched++
		}
		if o.Right {
			right++
		} else {
			wrong[o.Result]++
		}
	}
	text := fmt.Sprintf("%d of %d prompts get what their author wants", right, len(list))
	var parts []string
	for _, r := range []struct {
		Result
		what string
	}{
		{Lost, "lost to another skill"}, {Below, "below the rate"}, {Kind, "of a kind that needs no skill"}, {Hidden, "for a skill that is hidden"},
		{Offered, "offered though it should not be"},
	} {
		if n := wrong[r.Result]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r.what))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if searched > 0 {
		text += fmt.Sprintf("; for %d of them search alone was asked, because only the user starts the skill", searched)
	}
	return text + "; " + a.String() + "."
}

// Failing returns what is to be said of the prompts of a skill that do not get what their author wants, if
// there are any, without a place. list is from Try, had are the phrases of the skill's triggers.
func (r *Room) Failing(list []Outcome, had []string) (p skill.Problem, fails bool) {
	const shown, length = 3, 120
	n, parts := 0, []string(nil)
	for _, o := range list {
		if !o.Right {
			n++
			parts = append(parts, "“"+tidy.Shorten(tidy.Line(o.Prompt), length)+"” is "+o.Says())
		}
	}
	message := fmt.Sprintf("%d of %d prompts of its evals fail: %s", n, len(list), strings.Join(parts[:min(n, shown)], "; "))
	if n > shown {
		message += fmt.Sprintf("; and %d more", n-shown)
	}
	p = skill.Problem{Rule: "evals-fail", Severity: skill.Note, Message: message + "; " + r.Among.String(), Hint: "say in the description what these prompts say"}
	if phrases := Triggers(list, had); len(phrases) > 0 {
		p.Hint += fmt.Sprintf(", or add triggers that people would say, such as [%s]", strings.Join(phrases, ", "))
	}
	return p, n > 0
}
