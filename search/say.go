package search

import (
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/intent"
)

// Quiet says why a prompt gets no skill but those that it names; "" if it may get others.
func (r *Ranking) Quiet() string {
	switch {
	case r.Kind != "":
		return "the prompt is " + intent.Kind(r.Kind).Phrase()
	case r.Demand.Probability < r.Threshold:
		likely, threshold := figures.Percents(r.Demand.Probability, r.Threshold)
		return fmt.Sprintf("this prompt looks %s likely to need a skill; the threshold is %s", likely, threshold)
	}
	return ""
}

// Promise says what the threshold is good for; "" if it was set by hand.
func (b *Background) Promise() string {
	if b.Disturb < 0 {
		return ""
	}
	return fmt.Sprintf("at most %.3g %% of the prompts that need no skill get one", 100*b.Disturb)
}

// Reference says how a prompt compares with the prompts that need no skill, or why the
// threshold is an estimate; "" if there is nothing to say.
func (r *Ranking) Reference() string {
	switch b := &r.Background; {
	case b.Prompts > 0 && r.Kind == "":
		return fmt.Sprintf("of %d prompts that need no skill, %d would score higher here", b.Prompts, b.Higher)
	case b.Prompts == 0 && b.Disturb >= 0 && b.Missing != "":
		return "none, so that the threshold is an estimate: " + b.Missing
	case b.Prompts == 0 && b.Disturb >= 0:
		return "none, so that the threshold is an estimate"
	}
	return ""
}
