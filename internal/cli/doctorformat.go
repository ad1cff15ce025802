package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A doctorOutput holds the flags for the output and the exit status of doctor.
type doctorOutput struct {
	format, failOn string
	sarif, all     bool
}

// severities are the values of --fail-on.
var severities = map[string]skill.Severity{"error": skill.Error, "warn": skill.Warning, "warning": skill.Warning, "note": skill.Note, "never": ""}

func (o *doctorOutput) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.format, "format", "", "print `text`, json, sarif or github")
	cmd.Flags().BoolVar(&o.all, "all", false, "print every finding with its place and what to do")
	cmd.Flags().BoolVar(&o.sarif, "sarif", false, "the same as --format sarif")
	cmd.Flags().StringVar(&o.failOn, "fail-on", "error", "exit with 1 from this `severity` on: error, warn, note or never")
}

// check checks the flags, and sets the format.
func (o *doctorOutput) check(json bool) error {
	if _, ok := severities[o.failOn]; !ok {
		return fmt.Errorf("--fail-on %s: error, warn, note or never", o.failOn)
	}
	if !slices.Contains([]string{"", "text", "json", "sarif", "github"}, o.format) {
		return fmt.Errorf("--format %s: text, json, sarif or github", o.format)
	}
	short := ""
	switch {
	case json && o.sarif:
		return errors.New("--json and --sarif exclude each other; leave one of them out")
	case json:
		short = "json"
	case o.sarif:
		short = "sarif"
	}
	if short != "" && o.format != "" && o.format != short {
		return fmt.Errorf("--%s and --format %s exclude each other; leave one of them out", short, o.format)
	}
	o.format = cmp.Or(o.format, short)
	return nil
}

// printReport prints a report in a format.
func printReport(ui *screen, r *doctor.Report, o doctorOutput) error {
	for i, f := range r.Findings {
		r.Findings[i].Hint = ui.named(f.Hint)
	}
	switch o.format {
	case "json":
		return ui.printJSON(r)
	case "sarif":
		return ui.printJSON(r.SARIF(workingFolder(), versionOf().Version))
	case "github":
		return r.GitHub(ui.stdout, workingFolder())
	}
	return printFindings(ui, r, o.all || ui.verbose)
}

// workingFolder returns the working folder without links, as findings have it; "" if it
// is gone.
func workingFolder() string {
	dir, _ := os.Getwd()
	return regular.Real(dir)
}

// A ruleResult is a rule that "doctor --rules --json" prints.
type ruleResult struct {
	doctor.Rule
	Group doctor.Cost `json:"group"`
}

// printRules prints the rules of all findings: as JSON by ID, for people by group.
func printRules(ui *screen, format string) error {
	rules := mapped(doctor.Rules(), func(r doctor.Rule) ruleResult {
		r.Fix = ui.named(r.Fix)
		return ruleResult{r, r.Group()}
	})
	if format == "json" {
		return ui.printJSON(map[string][]ruleResult{"rules": rules})
	}
	var out strings.Builder
	for _, group := range doctor.Groups() {
		fmt.Fprintf(&out, "%s (%s):\n\n", group.Title(), group)
		for _, r := range rules {
			if r.Group == group {
				fmt.Fprintf(&out, "%s (%s)\n  %s\n  %s\n", r.ID, r.Severity, r.About, r.Fix)
			}
		}
		out.WriteString("\n")
	}
	return ui.printText(strings.TrimSpace(out.String()))
}

// printFindings prints a report for people: a summary that fits on a screen, or one line for
// each finding.
func printFindings(ui *screen, r *doctor.Report, all bool) error {
	if !all {
		return ui.printText(ui.named(ui.page().summary(r)))
	}
	out := new(strings.Builder)
	for _, f := range r.Findings {
		line := f.String()
		if f.Hint != "" {
			line += " (" + f.Hint + ")"
		}
		fmt.Fprintln(out, oneLine(line))
	}
	fmt.Fprintf(out, "%s: %s, %s, %s\n", count(r.Skills, "skill"),
		count(r.Errors, "error"), count(r.Warnings, "warning"), count(r.Notes, "note"))
	return ui.printText(ui.named(out.String()))
}
