package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

const searchHelp = `Search prints the skills that fit a text best, the best first. Any text is a
safe query: a few words, a whole prompt, a pasted log. A skill that the text
names comes first. The words of a long text are weighed by how rare they are.
Skills that hardly fit are left out, and if nothing fits, search says so; --all
lists them all the same.

On a terminal, skills that "context" would offer are marked with *, and below
each stands what matches best in its instructions. When the output is piped,
each line holds name, score, probability, source and description, separated by
tabs, and a sixth column marks a skill that is found and not offered: reserved
means that only you start it ("skills help list"). The probability is that the
skill is wanted for the text; unlike the score it is comparable between texts
and catalogs.

--registries asks the registries of your configuration too ("skills root add
--registry"), each once and all within four seconds, and ranks what they have
with your skills, all by name and description. They get the text, so leave out
what is secret. What is there is trusted less than what is here, and nothing is
installed. A registry that fails costs a line. "skills install --from" installs.

--syntax takes the text for a query in the language of SQLite's FTS5. Words
match in any form (forms: form), and common ones such as "the" are left out.
  pdf form, pdf AND form    skills that have both words
  pdf OR form, pdf NOT form one of them, or the first without the second
  "fill form"               a phrase, also as: fill + form
  organiz*                  words that begin so
  ^fill                     at the start of a column
  NEAR(pdf form, 5)         with at most 5 words between them; 10 if left out
  name: pdf                 in one column: name, description, tags or body
  {name tags}: (a OR b)     in some of them; -body: pdf in all but the body
NOT binds strongest, then AND, then OR; parentheses group. What matches is
ranked by BM25 alone. It is not judged, so that probabilities are 0.

--json prints an object with
  query     the text
  stale     why skills may have changed since they were indexed, if they may
  partial   true if some folders have not been read yet
  unread    how many, if any
  as_of     when a shared catalog that cannot be reached now was last as here
  mode      what the ranking is based on: "hybrid", or "text (…)" with a reason;
            with a reranker also whether it had a part; "syntax" for --syntax
  kind      what the prompt is, when "context" would offer only what it names:
            "empty", "slash command", "reply" (or greeting), "shell command",
            "diff", "log" or "code" without a request
  demand    probability that the text wants the best skill that it does not name
  reading   of a prompt in another language, what its words were read as: a list
            of typed and english (the likeliest first); missing if it is English
  threshold the least demand for which "context" offers skills
  disturb   the share of the prompts that need no skill and may get one, from
            which the threshold follows; missing if the threshold was set
  unfit_rate
            the same of the prompts that need one which is not there
  took_ms   time of the search in milliseconds
  nothing_fits
            true when no skill fits, so that results is empty
  unfit     number of skills that were found, but hardly fit: left out
  results   a list of objects with id, name, description, score, probability,
            source, path, relevant ("context" would offer it), state and reason
            (of a skill that is found and not offered), part (the clause
            of the text that it is for, if there are several), required_by (of
            "context": the skill that requires it), copies (IDs of skills with
            nearly the same text, left out) and why: the terms of
            the score (each with name, value and weight), the matched words
            (stemmed) of name, description and tags ("why" also shows those of
            the body), strength, coverage and evidence of the match, trigger
            (of the skill's triggers that the text has, the one that says most:
            its kind, text and value from 0 to 1), and rerank, the score of a
            configured reranker, by which the best are ordered; and snippet,
            an excerpt of the instructions, if they match: its text, and
            matches, the start and the end of each match in it, counted in
            characters (Unicode code points) from 0
Scores are comparable within one answer only.

With --registries, it has query, took_ms, unfit, results (a list of objects with
name, description, version, updated, installs, verdict of a scan, invoked_by
(who starts it, "user" or "model", if the registry says so), registry, also
(other registries that have it), origin, digest, source, here (ID of this skill
in your catalog), namesake (ID of another one of its name), probability,
relevant and install (the arguments that install it)) and registries: name, url,
via (the registry that refers to it), offers, omitted, as_of and error.`

