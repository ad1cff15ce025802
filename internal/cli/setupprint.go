package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// carryOut shows a plan and, if the user wants that, does it. Then it tries what is set up.
func (s *setupRun) carryOut(ctx context.Context, plan *setup.Plan) error {
	result := setupResult{Changes: plan.Changes, Warnings: plan.Warnings, Files: s.showDiffs(plan)}
	if !s.brief {
		s.printWarnings(plan)
	}
	write := !s.dryRun && len(plan.Edits) > 0
	if write && !s.confirm("write this?") {
		s.note("nothing was written")
		return errReported
	}
	var failed error
	if !s.dryRun { // without edits it still forgets what is gone
		failed = plan.Apply(s.env)
		result.Written, result.Changes = write && failed == nil, plan.Changes
	}
	if !s.json {
		s.printChanges(result)
	}
	written := failed == nil
	failed = errors.Join(failed, s.printRefusals(plan.Changes, failed))
	if written && s.tries() {
		failed = errors.Join(failed, s.tryOut(ctx, &result))
	}
	if s.json {
		return errors.Join(failed, s.printJSON(result))
	}
	if result.Written {
		s.printNext(result)
	}
	return failed
}

// someLines returns the first lines of a diff, and says how many there are more.
func someLines(diff string) string {
	const most = 45 // enough for all but a plugin
	lines := strings.SplitAfter(diff, "\n")
	more := len(lines) - 1 - most // after the last line feed there is nothing
	if more <= 1 {
		return diff
	}
	return strings.Join(lines[:most], "") + fmt.Sprintf("… and %s more lines (--dry-run shows all)\n", figures.Thousands(more))
}

// showDiffs prints how the files will change if somebody is asked or only wants to see that,
// and returns it for --json.
func (s *setupRun) showDiffs(plan *setup.Plan) []setupFile {
	var files []setupFile
	for _, ed := range plan.Edits {
		f := setupFile{File: ed.Shown, Diff: ed.Diff()}
		if ed.Existed {
			f.Backup = setup.BackupFile(s.env.State, ed.File)
		}
		files = append(files, f)
		switch {
		case s.brief:
		case s.json && s.canAsk(): // the user must see what the question is about
			fmt.Fprint(s.stderr, someLines(f.Diff))
		case s.json:
		case s.dryRun:
			fmt.Fprint(s.stdout, f.Diff)
		case s.canAsk() || s.verbose:
			fmt.Fprint(s.stdout, someLines(f.Diff))
		}
	}
	return files
}

// printWarnings prints what the user should know before a plan is carried out.
func (s *setupRun) printWarnings(plan *setup.Plan) {
	for _, w := range plan.Warnings {
		s.note("%s", w)
	}
	if absent := plan.Missing(s.env); len(absent) > 0 {
		s.note("not found on this machine: %s", strings.Join(absent, ", "))
	}
}

// canAsk reports whether somebody is there who can be asked.
func (s *setupRun) canAsk() bool { return s.user != nil && !s.yes }

// confirm asks the user on a terminal. It does not ask scripts, which have named what to do.
func (s *setupRun) confirm(question string) bool {
	return !s.canAsk() || s.user.agrees("%s", question)
}

// kindName names a kind of change.
func kindName(kind string) string {
	switch kind {
	case setup.MCP:
		return "MCP server"
	case setup.Listing:
		return "listing"
	}
	return "hook"
}

// printChanges prints what happened to each client.
func (s *setupRun) printChanges(r setupResult) {
	for _, c := range r.Changes {
		if c.Action == setup.Refused {
			continue
		}
		action := c.Action
		if s.dryRun && (action == setup.Added || action == setup.Updated || action == setup.Removed) {
			action = "would be " + action
		}
		line := fmt.Sprintf("%s: %s %s in %s", c.Client, kindName(c.Kind), action, c.File)
		if c.Message != "" {
			line += " (" + c.Message + ")"
		}
		fmt.Fprint(s.stdout, lineOf("%s", line))
	}
}

// printNext says what the user does next.
func (s *setupRun) printNext(r setupResult) {
	done := slices.DeleteFunc(slices.Clone(client.All()), func(c client.Client) bool {
		return !slices.ContainsFunc(r.Changes, func(ch setup.Change) bool {
			return ch.Client == c.Name && (ch.Action == setup.Added || ch.Action == setup.Updated)
		})
	})
	for _, c := range done {
		for _, text := range []string{c.After, c.AfterProject} {
			if text != "" && s.listing == "" && (text == c.After || s.Scope == client.Project) {
				s.note("%s: %s", c.Title, text)
			}
		}
	}
	for _, st := range setup.ScanOf(s.env, done) {
		if st.Off != nil {
			s.note("%s does not run hooks: %s in %s", st.Client.Title, st.Off.Setting, st.Off.File)
		}
	}
	if slices.ContainsFunc(r.Files, func(f setupFile) bool { return f.Backup != "" }) {
		s.note("the files as they were are in %s", filepath.Join(s.env.State, "backup"))
	}
	switch {
	case !s.tries():
	case r.Skills == 0 && !s.noIndex:
		s.note("there are no skills yet: \"skills install SOURCE\" gets some")
	default:
		s.note("\"skills try PROMPT\" shows which skills a prompt gets, \"skills doctor\" whether all is well")
	}
}

// printRefusals prints the refused changes, with what to do by hand, and returns the
// exit status. If writing has failed, the refusals are part of that error already.
func (s *setupRun) printRefusals(changes []setup.Change, failed error) error {
	refused := false
	for _, c := range changes {
		if c.Action != setup.Refused {
			continue
		}
		refused = true
		if failed == nil {
			fmt.Fprintf(s.stderr, "skills: %s: %s\n", c.Client, message(c.Message))
		}
		if c.Snippet != "" && c.File != "" && !s.json {
			fmt.Fprintf(s.stderr, "skills: hint: put this into %s:\n%s\n", c.File, c.Snippet)
		}
	}
	return reportedIf(refused && failed == nil)
}
