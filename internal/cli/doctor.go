package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

const doctorHelp = `Doctor reports what is wrong with the catalog: skills that were refused or had
to be repaired, hidden characters, over-long names, descriptions and bodies,
broken links, files that nothing mentions, scripts that cannot be run,
descriptions that do not say when to use the skill, skills that another one of
the same name shadows or that are held back from everybody, and required skills
that are not there. It ranks each skill for its own description and for the
prompts in its evals/*.json files: where another skill comes first, the two
collide, and a skill that is not among the first three is unreachable. Skills
with nearly the same description or instructions are reported as one family. It
also checks that every configured agent and what is disabled names only what
exists, and tells what listing the skills would cost, which clients are set up
("skills setup") or could be, what is wrong with that, and which of them have no
room to list their skills. It runs each command that setup has registered with a
sample event, and reports which do not answer.

Doctor runs whatever is broken: a mistake in a configuration, a catalog that
cannot be opened and a folder that cannot be used are findings, and the rest is
checked all the same.

With folders as arguments it checks the skills in them instead, without the
catalog. --strict applies the Agent Skills specification to the letter, as its
reference validator does: other clients may refuse what it reports.

On a terminal, a summary by rule with a few examples is printed, and with
--verbose everything. Otherwise each finding is a line
  PATH:LINE: SEVERITY: MESSAGE [RULE] (HINT)
The severities are error, warning and note. The exit status is 1 when there are
errors; --fail-on sets another severity. --rules tells what each rule means.

Trust checks look for signs that a skill misleads its reader: hidden text, names
that imitate others, commands that run what they fetch, credentials that are
sent away, and the like. A sign is not a proof, and nothing found does not mean
that a skill is safe.

--format sarif prints SARIF 2.1.0 for code scanning, --format github the
annotations of GitHub Actions. Their paths are relative to the working folder.

--json prints an object with skills (how many were looked at), not_analysed (how
many of them the trust checks did not look at as a whole), errors, warnings,
notes (numbers), and problems, a list of objects with source, skill (its ID, or
its folder when it was refused), family (IDs of all skills, if there are
several), cost, rule, severity, path, line, message and hint. The cost is
"unseen" (no model sees the skill as things are), "confusing" (it misleads a
model that sees it) or "author" (only its author need care). With --rules it is
an object with rules, a list of objects with rule, severity, about and fix.`

func (a *app) doctorCommand() *cobra.Command {
	var strict, listRules bool
	var o doctorOutput
	var fix fixFlags
	cmd := &cobra.Command{
		Use:     "doctor [FOLDER…]",
		Short:   "Report what is wrong with the skills",
		Long:    doctorHelp + doctorFixHelp,
		Example: "  skills doctor\n  skills doctor --strict ./my-skill\n  skills doctor --fix\n  skills doctor --sarif --fail-on never . >skills.sarif",
		Args:    args(0, -1),
		PreRunE: checked(func([]string) error { return cmp.Or(o.check(a.json), fix.check(strict)) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case listRules:
				return a.printRules(o.format)
			case fix.on:
				return a.fix(cmd.Context(), args, fix)
			}
			var r *doctor.Report
			var err error
			if len(args) > 0 {
				r, err = doctor.Folders(cmd.Context(), args, strict)
			} else {
				r, err = a.diagnose(cmd.Context(), strict)
			}
			if err == nil {
				err = a.printReport(r, o.format)
			}
			if err == nil && r.Fails(severities[o.failOn]) {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "apply the specification to the letter")
	cmd.Flags().BoolVar(&listRules, "rules", false, "list the rules: what each finding means, and what to do")
	o.flags(cmd)
	fix.flags(cmd)
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
	var statuses []setup.Status
	env, homeless := a.setupEnv("")
	if homeless == nil { // without a home nothing is set up
		statuses = setup.Scan(env)
	}
	var r *doctor.Report
	seen := clientsView{tried: slices.ContainsFunc(statuses, func(st setup.Status) bool { return len(st.Registrations) > 0 })}
	if err == nil {
		r, err = a.examine(ctx, cfg, strict, &seen)
	} else {
		found = append(found, mistakes(err)...)
		r, err = doctor.Sources(ctx, nil, strict)
	}
	if err != nil {
		return nil, err
	}
	if homeless == nil {
		if trial.Run(ctx, env, statuses, seen.sample); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		found = append(found, setup.Check(env, statuses, seen.skills)...)
	}
	r.Add(found...)
	return r, nil
}

// clientsView is what clients see of a catalog.
type clientsView struct {
	skills []setup.Listed // which they may list themselves
	tried  bool           // their hooks are tried
	sample trial.Sample   // which their hooks have an answer for
}

// examine reports what is wrong with the catalog, and fills in what clients see of it. If the
// catalog cannot be used, it checks the skills in the sources.
func (a *app) examine(ctx context.Context, cfg repertoire.Config, strict bool, seen *clientsView) (*doctor.Report, error) {
	r, unusable := a.examineCatalog(ctx, cfg, strict, seen)
	if unusable == nil {
		return r, nil
	}
	r, err := doctor.Sources(ctx, cfg.Sources, strict)
	if err == nil {
		r.Add(skill.Problem{Rule: "catalog", Severity: skill.Error, Path: cmp.Or(cfg.DB, "catalog"), Message: messageOf(unusable)})
	}
	return r, err
}

// examineCatalog is examine for a catalog that can be used.
func (a *app) examineCatalog(ctx context.Context, cfg repertoire.Config, strict bool, seen *clientsView) (*doctor.Report, error) {
	c, err := a.openWith(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reports, stale := a.rescan(ctx, c)
	examining := a.progress("examining", 1)
	r, err := doctor.Catalog(ctx, c.Catalog, doctor.Options{Strict: strict, Reports: reports, Step: examining.set})
	examining.done()
	if err != nil {
		return nil, err
	}
	if stale != nil {
		r.Add(skill.Problem{Rule: "stale", Severity: skill.Warning, Path: c.Path(), Message: "the catalog cannot be brought up to date: " + stale.Error(),
			Hint: "make room, or make its folder writable; or name another file with --db"})
	}
	if aside := c.Recovered(); aside != "" {
		r.Add(skill.Problem{Rule: "catalog", Severity: skill.Warning, Path: c.Path(),
			Message: "the catalog was damaged and has been rebuilt", Hint: "the damaged file was kept as " + aside})
	}
	if seen.tried {
		if seen.sample, err = a.sample(ctx, c); err != nil {
			return nil, err
		}
	}
	seen.skills, err = c.listable(ctx)
	return r, err
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
