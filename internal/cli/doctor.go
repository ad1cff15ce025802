package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/search"
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
collide, and a skill that is not among the first three is unreachable. It says
which prompts of evals fail, and proposes triggers for them. Skills with nearly
the same description or instructions are reported as one family. It also checks
that every configured agent and what is disabled names only what exists, asks
the embedder, the reranker and the registries whether they answer, and tells
what listing the skills would cost, which clients are set up ("skills setup") or
could be, what is wrong with that, which of them have no room to list their
skills, and how the others list theirs, as far as that is known. It runs each
command that setup has registered with a sample event, and reports which do not
answer.

Doctor runs whatever is broken: a mistake in a configuration, a catalog that
cannot be opened and a folder that cannot be used are findings, and the rest is
checked all the same.

It begins with a verdict and the next command. Then follow the findings by what
they cost, shorter than a screen: skills that no model sees now (also what a
client has no room to list), clients and settings, what may confuse models, and
what only authors can mend. Each skill has one line, for its most costly
finding; a rule that many skills break has one line for all of them. --all (or
--verbose) prints each finding as a line
  PATH:LINE: SEVERITY: MESSAGE [RULE] (HINT)

With the names of skills it prints all findings about them. With folders it
checks the skills in them instead, without the catalog and the key ignore.
Their evals are tried as by "skills evals FOLDER".
--strict applies the Agent Skills specification to the letter, as its reference
validator does: other clients may refuse what it reports.

The key ignore of a configuration leaves findings out: a list of rules, and of
mappings of rules, skills and sources, of which all must match. The file of a
project can so silence findings about the project's own skills, but no trust
checks. What is refused stays refused. --no-ignore reports all.

The severities are error, warning and note. The exit status is 1 when there are
errors; --fail-on sets another severity. --rules tells what each rule means, by
group.

Trust checks look for signs that a skill misleads its reader: hidden text, names
that imitate others, commands that run what they fetch, credentials that are
sent away, and the like. A sign is not a proof, and nothing found does not mean
that a skill is safe.

--format sarif prints SARIF 2.1.0 for code scanning, --format github the
annotations of GitHub Actions. Their paths are relative to the working folder.

