package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	sessions "github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

const whyHelp = `Why explains why a skill is or is not offered for a prompt: its rank among the
candidates, the terms of its score, the score of a reranker, which words of the
prompt it has in which field and which it lacks, which of its triggers the
prompt has and which do not count, which words would help its description if it
should be offered, the clause of the description that rules the prompt out,
which part of the prompt it is offered for, why it is held back from everybody,
the rule of an agent that keeps it out, the copy that shadows it or is offered
instead, the kind of a prompt that wants no skill, and the probability that the
prompt wants any: the log odds ("demand") are the sum of what speaks for and
against it. It also says which command or environment variable the skill needs
and lacks, and which skills require it if it is offered though the prompt does
not want it. The verdict comes first, then what would change it, then words,
then figures. The words of the advice are rare in this catalog, and in the
language of the skill.

With --last, why says what the hook has offered in the newest session of this
project, the newest answer first, up to 8 of them: which skills, how likely each
was, the words and figures that counted, and whether the prompt before counted
too, as for "and the other file". --session takes another session. The text of
prompts is kept of the last one only, unless the log of usage keeps prompts
("usage" in the configuration).

--json prints the object of "search --json" for the skill, with prompt, stale,
partial, unread, as_of, mode, kind and reading (of the prompt, as in "search
--json", with typed and english), copy_of (the skill that stays instead of this
copy), rank (0 when it is no candidate), of (candidates), best (the first of
them), missing, advice, ruled_out (the clause), ignored (triggers of the skill
that do not count, and why), filter, shadowed_by, state and reason (of a skill
that is held back), verdict, demand, threshold, disturb and unfit_rate (as in
"search --json"), background (of prompts that need no skill: prompts, how many
were ranked in this catalog, higher, how many of them score higher than this
one, and offered, how many get an offer; the same as unfit of those that need a
skill which is not there, without the near that a skill here may fit; and as
missing why there are none), demand_terms (the log odds of demand as a sum, each
with name, value and weight), and rerank_error when a reranker failed. With
--last it prints an object with session, dir and answers: time, prompt, follows
(the prompt before counted too, of the time earlier), demand, threshold and
skills (id, probability, matched words by field, trigger, terms, required_by).`

func newWhyCommand(e env) *cobra.Command {
	var last lastOffers
	ask := e.onPrompt(1, freshen, runWhy)
	cmd := &cobra.Command{
		Use:               "why NAME PROMPT… | NAME - | --last [N]",
		Short:             "Explain why a skill is or is not offered for a prompt",
		Long:              whyHelp,
		Example:           "  skills why pdf-forms \"fill in the W-9\"\n  skills --agent reviewer why code-review - < prompt.txt\n  skills why --last 3",
		Args:              last.args,
		ValidArgsFunction: e.first(skillNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("last") {
				return runWhyLast(e.session(cmd).screen, &last)
			}
			return ask(cmd, args)
		},
	}
	cmd.Flags().IntVar(&last.most, "last", 0, "say why the last `N` answers of a session offered what they did (default 8)")
	cmd.Flags().Lookup("last").NoOptDefVal = strconv.Itoa(sessions.MaxLast)
	cmd.Flags().StringVar(&last.session, "session", newestSession, sessionHelp)
	return cmd
}

func runWhy(ctx context.Context, s *session, c *catalog, args []string) error {
	prompt := args[1]
	e, err := c.Why(ctx, args[0], repertoire.Query{Text: prompt, Agent: c.agent})
	if err != nil {
		return err
	}
	if s.json {
		out := whyResult{resultHit: resultOf(e.Hit), Prompt: prompt, ranking: c.rankingOf(e.Ranking), CopyOf: e.CopyOf, Rank: e.Rank, Of: e.Of, Best: e.Best,
			DemandTerms: roundedTerms(e.Demand.Terms), Missing: append([]string{}, e.Missing...), Advice: append([]string{}, e.Advice()...), RuledOut: e.RuledOut, Ignored: e.Ignored,
			Background: trial.BackgroundOf(&e.Background),
			Filter:     e.Filter, ShadowedBy: e.ShadowedBy, Verdict: e.Verdict}
		if e.RerankError != nil {
			out.RerankError = e.RerankError.Error()
		}
		return s.printJSON(out)
	}
	return s.printText(explain(e, prompt))
}

// addends writes terms as a sum: " = a 1.00 × 2 + b …".
func addends(terms []rank.Term) string {
	sep, sum := " = ", ""
	for _, t := range terms {
		if t.Weight == 0 {
			continue // a figure that does not count here
		}
		sum += fmt.Sprintf("%s%s %.2f × %g", sep, t.Name, t.Value, math.Round(100*t.Weight)/100)
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
		if b.Missing != "" && b.Due {
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
			say("  %-15s %s", label, strings.Join(e.Ranking.Spelled(prompt, terms), " "))
		}
	}
	say("%s: %s", e.ID, e.Verdict)
	if e.RuledOut != "" {
		say("Its description rules this out: %s", e.RuledOut)
	}
	if advice := e.Advice(); len(advice) > 0 {
		say("If it should be offered, its description needs words such as: %s", strings.Join(advice, ", "))
	}
	list("in name", e.Matched.Name)
	list("in description", e.Matched.Description)
	list("in tags", e.Matched.Tags)
	list("in body", e.Matched.Body)
	list("not in it", e.Missing)
	for _, s := range e.Switched {
		say("  client    %s", s)
	}
	say("  location  %s", e.Location)
	say("  mode      %s", e.Mode)
	for _, r := range e.Readings {
		say("  read      %s", r)
	}
	if e.Rank > 0 {
		behind := ""
		if e.Rank > 1 {
			behind = ", behind " + e.Best
		}
		say("  rank      %d of %d%s", e.Rank, e.Of, behind)
	}
	if e.Part != "" {
		say("  for       %q, by itself", e.Part)
	}
	say("  score     %.2f%s", e.Score, addends(e.Terms))
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
		say("  reranker  %.2f", *e.RerankScore)
	case e.RerankError != nil:
		say("  reranker  %v", e.RerankError)
	}
	return b.String()
}
