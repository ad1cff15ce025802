package cli

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

const whyHelp = `Why explains why a skill is or is not offered for a prompt: its rank among the
candidates, the terms of its score, the score of a reranker, which words of the
prompt it has in which field and which it lacks, which of its triggers the
prompt has and which do not count, which words would help its description if it
should be offered, why it is held back from everybody, the rule of an agent that
keeps it out, the copy that shadows it or is offered instead, the kind of a
prompt that wants no skill,
and the probability that the prompt wants any: the log odds ("demand") are the
sum of what speaks for and against it. It also says which command or environment
variable the skill needs and lacks, and which skills require it if it is offered
though the prompt does not want it.

--json prints the object of "search --json" for the skill, with prompt, stale,
partial, unread, as_of, mode, kind (of the prompt, as in "search --json"),
copy_of (the skill that stays instead of this copy), rank (0 when it is no
candidate), of (candidates), best (the first of them), missing, advice, ignored
(triggers of the skill that do not count, and why), filter, shadowed_by, state
and reason (of a skill that is held back), verdict, demand, threshold and
disturb (as in "search --json"),
background (the number of prompts that need no skill and were ranked in this
catalog, how many of them score higher than this one, and as missing why there
are none), demand_terms (the log odds of demand as a sum, each with name, value
and weight), and rerank_error when a reranker failed.`

func newWhyCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:               "why NAME PROMPT… | NAME -",
		Short:             "Explain why a skill is or is not offered for a prompt",
		Long:              whyHelp,
		Example:           "  skills why pdf-forms \"fill in the W-9\"\n  skills --agent reviewer why code-review - < prompt.txt",
		Args:              args(2, -1),
		ValidArgsFunction: e.first(skillNames),
		RunE:              e.onPrompt(1, freshen, runWhy),
	}
}

func runWhy(ctx context.Context, s *session, c *catalog, args []string) error {
	prompt := args[1]
	e, err := c.Why(ctx, args[0], repertoire.Query{Text: prompt, Agent: c.agent})
	if err != nil {
		return err
	}
	if s.json {
		out := whyResult{resultHit: resultOf(e.Hit), Prompt: prompt, ranking: c.rankingOf(e.Ranking), CopyOf: e.CopyOf, Rank: e.Rank, Of: e.Of, Best: e.Best,
			DemandTerms: roundedTerms(e.Demand.Terms), Missing: append([]string{}, e.Missing...), Advice: append([]string{}, e.Advice(prompt)...), Ignored: e.Ignored,
			Background: background{e.Background.Prompts, e.Background.Higher, e.Background.Missing},
			Filter:     e.Filter, ShadowedBy: e.ShadowedBy, Verdict: e.Verdict}
		if e.RerankError != nil {
			out.RerankError = e.RerankError.Error()
		}
		return s.printJSON(out)
	}
	return s.printText(explain(e, prompt))
}

// addends writes terms as a sum: " = a 1.000 × 2 + b …".
func addends(terms []rank.Term) string {
	sep, sum := " = ", ""
	for _, t := range terms {
		sum += fmt.Sprintf("%s%s %.3f × %g", sep, t.Name, t.Value, t.Weight)
		sep = " + "
	}
	return sum
}

// sayThreshold says what the threshold of an answer follows from, and how many prompts that
// need no skill would score higher.
func sayThreshold(say func(format string, args ...any), r search.Ranking) {
	b := &r.Background
	if promise := b.Promise(); promise != "" {
		say("  threshold %.3g %%, so that %s", 100*r.Threshold, promise)
	}
	if reference := r.Reference(); reference != "" {
		if b.Prompts == 0 && b.Due {
			reference += "; run \"skills index\""
		}
		say("  reference %s", reference)
	}
}

// sayTrigger says which trigger the prompt has, and what it adds to the score.
func sayTrigger(t *search.Trigger, terms []rank.Term) string {
	text := t.String()
	for _, term := range terms {
		switch term.Name {
		case "trigger":
			text += fmt.Sprintf(" %+.2g", term.Value*term.Weight)
		case "certain trigger":
			text += ", which counts like the skill's name"
		}
	}
	return text
}

func explain(e repertoire.Explanation, prompt string) string {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(lineOf(format, args...)) }
	list := func(label string, terms []string) {
		if len(terms) > 0 {
			say("  %-15s %s", label, strings.Join(words.Spelled(prompt, terms), " "))
		}
	}
	say("%s: %s", e.ID, e.Verdict)
	for _, s := range e.Switched {
		say("  client    %s", s)
	}
	say("  location  %s", e.Location)
	say("  mode      %s", e.Mode)
	if e.Rank > 0 {
		behind := ""
		if e.Rank > 1 {
			behind = ", behind " + e.Best
		}
		say("  rank      %d of %d%s", e.Rank, e.Of, behind)
	}
	say("  score     %.3f%s", e.Score, addends(e.Terms))
	say("  wanted    %s likely", figures.Percent(e.Probability))
	if d := e.Demand; len(d.Terms) > 0 {
		likely, threshold := figures.Percents(d.Probability, e.Threshold)
		say("  demand    %s likely, threshold %s; log odds %.2f%s", likely, threshold, math.Log(d.Probability/(1-d.Probability)), addends(d.Terms))
	}
	sayThreshold(say, e.Ranking)
	say("  match     strength %.2f, coverage %.2f, evidence %.2f", e.Strength, e.Coverage, e.Evidence)
	if e.Trigger != nil {
		say("  trigger   %s", sayTrigger(e.Trigger, e.Terms))
	}
	for _, why := range e.Ignored {
		say("  ignored   %s", why)
	}
	if e.CopyOf != "" {
		say("  copy of   %s", e.CopyOf)
	}
	if e.RequiredBy != "" {
		say("  required by   %s", e.RequiredBy)
	}
	if len(e.Copies) > 0 {
		say("  copies    %s", strings.Join(idsOf(e.Copies), ", "))
	}
	switch {
	case e.RerankScore != nil:
		say("  reranker  %.4g", *e.RerankScore)
	case e.RerankError != nil:
		say("  reranker  %v", e.RerankError)
	}
	list("in name", e.Matched.Name)
	list("in description", e.Matched.Description)
	list("in tags", e.Matched.Tags)
	list("in body", e.Matched.Body)
	list("not in it", e.Missing)
	if advice := e.Advice(prompt); len(advice) > 0 {
		say("If it should be offered, its description needs words such as: %s", strings.Join(advice, ", "))
	}
	return b.String()
}