func newSearchCommand(e env) *cobra.Command {
	q := repertoire.Query{Limit: 10}
	var least level
	var all, registries bool
	cmd := &cobra.Command{
		Use:     "search TEXT… | -",
		Short:   "List the skills that fit a text, best first",
		Long:    searchHelp,
		Example: "  skills search fill in a pdf form\n  git diff | skills search -\n  skills search --syntax \"name: pdf NOT merge\"",
		Args:    args(1, -1),
		PreRunE: checked(func([]string) error {
			if err := cmp.Or(atLeast("limit", q.Limit, 1), least.check()); err != nil || !q.Syntax {
				return err
			}
			if registries {
				return errors.New("--syntax has no meaning for registries; leave it or --registries out")
			}
			if all {
				return errors.New("--all has no meaning with --syntax, which lists all that match; leave one of them out")
			}
			for _, flag := range []string{"disturb", "unfit", "threshold"} {
				if least.given(flag) {
					return fmt.Errorf("--%s has no meaning with --syntax; leave one of them out", flag)
				}
			}
			return nil
		}),
		RunE: e.onPrompt(0, freshen, func(ctx context.Context, s *session, c *catalog, args []string) error {
			q.Text, q.Agent, q.Disturb, q.Unfit, q.Threshold = args[0], c.agent, least.disturb(), least.unfit(), least.threshold()
			q.Fitting, q.Person = !all && !q.Syntax, true
			if registries {
				return runDiscover(ctx, s, c, q)
			}
			return runSearch(ctx, s.screen, c, q)
		}),
	}
	least.flags(cmd)
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", q.Limit, "print at most this `number` of skills")
	cmd.Flags().BoolVar(&all, "all", false, "list skills that hardly fit, too")
	registriesFlag(cmd.Flags(), &registries)
	cmd.Flags().BoolVar(&q.Syntax, "syntax", false, "take the text for a query with phrases, prefixes, columns …")
	return cmd
}

func runSearch(ctx context.Context, ui *screen, c *catalog, q repertoire.Query) error {
	start := time.Now()
	answer, err := c.Search(ctx, q)
	if syntax, ok := errors.AsType[*repertoire.SyntaxError](err); ok {
		pointAt(ui, q.Text, syntax.Offset)
		return &usageError{"skills search", err}
	}
	if err != nil {
		return err
	}
	took := time.Since(start)
	c.used(usage.Answered(usage.Searched, q.Text, &answer.Ranking), mapped(answer.Hits, idOf)...)
	if answer.RerankError != nil {
		ui.noteVerbose("not reranked: %v", answer.RerankError)
	}
	snippets, err := findSnippets(ctx, ui, c, q, answer)
	if err != nil {
		return err
	}
	if ui.json {
		results := mapped(answer.Hits, resultOf)
		for i, s := range snippets {
			results[i].Snippet = snippetOf(s)
		}
		return ui.printJSON(searchResult{Query: q.Text, ranking: c.rankingOf(answer.Ranking), TookMS: figures.Milliseconds(took),
			NothingFits: len(results) == 0 && !q.Syntax, Unfit: answer.Unfit, Results: results})
	}
	if len(answer.Hits) == 0 && answer.Unfit == 0 {
		entries, err := c.List(ctx, c.agent, &repertoire.ListOptions{Person: true})
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			noteNoSkills(ui, c)
			return nil
		}
	}
	return printHits(ui, q, answer, snippets, took)
}

// findSnippets returns the snippets of all hits, on a terminal each short enough for two
// lines of a table. A table that is piped has none.
func findSnippets(ctx context.Context, ui *screen, c *catalog, q repertoire.Query, answer repertoire.Answer) ([]repertoire.Snippet, error) {
	length := 0 // the default
	if !ui.json {
		width, ok := terminal(ui.stdout)
		if !ok {
			return nil, nil
		}
		length = max(20, min(160, 2*(width-len(indent))-width/4))
	}
	return c.Snippets(ctx, q, mapped(answer.Hits, func(h repertoire.Hit) repertoire.Entry { return h.Entry }), length)
}

