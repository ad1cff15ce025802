package cli

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/rank"
)

const whyHelp = `Why explains why a skill is or is not offered for a prompt: its rank among the
candidates, the terms of its score, the score of a reranker, which words of the
prompt it has in which field (stemmed) and which it lacks, the rule of an agent
that keeps it out, the copy that shadows it or is offered instead, the kind of a
prompt that wants no skill, and the probability that the prompt wants any: the
log odds ("demand") are the sum of what speaks for and against it.

--json prints the object of "search --json" for the skill, with prompt, stale, mode,
kind (of the prompt, as in "search --json"), copy_of (the skill that stays
instead of this copy), rank (0 when it is no candidate), of (candidates), best
(the first of them), missing, filter, shadowed_by, verdict, demand, threshold
(as in "search --json"), demand_terms (the log odds of demand as a sum, each
with name, value and weight), and rerank_error when a reranker failed.`

func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "why NAME PROMPT… | NAME -",
		Short:   "Explain why a skill is or is not offered for a prompt",
		Long:    whyHelp,
		Example: "  skills why pdf-forms \"fill in the W-9\"\n  skills --agent reviewer why code-review - < prompt.txt",
		Args:    args(2, -1),
		RunE:    a.onPrompt(1, freshen, a.why),
	}
}

func (a *app) why(ctx context.Context, c *catalog, args []string) error {
	prompt := args[1]
	e, err := c.Why(ctx, args[0], repertoire.Query{Text: prompt, Agent: c.agent})
	if err != nil {
		return err
	}
	if a.json {
		out := whyResult{resultHit: resultOf(e.Hit), Prompt: prompt, ranking: c.rankingOf(e.Ranking), CopyOf: e.CopyOf, Rank: e.Rank, Of: e.Of, Best: e.Best,
			DemandTerms: roundedTerms(e.Demand.Terms), Missing: append([]string{}, e.Missing...),
			Filter: e.Filter, ShadowedBy: e.ShadowedBy, Verdict: e.Verdict}
		if e.RerankError != nil {
			out.RerankError = e.RerankError.Error()
		}
		return a.printJSON(out)
	}
	return a.printText(explain(e))
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

func explain(e repertoire.Explanation) string {
	var b strings.Builder
	list := func(label string, terms []string) {
		if len(terms) > 0 {
			fmt.Fprintf(&b, "  %-15s %s\n", label, strings.Join(terms, " "))
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", e.ID, e.Verdict)
	fmt.Fprintf(&b, "  location  %s\n", e.Location)
	fmt.Fprintf(&b, "  mode      %s\n", e.Mode)
	if e.Rank > 0 {
		fmt.Fprintf(&b, "  rank      %d of %d", e.Rank, e.Of)
		if e.Rank > 1 {
			fmt.Fprintf(&b, ", behind %s", e.Best)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "  score     %.3f%s\n", e.Score, addends(e.Terms))
	fmt.Fprintf(&b, "  wanted    with a probability of %.3f\n", e.Probability)
	if d := e.Demand; len(d.Terms) > 0 {
		fmt.Fprintf(&b, "  demand    %.3f, threshold %.2f; log odds %.2f%s\n", d.Probability, e.Threshold, math.Log(d.Probability/(1-d.Probability)), addends(d.Terms))
	}
	fmt.Fprintf(&b, "  match     strength %.2f, coverage %.2f, evidence %.2f\n", e.Strength, e.Coverage, e.Evidence)
	if e.CopyOf != "" {
		fmt.Fprintf(&b, "  copy of   %s\n", e.CopyOf)
	}
	if len(e.Copies) > 0 {
		fmt.Fprintf(&b, "  copies    %s\n", strings.Join(idsOf(e.Copies), ", "))
	}
	switch {
	case e.RerankScore != nil:
		fmt.Fprintf(&b, "  reranker  %.4g\n", *e.RerankScore)
	case e.RerankError != nil:
		fmt.Fprintf(&b, "  reranker  %v\n", e.RerankError)
	}
	list("in name", e.Matched.Name)
	list("in description", e.Matched.Description)
	list("in tags", e.Matched.Tags)
	list("in body", e.Matched.Body)
	list("not in it", e.Missing)
	return b.String()
}
