package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

const doctorHelp = `Doctor reports what is wrong with the catalog: skills that were refused or had
to be repaired, hidden characters, over-long names, descriptions and bodies,
missing files, skills that another one of the same name shadows, descriptions
that are nearly the same, and required skills that are not there. It also checks
that every configured agent names only what exists, and tells which clients are
set up ("skills setup"), what is wrong with that, and which of them have no room
to list their skills.

With folders as arguments it checks the skills in them instead, without the
catalog. --strict applies the Agent Skills specification to the letter, as its
reference validator does: other clients may refuse what it reports.

On a terminal, a summary by rule with a few examples is printed, and with
--verbose everything. Otherwise each finding is a line
  PATH:LINE: SEVERITY: MESSAGE [RULE] (HINT)
The severities are error, warning and note. The exit status is 1 when there are
errors.

--json prints an object with skills (how many were looked at), errors, warnings,
notes (numbers), and problems, a list of objects with source, skill (its ID, or
its folder when it was refused), cost, rule, severity, path, line, message and
hint. The cost is "unseen" (no model sees the skill as things are), "confusing"
(it misleads a model that sees it) or "author" (only its author need care).`

func (a *app) doctorCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:     "doctor [FOLDER…]",
		Short:   "Report what is wrong with the skills",
		Long:    doctorHelp,
		Example: "  skills doctor\n  skills doctor --strict ./my-skill",
		Args:    args(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r *doctor.Report
			var err error
			if len(args) > 0 {
				r, err = doctor.Folders(cmd.Context(), args, strict)
			} else {
				r, err = a.diagnose(cmd.Context(), strict)
			}
			if err == nil {
				err = a.printReport(r)
			}
			if err == nil && r.Errors > 0 {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "apply the specification to the letter")
	return cmd
}

// diagnose reports what is wrong with the catalog and with the clients that use it.
func (a *app) diagnose(ctx context.Context, strict bool) (*doctor.Report, error) {
	c, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reports, stale := a.rescan(ctx, c)
	r, err := doctor.Catalog(ctx, c.Catalog, doctor.Options{Strict: strict, Reports: reports})
	if err != nil {
		return nil, cmp.Or(stale, err)
	}
	if stale != nil {
		r.Add(skill.Problem{Rule: "stale", Severity: skill.Warning, Path: c.Path(),
			Message: "the catalog cannot be brought up to date: " + stale.Error(), Hint: "make room, or make its folder writable; or name another file with --db"})
	}
	return r, a.checkClients(ctx, c, r)
}

// checkClients adds to a report which clients are set up, and what is wrong with that.
func (a *app) checkClients(ctx context.Context, c *catalog, r *doctor.Report) error {
	env, err := a.setupEnv("")
	if err != nil {
		return nil // without a home nothing is set up
	}
	skills, err := c.listable(ctx)
	if err != nil {
		return err
	}
	r.Add(setup.Check(env, skills)...)
	return nil
}

// listable returns all skills: a client may list those in its own folders itself.
func (c *catalog) listable(ctx context.Context) ([]setup.Listed, error) {
	entries, err := c.List(ctx, nil, true)
	return mapped(entries, func(e repertoire.Entry) setup.Listed {
		return setup.Listed{Name: e.Name, Description: e.Description, Location: e.Location}
	}), err
}

func (a *app) printReport(r *doctor.Report) error {
	if a.json {
		return a.printJSON(r)
	}
	out := bufio.NewWriter(a.stdout)
	if _, ok := terminal(a.stdout); ok && !a.verbose {
		printGroups(out, r.Groups())
	} else {
		for _, f := range r.Findings {
			line := f.String()
			if f.Hint != "" {
				line += " (" + f.Hint + ")"
			}
			fmt.Fprintln(out, words.Line(line))
		}
	}
	fmt.Fprintf(out, "%s: %s, %s, %s\n", count(r.Skills, "skill"),
		count(r.Errors, "error"), count(r.Warnings, "warning"), count(r.Notes, "note"))
	return out.Flush()
}

// printGroups prints how often each rule was broken, and its first few findings: with
// thousands of skills nobody reads all findings, and one rule must not hide the others.
func printGroups(w io.Writer, groups []doctor.Group) {
	const examples = 3 // of each rule
	hidden := 0
	for _, g := range groups {
		fmt.Fprintf(w, "%s: %s\n", g.Rule, count(len(g.Findings), string(g.Severity)))
		shown := g.Findings[:min(examples, len(g.Findings))]
		for i, f := range shown {
			at := strings.TrimSuffix(fmt.Sprintf("%s:%d", f.Path, f.Line), ":0")
			fmt.Fprintf(w, "  %s\n    %s\n", words.Line(at), words.Line(f.Message))
			if last := i == len(shown)-1; f.Hint != "" && (last || shown[i+1].Hint != f.Hint) {
				fmt.Fprintf(w, "    (%s)\n", words.Line(f.Hint))
			}
		}
		if more := len(g.Findings) - len(shown); more > 0 {
			fmt.Fprintf(w, "  … and %d more\n", more)
			hidden += more
		}
		fmt.Fprintln(w)
	}
	if hidden > 0 {
		fmt.Fprintf(w, "\"skills doctor -v\" shows the %d that are left out here.\n", hidden)
	}
}
