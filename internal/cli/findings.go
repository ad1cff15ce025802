package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// doctorResult is what "doctor --json" prints.
type doctorResult struct {
	Skills   int       `json:"skills"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes"`
	Problems []finding `json:"problems"`
}

// result sorts the findings and counts them.
func (d *diagnosis) result() doctorResult {
	r := doctorResult{Skills: d.skills, Problems: slices.Clone(d.found)}
	slices.SortStableFunc(r.Problems, func(a, b finding) int {
		return cmp.Or(cmp.Compare(weight(a.Severity), weight(b.Severity)),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	for _, f := range r.Problems {
		switch f.Severity {
		case skill.Error:
			r.Errors++
		case skill.Warning:
			r.Warnings++
		default:
			r.Notes++
		}
	}
	if r.Problems == nil {
		r.Problems = []finding{}
	}
	return r
}

// weight orders severities, the worst first.
func weight(s skill.Severity) int {
	switch s {
	case skill.Error:
		return 0
	case skill.Warning:
		return 1
	}
	return 2
}

// printDiagnosis prints the findings and fails when there are errors.
func (a *app) printDiagnosis(d *diagnosis) error {
	r := d.result()
	if err := a.printResult(r); err != nil {
		return err
	}
	if r.Errors > 0 {
		return &exitStatus{exitError}
	}
	return nil
}

func (a *app) printResult(r doctorResult) error {
	if a.json {
		return a.printJSON(r)
	}
	out := bufio.NewWriter(a.stdout)
	if _, ok := terminal(a.stdout); ok && !a.verbose {
		r.summarize(out)
	} else {
		r.list(out)
	}
	fmt.Fprintf(out, "%s: %s, %s, %s\n", count(r.Skills, "skill"),
		count(r.Errors, "error"), count(r.Warnings, "warning"), count(r.Notes, "note"))
	return out.Flush()
}

// list prints all findings, one a line.
func (r doctorResult) list(w io.Writer) {
	for _, f := range r.Problems {
		line := f.Problem.String()
		if f.Hint != "" {
			line += " (" + f.Hint + ")"
		}
		fmt.Fprintln(w, words.Line(line))
	}
}

// examples is how many findings of a rule a summary shows.
const examples = 3

// summarize prints how often each rule was broken and the first few findings
// of it: with thousands of skills nobody reads them all, and one rule must not
// hide the others.
func (r doctorResult) summarize(w io.Writer) {
	type kind struct {
		severity skill.Severity
		rule     string
	}
	var order []kind
	byKind := make(map[kind][]finding)
	for _, f := range r.Problems {
		k := kind{f.Severity, f.Rule}
		if byKind[k] == nil {
			order = append(order, k)
		}
		byKind[k] = append(byKind[k], f)
	}
	slices.SortStableFunc(order, func(a, b kind) int {
		return cmp.Or(cmp.Compare(weight(a.severity), weight(b.severity)), cmp.Compare(len(byKind[b]), len(byKind[a])))
	})
	hidden := 0
	for _, k := range order {
		hidden += summarizeRule(w, string(k.severity), k.rule, byKind[k])
	}
	if hidden > 0 {
		fmt.Fprintf(w, "\"skills doctor -v\" shows the %d that are left out here.\n", hidden)
	}
}

// summarizeRule prints the first findings of one rule and returns how many it
// left out.
func summarizeRule(w io.Writer, severity, rule string, found []finding) int {
	fmt.Fprintf(w, "%s: %s\n", rule, count(len(found), severity))
	shown := found[:min(examples, len(found))]
	for i, f := range shown {
		at := f.Path
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", f.Path, f.Line)
		}
		fmt.Fprintf(w, "  %s\n    %s\n", words.Line(at), words.Line(f.Message))
		if last := i == len(shown)-1; f.Hint != "" && (last || shown[i+1].Hint != f.Hint) {
			fmt.Fprintf(w, "    (%s)\n", words.Line(f.Hint))
		}
	}
	hidden := len(found) - len(shown)
	if hidden > 0 {
		fmt.Fprintf(w, "  … and %d more\n", hidden)
	}
	fmt.Fprintln(w)
	return hidden
}