func printHits(ui *screen, q repertoire.Query, answer repertoire.Answer, snippets []repertoire.Snippet, took time.Duration) error {
	switch none := len(answer.Hits) == 0; {
	case none && q.Syntax:
		ui.note("no skill matches this query")
		return nil
	case none && answer.Unfit > 0:
		ui.note("nothing fits this text; --all lists the nearest skills; ranking: %s", answer.Mode)
		return nil
	case none:
		ui.note("nothing fits: no skill has anything in common with this text; ranking: %s", answer.Mode)
		return nil
	}
	width, marks := terminal(ui.stdout)
	rows := [][]string{{"NAME", "SCORE", "WANTED", "SOURCE", "DESCRIPTION"}}
	var below [][]string
	for i, h := range answer.Hits {
		name := h.ID
		switch {
		case marks && h.State != search.Offered:
			name += " (" + string(h.State) + ")"
		case marks && h.Relevant:
			name += " *"
		}
		wanted := decimals(h.Probability)
		if marks {
			wanted = figures.Percent(h.Probability)
		}
		rows = append(rows, []string{name, decimals(h.Score), wanted, h.Source, h.Description})
		if !marks && h.State != search.Offered {
			rows[i+1] = append(rows[i+1], string(h.State))
		}
		if marks {
			below = append(below, wrapped(snippets[i], width))
		}
	}
	if marks && q.Syntax { // a table has no use for a column of zeros, scripts have
		rows = mapped(rows, func(row []string) []string { return slices.Delete(row, 2, 3) })
	}
	if err := ui.rows(rows[0], rows[1:], below...); err != nil {
		return err
	}
	wanted := ""
	if !q.Syntax {
		wanted = fmt.Sprintf("the best skill is %s likely what this text wants; ", figures.Percent(answer.Demand.Probability))
	}
	if marks {
		more := ""
		if answer.Unfit > 0 && len(answer.Hits) < q.Limit {
			more = "; --all lists skills that hardly fit"
		}
		ui.note("%sranking: %s, %s%s", wanted, answer.Mode, figures.Duration(took), more)
	}
	return nil
}

// indent is the indentation of a snippet below its row of a table.
const indent = "    "

// wrapped returns a snippet as at most two lines of the given width, with matches in bold.
func wrapped(s repertoire.Snippet, width int) []string {
	if s.Text == "" {
		return nil
	}
	var out strings.Builder
	at := 0
	for _, m := range s.Matches {
		out.WriteString(tidy.Visible(s.Text[at:m[0]]))
		out.WriteString(lipgloss.NewStyle().Bold(true).Render(tidy.Visible(s.Text[m[0]:m[1]])))
		at = m[1]
	}
	out.WriteString(tidy.Visible(s.Text[at:]))
	lines := strings.Split(lipgloss.Wrap(out.String(), max(1, width-len(indent)), ""), "\n")
	lines = lines[:min(2, len(lines))]
	for i := range lines {
		lines[i] = cut(indent+lines[i], width)
	}
	return lines
}

// pointAt shows on a terminal where the error in a query is.
func pointAt(ui *screen, query string, offset int) {
	width, ok := terminal(ui.stderr)
	if !ok {
		return
	}
	before, after := plainLine(query[:offset]), plainLine(query[offset:])
	if most := width * 2 / 3; lipgloss.Width(before) > most {
		runes := []rune(before)
		for lipgloss.Width(string(runes)) >= most {
			runes = runes[1:]
		}
		before = "…" + string(runes)
	}
	fmt.Fprintf(ui.stderr, "%s\n%s^\n", cut(before+after, width), strings.Repeat(" ", lipgloss.Width(before)))
}

// plainLine is tidy.Line without merging blanks, so that columns stay in place.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, tidy.Clean(s))
}
