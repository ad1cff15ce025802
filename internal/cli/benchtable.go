package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/repertoire-skills/repertoire/bench"
)

// printBench prints a result as tables or as JSON.
func (a *app) printBench(out benchResult) error {
	if a.json {
		return a.printJSON(out)
	}
	var rows [][]string
	for _, s := range out.Sets {
		rows = append(rows, setRows(s)...)
	}
	if len(out.Sets) > 1 {
		for _, m := range out.Mean {
			rows = append(rows, estimateRow("mean", m.Name, m.Estimate, len(out.Sets)))
		}
	}
	if err := a.rows([]string{"SET", "MEASURE", "VALUE", "LOW", "HIGH", "PROMPTS"}, rows); err != nil {
		return err
	}
	return a.printCompared(out.Compared)
}

// setRows are the rows of one set: relevance, gate, tokens, latency, modes.
func setRows(s bench.Set) [][]string {
	var rows [][]string
	add := func(measure string, e bench.Estimate, n int) { rows = append(rows, estimateRow(s.Set, measure, e, n)) }
	plain := func(measure, value string, n int) {
		rows = append(rows, []string{s.Set, measure, value, "", "", strconv.Itoa(n)})
	}
	for _, m := range s.Metrics {
		add(m.Name, m.Estimate, s.Prompts)
	}
	for _, p := range s.Breakdown {
		add(fmt.Sprintf("hit@1 %s=%s", p.By, p.Of), p.Hit1, p.Prompts)
	}
	if s.Prompts > 0 {
		add("coverage", s.Gate.Coverage, s.Prompts)
		add("precision", s.Gate.Precision, s.Prompts)
	}
	if s.Gate.None > 0 {
		add("false_injection", s.Gate.FalseInjection, s.Gate.None)
	}
	all := len(s.Queries)
	plain("tokens", fmt.Sprintf("%.1f", s.Gate.Tokens), all)
	plain("all_tokens", strconv.Itoa(s.Gate.AllTokens), all)
	plain("p50_ms", fmt.Sprintf("%.2f", s.Latency.P50), all)
	plain("p99_ms", fmt.Sprintf("%.2f", s.Latency.P99), all)
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		plain("mode", mode, s.Modes[mode])
	}
	return append(rows, calibrationRows(s)...)
}

// calibrationRows are the reliability table, if there is one, with predicted and observed
// probability in the columns of the bounds.
func calibrationRows(s bench.Set) [][]string {
	if s.Calibration == nil {
		return nil
	}
	rows := [][]string{{s.Set, "calibration error", decimals(s.Calibration.Error), "", "", ""}}
	for _, b := range s.Calibration.Bins {
		rows = append(rows, []string{s.Set, "predicted, observed", fmt.Sprintf("from %.1f", b.From),
			decimals(b.Predicted), decimals(b.Observed), strconv.Itoa(b.Count)})
	}
	return rows
}

func estimateRow(set, measure string, e bench.Estimate, n int) []string {
	return []string{set, measure, decimals(e.Value), decimals(e.Low), decimals(e.High), strconv.Itoa(n)}
}

// printCompared prints the differences of measures, then the prompts that changed most.
func (a *app) printCompared(list []bench.Comparison) error {
	var changes, moved [][]string
	for _, c := range list {
		for _, m := range c.Metrics {
			changes = append(changes, []string{c.Set, m.Name, decimals(m.Before), decimals(m.After),
				fmt.Sprintf("%+.3f", m.Difference), fmt.Sprintf("p=%.4f", m.P)})
		}
		moved = append(moved, movedRows(c.Set, "better", c.Better)...)
		moved = append(moved, movedRows(c.Set, "worse", c.Worse)...)
	}
	if err := a.further([]string{"SET", "MEASURE", "BEFORE", "AFTER", "DIFFERENCE", "P"}, changes); err != nil {
		return err
	}
	return a.further([]string{"SET", "CHANGE", "PROMPT", "BEFORE", "AFTER", "NDCG@10"}, moved)
}

// further prints one more table after an empty line, if the table has rows.
func (a *app) further(header []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return a.rows(header, rows)
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
