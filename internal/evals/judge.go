package evals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A Catalog is asked the prompts of evals; *repertoire.Catalog is one.
type Catalog interface {
	Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error)
	Why(ctx context.Context, id string, q search.Query) (search.Explanation, error)
	Search(ctx context.Context, q search.Query) (search.Answer, error)
}

// A Judge asks a catalog as a client would.
type Judge struct {
	Catalog            Catalog
	Agent              *search.Agent // who asks; nil means the whole catalog
	Disturb, Threshold float64       // see search.Query
}

// A Result is what happens to a prompt.
type Result string

// The results.
const (
	Offered Result = "offered" // the skill is listed
	Lost    Result = "lost"    // other skills are listed instead
	Below   Result = "below"   // nothing is listed: the prompt looks as if it needs no skill
	Kind    Result = "kind"    // nothing is listed for prompts of this kind, such as a greeting
	Hidden  Result = "hidden"  // the skill is listed for no prompt: it is held back, shadowed or away
)

// An Outcome says how a prompt fares.
type Outcome struct {
	ID        string   `json:"id"`    // as of a Prompt
	Skill     string   `json:"skill"` // ID of the skill
	Prompt    string   `json:"prompt"`
	Trigger   bool     `json:"should_trigger"`
	Right     bool     `json:"right"` // the author wants this result
	Result    Result   `json:"result"`
	To        string   `json:"lost_to,omitempty"` // ID of the skill that is listed first instead
	Demand    float64  `json:"demand"`            // probability that the prompt wants any skill
	Threshold float64  `json:"threshold"`
	Missing   []string `json:"missing,omitempty"` // words of the prompt that the skill lacks
	Verdict   string   `json:"verdict,omitempty"` // one sentence on why the skill is not listed

	// BySearch means that only the user starts the skill. No prompt is offered it, so that Result
	// says what a search finds for him.
	BySearch bool `json:"by_search,omitempty"`
}

// Ask asks one prompt of a skill with an ID.
func (j *Judge) Ask(ctx context.Context, id string, p Prompt) (Outcome, error) {
	o := Outcome{ID: p.ID, Skill: id, Prompt: p.Prompt, Trigger: p.Trigger}
	block, err := j.Catalog.Block(ctx, p.Prompt, contextprovider.Budget{Offer: contextprovider.Relevant, Disturb: j.Disturb, Threshold: j.Threshold, Trial: true}, j.Agent)
	if err != nil {
		return o, fmt.Errorf("asking %s: %w", p.ID, err)
	}
	o.Demand, o.Threshold = block.Demand.Probability, block.Threshold
	if lists(block.Skills, id) {
		o.Result, o.Right = Offered, p.Trigger
		return o, nil
	}
	q := search.Query{Text: p.Prompt, Agent: j.Agent, Disturb: j.Disturb, Threshold: j.Threshold, Trial: true}
	why, err := j.Catalog.Why(ctx, id, q)
	if err != nil {
		return o, fmt.Errorf("asking %s: %w", p.ID, err)
	}
	hits := block.Skills
	if status, _ := why.Status(); status == string(search.Reserved) {
		q.Person, q.Relevant = true, true
		found, err := j.Catalog.Search(ctx, q)
		if err != nil {
			return o, fmt.Errorf("asking %s: %w", p.ID, err)
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
		o.Result, o.To = Lost, hits[0].ID
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

// Summary says in one sentence how many prompts get what their authors want, and what
// happens to the others.
func Summary(list []Outcome) string {
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
	return text + "."
}
