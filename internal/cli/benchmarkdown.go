package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/bench"
)

// printMarkdown prints a result as the tables of bench/FIGURES.md.
func printMarkdown(ui *screen, out *bench.Result) error {
	var text strings.Builder
	table := func(header []string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		rule := strings.Repeat("|--:", len(header))
		for _, row := range append([][]string{header}, rows...) {
			cells := mapped(row, func(c string) string { return strings.ReplaceAll(oneLine(c), "|", `\|`) })
			fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
			if rule != "" {
				text.WriteString(strings.Replace(rule, "--:", "---", 1) + "|\n")
				rule = ""
			}
		}
	}
	table([]string{"set", "skills", "prompts", "Hit@1", "R@5", "nDCG@10", "coverage at 3 %", "coverage at 5 %"}, rankingRows(out))
	table([]string{"set", "threshold", "disturbed", "coverage", "entries", "per prompt", "right", "near miss gets its skill", "anything", "tokens saved"}, gateRows(out))
	header := []string{"set"}
	if len(out.Sets) > 0 {
		for _, p := range out.Sets[0].Curve {
			header = append(header, fmt.Sprintf("%.0f %%", 100*p.Rate))
		}
	}
	table(header, curveRows(out))
	table([]string{"set", "prompts without their skill", "offered something", "at 3 %", "at 5 %"}, absentRows(out))
	table([]string{"set", "part", "prompts", "Hit@1", "R@5", "nDCG@10", "coverage at 5 %"}, partTable(out))
	table([]string{"set", "distractors", "Hit@1", "Hit@1 by text"}, distractedRows(out))
	_, err := fmt.Fprint(ui.stdout, text.String())
	return err
}

// rankingRows are how good the ranking is, and how often a block has a wanted skill.
func rankingRows(out *bench.Result) [][]string {
	var rows [][]string
	for _, s := range out.Sets {
		m := named(s.Metrics)
		at := func(rate float64) string {
			for _, p := range s.Curve {
				if p.Rate == rate {
					return interval(p.Coverage)
				}
			}
			return ""
		}
		rows = append(rows, cells(s.Set, s.Skills, s.Prompts, interval(m["hit@1"]), share(m["recall@5"]), interval(m["ndcg@10"]), at(.03), at(.05)))
	}
	if m := named(out.Mean); len(out.Sets) > 1 {
		rows = append(rows, []string{"**mean**", "", "", interval(m["hit@1"]), share(m["recall@5"]), interval(m["ndcg@10"]),
			interval(m["coverage@3%"]), interval(m["coverage@5%"])})
	}
	return rows
}

// gateRows are the blocks at the threshold that holds.
func gateRows(out *bench.Result) [][]string {
	var rows [][]string
	for _, s := range out.Sets {
		g := s.Gate
		disturbed, own, other := "", "", ""
		if g.None > 0 {
			disturbed = interval(g.FalseInjection)
		}
		if s.NearMisses > 0 {
			own, other = share(g.NearOwn), share(g.NearAny)
		}
		rows = append(rows, []string{s.Set, fraction(g.Threshold), disturbed, share(g.Coverage), number(g.Entries), number(g.PerPrompt), share(g.Right), own, other,
			fmt.Sprintf("%.1f %%", 100*(1-g.Tokens/float64(max(1, g.AllTokens))))})
	}
	if m := named(out.Mean); len(out.Sets) > 1 {
		rows = append(rows, []string{"**mean**", "", interval(m["false_injection"]), share(m["coverage"]), number(m["entries"]), number(m["per_prompt"]),
			share(m["right"]), share(m["near_own"]), share(m["near_any"]), ""})
	}
	return rows
}

// curveRows are the figures of blocks at all rates.
func curveRows(out *bench.Result) [][]string {
	var rows [][]string
	for _, s := range out.Sets {
		lines := [][]string{{s.Set + ": coverage"}, {"… entries"}, {"… right"}, {"… near miss gets its skill"}}
		for _, p := range s.Curve {
			for i, cell := range []string{share(p.Coverage), number(p.Entries), share(p.Right), share(p.NearOwn)} {
				lines[i] = append(lines[i], cell)
			}
		}
		switch {
		case len(s.Curve) == 0 || s.Prompts == 0:
			continue
		case s.NearMisses == 0:
			lines = lines[:3]
		}
		rows = append(rows, lines...)
	}
	return rows
}

// absentRows say how often something is offered where there is no skill for a prompt.
func absentRows(out *bench.Result) [][]string {
	var rows [][]string
	for _, s := range out.Sets {
		if s.Absent == 0 {
			continue
		}
		at := make(map[float64]string)
		for _, p := range s.Curve {
			at[p.Rate] = interval(p.Unfit)
		}
		rows = append(rows, cells(s.Set, s.Absent, interval(s.Gate.Unfit), at[.03], at[.05]))
	}
	if m := named(out.Mean); len(rows) > 1 {
		rows = append(rows, []string{"**mean**", "", interval(m["unfit"]), interval(m["unfit@3%"]), interval(m["unfit@5%"])})
	}
	return rows
}

// partTable is the relevance by kind, language and style.
func partTable(out *bench.Result) [][]string {
	var rows [][]string
	add := func(set string, parts []bench.Part) {
		for _, p := range parts {
			covered := ""
			if p.Coverage5 != nil {
				covered = interval(*p.Coverage5)
			}
			rows = append(rows, cells(set, p.By+" "+p.Of, p.Prompts, interval(p.Hit1), share(p.Recall5), share(p.NDCG10), covered))
		}
	}
	for _, s := range out.Sets {
		add(s.Set, s.Breakdown)
	}
	add("**mean**", out.Breakdown)
	return rows
}

func distractedRows(out *bench.Result) [][]string {
	var rows [][]string
	for _, s := range out.Sets {
		if d := s.Distracted; d != nil {
			rows = append(rows, []string{s.Set, fmt.Sprintf("%d (%d left out)", d.Distractors, d.LeftOut), interval(d.Hit1), interval(d.Hit1Text)})
		}
	}
	return rows
}

func named(list []bench.Named) map[string]bench.Estimate {
	byName := make(map[string]bench.Estimate)
	for _, n := range list {
		byName[n.Name] = n.Estimate
	}
	return byName
}

// share prints a share as ".644".
func share(e bench.Estimate) string { return fraction(e.Value) }

// interval prints a share with its confidence interval.
func interval(e bench.Estimate) string {
	return fmt.Sprintf("%s (%s–%s)", fraction(e.Value), fraction(e.Low), fraction(e.High))
}

func fraction(x float64) string { return strings.TrimPrefix(decimals(x), "0") }

// number prints a mean number of skills.
func number(e bench.Estimate) string { return strconv.FormatFloat(e.Value, 'f', 2, 64) }
