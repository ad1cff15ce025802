package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/internal/evals"
)

// printBench prints a result as tables, in Markdown or as JSON.
func printBench(ui *screen, out *bench.Result, b *benchFlags) error {
	if ui.json {
		return ui.printJSON(out)
	}
	if b.markdown {
		return printMarkdown(ui, out)
	}
	var rows [][]string
	for i := range out.Sets {
		rows = append(rows, setRows(&out.Sets[i], b.details)...)
	}
	if len(out.Sets) > 1 {
		for _, m := range out.Mean {
			rows = append(rows, estimateRow("mean", m.Name, m.Estimate, len(out.Sets)))
		}
		rows = append(rows, partRows("mean", out.Breakdown, b.details)...)
	}
	if err := printEvals(ui, out.Sets, b.all); err != nil {
		return err
	}
	if err := ui.rows([]string{"SET", "MEASURE", "VALUE", "LOW", "HIGH", "PROMPTS"}, rows); err != nil {
		return err
	}
	return printCompared(ui, out.Compared)
}

// fewEvals is how many prompts of evals a terminal shows.
const fewEvals = 15

// printEvals prints how the prompts of evals fare, and an empty line: on a terminal the first
// that do not get what their authors want, unless all are asked for.
func printEvals(ui *screen, sets []bench.Set, all bool) error {
	for _, s := range sets {
		if len(s.Evals) == 0 {
			continue
		}
		shown := s.Evals
		if _, ok := terminal(ui.stdout); ok && !all {
			shown = slices.DeleteFunc(slices.Clone(shown), func(o evals.Outcome) bool { return o.Right })
			shown = shown[:min(len(shown), fewEvals)]
		}
		rows := mapped(shown, func(o evals.Outcome) []string {
			return []string{o.Skill, o.Says(), o.Prompt, strings.Join(o.Missing, " ")}
		})
		if len(rows) > 0 {
			if err := ui.rows([]string{"SKILL", "RESULT", "PROMPT", "NOT IN THE SKILL"}, rows); err != nil {
				return err
			}
			fmt.Fprintln(ui.stdout)
		}
		summary := evals.Summary(s.Evals, *s.Among)
		if len(shown) < len(s.Evals) {
			summary += fmt.Sprintf(" --all lists all %d.", len(s.Evals))
		}
		ui.note("%s", summary)
	}
	return nil
}

// setRows are the rows of one set: relevance, gate, curve, tokens, latency, modes.
func setRows(s *bench.Set, details bool) [][]string {
	var rows [][]string
	add := func(measure string, e bench.Estimate, n int) { rows = append(rows, estimateRow(s.Set, measure, e, n)) }
	plain := func(measure, value string, n int) {
		rows = append(rows, cells(s.Set, measure, value, "", "", n))
	}
	for _, m := range s.Metrics {
		add(m.Name, m.Estimate, s.Prompts)
	}
	if d := s.Distracted; d != nil {
		plain("distractors", strconv.Itoa(d.Distractors), d.Distractors+d.LeftOut)
		add("hit@1_distractors", d.Hit1, d.Prompts)
		add("hit@1_distractors_text", d.Hit1Text, d.Prompts)
	}
	rows = append(rows, partRows(s.Set, s.Breakdown, details)...)
	plain("threshold", decimals(s.Gate.Threshold), len(s.Queries))
	s.EachFigure(&s.Gate.Figures, add)
	if s.Prompts > 0 {
		add("precision", s.Gate.Precision, s.Prompts)
	}
	if s.Gate.None > 0 {
		add("false_injection", s.Gate.FalseInjection, s.Gate.None)
	}
	for _, p := range s.Curve {
		if details || p.Rate == .03 || p.Rate == .05 {
			at := p.At()
			plain("threshold"+at, decimals(p.Threshold), s.Gate.None)
			plain("disturbed"+at, decimals(p.Disturbed), s.Gate.None)
			s.EachFigure(&p.Figures, func(name string, e bench.Estimate, n int) { add(name+at, e, n) })
		}
	}
	all := s.Prompts + s.Gate.None
	plain("tokens", fmt.Sprintf("%.1f", s.Gate.Tokens), all)
	plain("all_tokens", strconv.Itoa(s.Gate.AllTokens), all)
	plain("p50_ms", fmt.Sprintf("%.2f", s.Latency.P50), len(s.Queries))
	plain("p99_ms", fmt.Sprintf("%.2f", s.Latency.P99), len(s.Queries))
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		plain("mode", mode, s.Modes[mode])
	}
	return append(rows, calibrationRows(s, details)...)
}

// partRows are the rows of kinds, languages and styles.
func partRows(set string, parts []bench.Part, details bool) [][]string {
	var rows [][]string
	for _, p := range parts {
		add := func(measure string, e bench.Estimate) {
			rows = append(rows, estimateRow(set, fmt.Sprintf("%s %s=%s", measure, p.By, p.Of), e, p.Prompts))
		}
		add("hit@1", p.Hit1)
		if !details {
			continue
		}
		add("recall@5", p.Recall5)
		add("ndcg@10", p.NDCG10)
		if p.Coverage5 != nil {
			add("coverage@5%", *p.Coverage5)
		}
	}
	return rows
}

// calibrationRows are the calibration error, if there is one, and with details the
// reliability table, with predicted and observed probability in the columns of the bounds.
func calibrationRows(s *bench.Set, details bool) [][]string {
	if s.Calibration == nil {
		return nil
	}
	rows := [][]string{{s.Set, "calibration error", decimals(s.Calibration.Error), "", "", ""}}
	if !details {
		return rows
	}
	for _, b := range s.Calibration.Bins {
		rows = append(rows, cells(s.Set, "predicted, observed", fmt.Sprintf("from %.1f", b.From),
			decimals(b.Predicted), decimals(b.Observed), b.Count))
	}
	return rows
}

func estimateRow(set, measure string, e bench.Estimate, n int) []string {
	return cells(set, measure, decimals(e.Value), decimals(e.Low), decimals(e.High), n)
}

// printCompared prints the differences of measures, then the prompts that changed most.
func printCompared(ui *screen, list []bench.Comparison) error {
	var changes, worsened, moved [][]string
	for _, c := range list {
		for _, m := range c.Metrics {
			changes = append(changes, []string{c.Set, m.Name, decimals(m.Before), decimals(m.After),
				fmt.Sprintf("%+.3f", m.Difference), fmt.Sprintf("p=%.4f", m.P)})
		}
		worsened = append(worsened, []string{c.Set, "significantly worse", cmp.Or(strings.Join(c.Worsened, " "), "nothing")})
		moved = append(moved, movedRows(c.Set, "better", c.Better)...)
		moved = append(moved, movedRows(c.Set, "worse", c.Worse)...)
	}
	if err := ui.further([]string{"SET", "MEASURE", "BEFORE", "AFTER", "DIFFERENCE", "P"}, changes); err != nil {
		return err
	}
	if err := ui.further([]string{"SET", "CHANGE", "MEASURES"}, worsened); err != nil {
		return err
	}
	return ui.further([]string{"SET", "CHANGE", "PROMPT", "BEFORE", "AFTER", "NDCG@10"}, moved)
}

func movedRows(set, change string, list []bench.Moved) [][]string {
	return mapped(list, func(m bench.Moved) []string {
		return []string{set, change, m.ID, place(m.Before), place(m.After), fmt.Sprintf("%+.3f", m.Difference)}
	})
}

// place is a rank as people read it.
func place(rank int) string {
	if rank == 0 {
		return "-"
	}
	return strconv.Itoa(rank)
}

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
