package web

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// nearly is how many skills a page shows that were not offered.
const nearly = 5

// A promptPage says what a prompt gets.
type promptPage struct {
	Prompt string
	Skills int     // that the visitor may be offered
	Offers []offer // one for each agent; none without a prompt

	Examples []string // prompts to begin with, if there is none
}

// An offer is what one agent gets for a prompt, and why.
type offer struct {
	repertoire.Block
	Agent   string // "" means the whole catalog
	First   bool   // of the offers of a page
	Offered []ranked
	Near    []ranked // the best of those that are not offered
	Level   *level   // nil if nothing was weighed, as for a reply
	Reasons []bar    // for or against offering anything
}

// A ranked skill has the summands of its score as bars.
type ranked struct {
	repertoire.Hit
	Agent  string // who gets it; "" means the whole catalog
	Pinned bool
	Share  float64 // of the width that its probability takes
	Bars   []bar
	Found  []found
}

// A found says which words of the prompt a field of a skill has.
type found struct{ In, Words string }

// A level is how likely a prompt needs a skill, against the threshold.
type level struct {
	Share, Threshold   float64 // of the width
	Likely, Needed     string  // the same in words
	Promise, Reference string  // what the threshold is good for, and what it follows from
	Reached            bool
	Readings           []search.Read // what words of another language were read as
}

// A bar is one summand of a sum: to the right of the middle what speaks for a skill, to the
// left what speaks against it.
type bar struct {
	Name, Detail     string
	Value            string
	Middle, X, Width float64 // of 100
	Against          bool
}

// examplesOf returns three prompts that skills are for: examples of their authors, or else short sentences with
// which descriptions begin.
func examplesOf(list []repertoire.Entry) (examples []string) {
	const most, tried, longest = 3, 60, 90
	add := func(from func(e *repertoire.Entry) string) {
		for i := 0; i < len(list) && len(examples) < most; i += max(1, len(list)/tried) { // from all over the catalog
			if text := from(&list[i]); text != "" && len(text) <= longest && !slices.Contains(examples, text) {
				examples = append(examples, text)
			}
		}
	}
	add(func(e *repertoire.Entry) string { return strings.Join(e.Examples[:min(len(e.Examples), 1)], "") })
	add(func(e *repertoire.Entry) string {
		first := words.FirstSentence(e.Description, longest)
		if lower := strings.ToLower(first); strings.Contains(lower, "skill") || strings.Contains(lower, "use ") || strings.HasSuffix(first, "…") {
			return "" // it speaks of itself, or goes on
		}
		return strings.TrimSuffix(first, ".")
	})
	return examples
}

// getPrompt shows what each agent would be offered for a prompt. It comes by POST, so that
// no address has it, which logs and browsers keep.
func (hs *handlers) getPrompt(v *visit) (answer, error) {
	p := promptPage{Prompt: v.PostFormValue("q")}
	if p.Prompt == "" {
		const large = 3000 // skills, of which a list takes as long as the rest of the page
		var err error
		if p.Skills, err = hs.catalog.Count(v.Context(), v.scope); err == nil && p.Skills <= large {
			var list []repertoire.Entry
			list, err = hs.catalog.List(v.Context(), v.scope, nil)
			p.Examples = examplesOf(list)
		}
		return answer{data: p}, err
	}
	var shown []string
	for _, a := range v.agents() {
		o, err := hs.offerTo(v, a, p.Prompt)
		if err != nil {
			return answer{}, err
		}
		o.First = len(p.Offers) == 0
		p.Offers = append(p.Offers, o)
		for _, r := range slices.Concat(o.Offered, o.Near) {
			if !slices.Contains(shown, r.ID) {
				shown = append(shown, r.ID)
			}
		}
	}
	hs.observe(v, usage.Event{Kind: usage.Searched, Call: "/ui/prompt", Skills: usage.Named(shown...), Prompt: p.Prompt})
	return answer{data: p}, nil
}

func (hs *handlers) offerTo(v *visit, a *repertoire.Agent, prompt string) (o offer, err error) {
	var pinned []string
	if a != nil {
		o.Agent, pinned = a.Name, a.Pinned
	}
	// List pinned skills instead of reading all their instructions for each character.
	if o.Block, err = hs.catalog.Block(v.Context(), prompt, repertoire.Budget{Command: "skills", ListPinned: true, Offer: contextprovider.Relevant}, a); err != nil {
		return o, err
	}
	all, err := hs.catalog.Search(v.Context(), repertoire.Query{Text: prompt, Agent: a, Limit: len(o.Skills) + o.Omitted + nearly, Person: true})
	if err != nil {
		return o, err
	}
	for _, h := range o.Skills {
		o.Offered = append(o.Offered, o.ranked(prompt, h, slices.Contains(pinned, h.Name)))
	}
	for _, h := range all.Hits {
		offered := func(o repertoire.Hit) bool { return o.ID == h.ID }
		if len(o.Near) < nearly && !slices.ContainsFunc(o.Skills, offered) {
			o.Near = append(o.Near, o.ranked(prompt, h, false))
		}
	}
	o.Level, o.Reasons = levelOf(&o.Ranking)
	return o, nil
}

// levelOf returns how likely a prompt needs a skill, and why; nil if nothing was weighed.
func levelOf(r *search.Ranking) (*level, []bar) {
	d := r.Demand
	if len(d.Terms) == 0 || r.Kind != "" {
		return nil, nil
	}
	l := &level{
		Share: width(d.Probability), Threshold: width(r.Threshold), Reached: d.Probability >= r.Threshold,
		Promise: r.Background.Promise(), Reference: r.Reference(), Readings: r.Readings,
	}
	l.Likely, l.Needed = figures.Percents(d.Probability, r.Threshold)
	return l, barsOf(d.Terms)
}

func (o *offer) ranked(prompt string, h repertoire.Hit, pinned bool) ranked {
	return ranked{
		Hit: h, Agent: o.Agent, Pinned: pinned, Share: width(h.Probability), Bars: barsOf(h.Terms), Found: foundIn(o.Ranking, prompt, &h.Matched),
	}
}

// foundIn says which words of a prompt a skill has, as the prompt spells them.
func foundIn(r search.Ranking, prompt string, m *search.Matched) (list []found) {
	for _, f := range []struct {
		in    string
		terms []string
	}{{"name", m.Name}, {"description", m.Description}, {"tags", m.Tags}, {"text", m.Body}} {
		if len(f.terms) > 0 {
			list = append(list, found{f.in, strings.Join(r.Spelled(prompt, f.terms), ", ")})
		}
	}
	return list
}

// width returns a share of a drawing that is 100 wide.
func width(share float64) float64 { return math.Round(1000*min(max(share, 0), 1)) / 10 }

// barsOf returns the summands that count. The longest bar takes the whole width, or half of it
// if there are bars to both sides.
func barsOf(terms []rank.Term) []bar {
	longest, middle := 0.0, 0.0
	for _, t := range terms {
		value := t.Value * t.Weight
		longest = max(longest, math.Abs(value))
		if value < 0 {
			middle = 50
		}
	}
	var list []bar
	for _, t := range terms {
		value := t.Value * t.Weight
		if math.Abs(value) < .005 {
			continue
		}
		b := bar{
			Name: termName(t.Name), Detail: fmt.Sprintf("%s: %.2f × %.2f", t.Name, t.Value, t.Weight), Value: fmt.Sprintf("%+.2f", value),
			Middle: middle, X: middle, Width: width(math.Abs(value)/longest) * (100 - middle) / 100, Against: value < 0,
		}
		if b.Against {
			b.X -= b.Width
		}
		list = append(list, b)
	}
	return list
}
