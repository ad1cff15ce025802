package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

const doctorHelp = `Doctor reports what is wrong with the catalog: skills that were refused or had
to be repaired, hidden characters, over-long names, descriptions and bodies,
missing files, skills that another one of the same name shadows, or that are
held back from everybody, descriptions that are nearly the same, and skills that
are required and not there. It also checks that agents, and rules that disable
skills, name only what exists, and tells which clients are set up ("skills
setup"), what is wrong with that, and which of them have no room to list their
skills. It runs whatever is broken: a mistake in a configuration, a catalog that
cannot be opened and a folder that cannot be used are findings, and the rest is
checked all the same.

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

// diagnose reports what is wrong with the configuration, the catalog and the clients that
// use it. What cannot be used is a finding, and the rest is checked all the same.
func (a *app) diagnose(ctx context.Context, strict bool) (*doctor.Report, error) {
	found := checkState()
	a.lastGood, a.warn = true, func(err error) { found = append(found, mistakes(err)...) }
	cfg, err := a.readConfig(false)
	if _, usage := errors.AsType[*usageError](err); usage {
		return nil, err
	}
	var r *doctor.Report
	var skills []setup.Listed
	if err == nil {
		r, skills, err = a.examine(ctx, cfg, strict)
	} else {
		found = append(found, mistakes(err)...)
		r, err = doctor.Sources(ctx, nil, strict)
	}
	if err != nil {
		return nil, err
	}
	if env, err := a.setupEnv(""); err == nil { // without a home nothing is set up
		found = append(found, setup.Check(env, skills)...)
	}
	r.Add(found...)
	return r, nil
}

// examine reports what is wrong with the catalog, and returns what clients may list. If the
// catalog cannot be used, it checks the skills in the sources.
func (a *app) examine(ctx context.Context, cfg repertoire.Config, strict bool) (*doctor.Report, []setup.Listed, error) {
	r, skills, unusable := a.examineCatalog(ctx, cfg, strict)
	if unusable == nil {
		return r, skills, nil
	}
	r, err := doctor.Sources(ctx, cfg.Sources, strict)
	if err == nil {
		r.Add(skill.Problem{Rule: "catalog", Severity: skill.Error, Path: cmp.Or(cfg.DB, "catalog"), Message: messageOf(unusable)})
	}
	return r, nil, err
}

// examineCatalog is examine for a catalog that can be used.
func (a *app) examineCatalog(ctx context.Context, cfg repertoire.Config, strict bool) (*doctor.Report, []setup.Listed, error) {
	c, err := a.openWith(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	reports, stale := a.rescan(ctx, c)
	r, err := doctor.Catalog(ctx, c.Catalog, doctor.Options{Strict: strict, Reports: reports})
	if err != nil {
		return nil, nil, err
	}
	if stale != nil {
		r.Add(skill.Problem{Rule: "stale", Severity: skill.Warning, Path: c.Path(), Message: "the catalog cannot be brought up to date: " + stale.Error(),
			Hint: "make room, or make its folder writable; or name another file with --db"})
	}
	if aside := c.Recovered(); aside != "" {
		r.Add(skill.Problem{Rule: "catalog", Severity: skill.Warning, Path: c.Path(),
			Message: "the catalog was damaged and has been rebuilt", Hint: "the damaged file was kept as " + aside})
	}
	skills, err := c.listable(ctx)
	return r, skills, err
}

// mistakes returns the finding for something that the configuration names and that cannot
// be used; none if a source reports it anyway.
func mistakes(err error) []skill.Problem {
	p := skill.Problem{Rule: "configuration", Severity: skill.Error, Path: "configuration", Message: messageOf(err)}
	if at, ok := errors.AsType[*config.Error](err); ok {
		p.Path, p.Line = at.File, at.Line
		p.Message = words.Line(strings.TrimPrefix(err.Error(), strings.TrimSuffix(at.Error(), at.Err.Error())))
	}
	if place, ok := errors.AsType[*source.PlaceError](err); ok {
		if !place.LeftOut {
			return nil
		}
		p.Rule, p.Severity, p.Path = "folder-left-out", skill.Warning, place.Path
	}
	return []skill.Problem{p}
}

// checkState reports a folder for state in which nothing can be remembered.
func checkState() []skill.Problem {
	state, err := config.StateDir()
	if err != nil {
		return nil // without a home nothing is set up that would remember something
	}
	f, err := os.CreateTemp(state, "doctor.*"+atomicfile.Suffix)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // it is made when it is needed
		return nil
	}
	return []skill.Problem{{Rule: "state", Severity: skill.Warning, Path: state, Message: messageOf(err),
		Hint: "hooks forget which skills they have offered, and write no log; make the folder writable, or set REPERTOIRE_STATE"}}
}

// listable returns all skills: a client may list those in its own folders itself.
func (c *catalog) listable(ctx context.Context) ([]setup.Listed, error) {
	entries, err := c.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	return mapped(entries, func(e repertoire.Entry) setup.Listed {
		return setup.Listed{Name: e.Name, Description: e.Description, Location: e.Location}
	}), err
}

func (a *app) printReport(r *doctor.Report) error {
	if a.json {
		return a.printJSON(r)
	}
	out := new(strings.Builder)
	if _, ok := terminal(a.stdout); ok && !a.verbose {
		printGroups(out, r.Groups())
	} else {
		for _, f := range r.Findings {
			line := f.String()
			if f.Hint != "" {
				line += " (" + f.Hint + ")"
			}
			fmt.Fprintln(out, oneLine(line))
		}
	}
	fmt.Fprintf(out, "%s: %s, %s, %s\n", count(r.Skills, "skill"),
		count(r.Errors, "error"), count(r.Warnings, "warning"), count(r.Notes, "note"))
	return a.printText(out.String())
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
			fmt.Fprintf(w, "  %s\n    %s\n", oneLine(at), oneLine(f.Message))
			if last := i == len(shown)-1; f.Hint != "" && (last || shown[i+1].Hint != f.Hint) {
				fmt.Fprintf(w, "    (%s)\n", oneLine(f.Hint))
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