--json prints an object with skills (how many were looked at), not_analysed (how
many of them the trust checks did not look at as a whole), errors, warnings,
notes, ignored (numbers of findings), and problems, a list of objects with
source, skill (its ID, or its folder when it was refused), from (where a lock
says that it was installed from), family (IDs of all skills, if there are
several), cost, rule, severity, path, line, message and
hint. The cost is "unseen" (no model sees the skill as things are), "confusing"
(it misleads a model that sees it) or "author" (only its author need care). With
--rules it is an object with rules, a list of objects with rule, group,
severity, about and fix.`

func newDoctorCommand(e env) *cobra.Command {
	var strict, listRules, noIgnore bool
	var o doctorOutput
	var fix fixFlags
	cmd := &cobra.Command{
		Use:               "doctor [FOLDER…|NAME…]",
		Short:             "Report what is wrong with the skills",
		Long:              doctorHelp + doctorFixHelp,
		Example:           "  skills doctor\n  skills doctor pdf\n  skills doctor --strict ./my-skill\n  skills doctor --fix\n  skills doctor --sarif --fail-on never . >skills.sarif",
		Args:              args(0, -1),
		ValidArgsFunction: arguments(e.ofCatalog(skillNames).orFile()),
		PreRunE:           e.checked(func(s *session, _ []string) error { return cmp.Or(o.check(s.json), fix.check(strict)) }),
		RunE: e.run(func(ctx context.Context, s *session, args []string) error {
			switch {
			case listRules:
				return printRules(s.screen, o.format)
			case fix.on:
				return runFix(ctx, s, args, fix)
			}
			r, single, err := examineAll(ctx, s, args, strict, noIgnore)
			o.all = o.all || single
			if err == nil {
				err = printReport(s.screen, r, o)
			}
			if err == nil && r.Fails(severities[o.failOn]) {
				err = errReported
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "apply the specification to the letter")
	cmd.Flags().BoolVar(&noIgnore, "no-ignore", false, "report what the key ignore of the configuration leaves out, too")
	cmd.Flags().BoolVar(&listRules, "rules", false, "list the rules: what each finding means, and what to do")
	o.flags(cmd)
	fix.flags(cmd)
	return cmd
}

// examineAll reports what is wrong with everything, with folders, or with single skills. single
// means that it is about one folder with one skill, or about skills by name.
func examineAll(ctx context.Context, s *session, args []string, strict, noIgnore bool) (r *doctor.Report, single bool, err error) {
	isFolder := func(arg string) bool {
		_, err := os.Stat(arg)
		return err == nil || !errors.Is(err, fs.ErrNotExist)
	}
	if len(args) > 0 && slices.ContainsFunc(args, isFolder) {
		r, err := doctor.Folders(ctx, args, strict, func(ctx context.Context) (*repertoire.Catalog, error) { return withFolders(ctx, s, args) })
		return r, err == nil && r.Skills == 1, err
	}
	r, skills, err := diagnose(ctx, s, strict, noIgnore)
	if err != nil {
		return nil, false, err
	}
	from, broken := s.origins()
	r.Add(from.Problems(broken)...)
	r.SetOrigins(func(path string) string {
		origin, _ := from.Of(path) // zero without one
		return origin.From
	})
	if len(args) > 0 {
		r, err = r.Only(args, mapped(skills, func(l setup.Listed) string { return l.Name }))
		for _, l := range skills {
			if origin, ok := from.Of(l.Location); ok && err == nil && slices.Contains(args, l.Name) {
				s.note("%s: %v", l.Name, origin)
			}
		}
	}
	return r, len(args) > 0, err
}

// withFolders opens the catalog with the skills in folders.
func withFolders(ctx context.Context, s *session, folders []string) (*repertoire.Catalog, error) {
	with := *s
	with.also(folders)
	c, err := openTried(ctx, &with, true)
	if err != nil {
		return nil, err
	}
	return c.Catalog, nil
}

// diagnose reports what is wrong with the configuration, the catalog and the clients that
// use it. What cannot be used is a finding, and the rest is checked all the same.
func diagnose(ctx context.Context, s *session, strict, noIgnore bool) (*doctor.Report, []setup.Listed, error) {
	found := checkState()
	s.lastGood, s.warn = true, func(err error) { found = append(found, mistakes(err)...) }
	cfg, err := s.readConfig(false)
	if _, usage := errors.AsType[*usageError](err); usage {
		return nil, nil, err
	}
	var statuses []setup.Status
	env, homeless := s.setupEnv("")
	if homeless == nil { // without a home nothing is set up
		statuses = setup.Scan(env)
	}
	var r *doctor.Report
	var sources []source.Source // to check without a catalog
	seen := clientsView{tried: slices.ContainsFunc(statuses, func(st setup.Status) bool { return len(st.Registrations) > 0 })}
	if err != nil {
		found = append(found, mistakes(err)...)
	} else if r, err = examine(ctx, s, cfg, strict, &seen); err != nil {
		sources = cfg.Sources
		found = append(found, skill.Problem{Rule: "catalog", Severity: skill.Error, Path: cmp.Or(cfg.DB, "catalog"), Message: messageOf(err)})
	}
	if err != nil {
		if r, err = doctor.Sources(ctx, sources, strict); err != nil {
			return nil, nil, err
		}
	}
	if homeless == nil {
		if trial.Check(ctx, env, statuses, seen.sample); ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		found = append(found, setup.Check(env, statuses, seen.skills)...)
	}
	r.Add(found...)
	if !noIgnore {
		r.Ignore(ignored(s), cfg.Sources, strict)
	}
	return r, seen.skills, nil
}

// ignored returns which findings the configuration leaves out. It is nil if the configuration
// has a mistake, which is reported elsewhere.
func ignored(s *session) []config.Ignore {
	settings, err := s.settings()
	if err != nil {
		return nil
	}
	return settings.Ignore
}

// clientsView is what clients see of a catalog.
type clientsView struct {
	skills []setup.Listed // which they may list themselves
	tried  bool           // their hooks are tried
	sample trial.Sample   // which their hooks have an answer for
}

// examine reports what is wrong with the catalog, and fills in what clients see of it. It fails
// if the catalog cannot be used.
func examine(ctx context.Context, s *session, cfg repertoire.Config, strict bool, seen *clientsView) (*doctor.Report, error) {
	c, err := s.openWith(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reports, stale := s.rescan(ctx, c)
	all, err := c.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	if err != nil {
		return nil, err
	}
	examining := s.progress("examining", 1)
	r, err := doctor.Catalog(ctx, c.Catalog, all, doctor.Options{Strict: strict, Reports: reports, Step: examining.set})
	examining.done()
	if err != nil {
		return nil, err
	}
	if settings, err := s.settings(); err == nil { // else diagnose has reported it
		r.Add(doctor.Servers(ctx, cfg, settings.RegistryClient(), 5*time.Second)...)
	}
	if stale != nil {
		r.Add(skill.Problem{Rule: "stale", Severity: skill.Warning, Path: c.Path(), Message: "the catalog cannot be brought up to date: " + stale.Error(),
			Hint: "make room, or make its folder writable; or name another file with --db"})
	}
	if aside := c.Owner().Recovered(); aside != "" {
		r.Add(skill.Problem{Rule: "catalog", Severity: skill.Warning, Path: c.Path(),
			Message: "the catalog was damaged and has been rebuilt", Hint: "the damaged file was kept as " + aside})
	}
	if seen.tried {
		if seen.sample, err = sampleOf(ctx, s, c); err != nil {
			return nil, err
		}
	}
	seen.skills = listableOf(all)
	return r, nil
}

// mistakes returns the finding for something that the configuration names and that cannot
// be used; none if a source reports it anyway.
func mistakes(err error) []skill.Problem {
	p := skill.Problem{Rule: "configuration", Severity: skill.Error, Path: "configuration", Message: messageOf(err)}
	if at, ok := errors.AsType[*config.Error](err); ok {
		p.Path, p.Line = at.File, at.Line
		p.Message = tidy.Line(strings.TrimPrefix(err.Error(), strings.TrimSuffix(at.Error(), at.Err.Error())))
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
	return listableOf(entries), err
}

func listableOf(entries []repertoire.Entry) []setup.Listed {
	return mapped(entries, func(e repertoire.Entry) setup.Listed {
		return setup.Listed{Name: e.Name, Description: e.Description, Location: e.Location, Off: e.State == search.Disabled}
	})
}
