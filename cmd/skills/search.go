package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
)

const searchHelp = `Search prints the skills that fit a text best, the best first. Any text is a
safe query: a few words, a whole prompt, a pasted log. A skill that the text
names comes first. The words of a long text are weighed by how rare they are.

On a terminal, skills that "context" would offer are marked with *. When the
output is piped, each line holds name, score, probability, source and
description, separated by tabs. The probability is that the skill is wanted for
the text; unlike the score it is comparable between texts and catalogs.

--json prints an object with
  query     the text
  mode      what the ranking is based on: "hybrid", or "text (…)" with a reason;
            with a reranker also whether it had a part
  kind      what the prompt is, when "context" would offer only what it names:
            "empty", "slash command", "reply" (or greeting), "shell command",
            "diff", "log" or "code" without a request
  demand    probability that the text wants any skill
  threshold the least demand for which "context" offers skills
  took_ms   time of the search in milliseconds
  results   a list of objects with id, name, description, score, probability,
            source, path, relevant ("context" would offer it), copies (IDs
            of skills with nearly the same text, left out) and why: the terms of
            the score (each with name, value and weight), the matched words
            (stemmed) of name, description and tags ("why" tells those of the
            body), strength, coverage and evidence of the match, and rerank,
            the score of a configured reranker, by which the best are ordered
Scores are comparable within one answer only.`

func (a *app) searchCommand() *cobra.Command {
	limit := 10
	var least threshold
	cmd := &cobra.Command{
		Use:     "search TEXT… | -",
		Short:   "List the skills that fit a text, best first",
		Long:    searchHelp,
		Example: "  skills search fill in a pdf form\n  git diff | skills search -",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return &usageError{cmd.CommandPath(), fmt.Errorf("--limit %d: at least 1", limit)}
			}
			if err := least.check(); err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			return a.search(cmd, args, repertoire.Query{Limit: limit, Threshold: least.probability()})
		},
	}
	least.flag(cmd)
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "print at most this `number` of skills")
	return cmd
}

func (a *app) search(cmd *cobra.Command, args []string, q repertoire.Query) error {
	c, text, err := a.openAsked(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer c.Close()
	start := time.Now()
	q.Text, q.Agent = text, c.agent
	answer, err := c.Search(cmd.Context(), q)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if answer.RerankError != nil && a.verbose {
		a.note("not reranked: %v", answer.RerankError)
	}
	if a.json {
		return a.printJSON(searchResult{Query: text, Mode: answer.Mode, Kind: answer.Kind, Demand: rounded(answer.Demand.Probability), Threshold: answer.Threshold, TookMS: milliseconds(took), Results: resultsOf(answer.Hits)})
	}
	return a.printHits(answer, took)
}

func (a *app) printHits(answer repertoire.Answer, took time.Duration) error {
	if len(answer.Hits) == 0 {
		a.note("no skill has anything in common with this text; ranking: %s", answer.Mode)
		return nil
	}
	_, marks := terminal(a.stdout)
	var rows [][]string
	for _, h := range answer.Hits {
		name := h.ID
		if marks && h.Relevant {
			name += " *"
		}
		rows = append(rows, []string{name, strconv.FormatFloat(h.Score, 'f', 3, 64), strconv.FormatFloat(h.Probability, 'f', 3, 64), h.Source, h.Description})
	}
	if err := a.rows([]string{"NAME", "SCORE", "WANTED", "SOURCE", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	if marks {
		a.note("probability that a skill is wanted: %.2f; ranking: %s, %v", answer.Demand.Probability, answer.Mode, took.Round(100*time.Microsecond))
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return rounded(float64(d) / float64(time.Millisecond)) }
