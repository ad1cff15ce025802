package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/trial"
)

const evalsHelp = `Evals are prompts that the author of a skill writes to try it. They lie in JSON
files in the folder evals of the skill, evals/*.json, in one of these forms:
  ["a prompt that needs the skill", {"prompt": "another one"}]
  {"should_trigger": ["…"], "should_not_trigger": ["…"]}
  {"evals": [{"prompt": "…", "should_trigger": false}]}
"query" or "input" may stand for "prompt", and "prompts" for "evals". Other
fields are left alone.

The prompts that need the skill are also examples, which help to find it for
similar ones. Here each of them is tried as if it were none.

  skills evals NAME           is the skill offered for each of its prompts?
  skills evals                the same for all skills, with measures
  skills evals FOLDER         the same for the skills in a folder, as if they
                              were in your catalog
  skills doctor NAME          where does another skill win a prompt? Also FOLDER

A skill that is alone is nearly always found, so your whole catalog is asked. If
it has fewer than 100 skills, 300 invented ones of many fields are there too,
unless --among FOLDER brings others: the skills of a colleague, or a large
collection. The last line says among how many. With --only-root none of your own
are there, so that the answer is that of CI. "doctor" and the check of a
proposal ask in the same way.

Of a skill, and in what doctor says, phrases of prompts that fail are proposed
as triggers ("skills help writing"). In your own folders a trigger offers its
skill for certain, for those who install the skill it is evidence among other;
so it is for the skills of FOLDER.

The prompts that do not get what their author wants come first, the measures
last. In CI, --min-offered .9 fails if fewer than 90 % of the prompts that need
a skill are offered it, --min-rank .8 if the skill ranks first for fewer than
80 %. A file of evals that is malformed fails too: the message has its line.
Where no skill has evals, that fails unless --allow-none is given.

Whoever writes a skill writes its evals; the skill writing-skills, which this
program brings, tells an agent how.

The other flags are for all skills, or for those of FOLDER. What a program reads
is explained by "skills help try" (of one skill) and "skills help bench" (of
all).

Exit status: 1 if a file of evals cannot be used, no skill has evals, or less is
reached than --min-offered or --min-rank want.`

func newEvalsCommand(e env) *cobra.Command {
	b := benchFlags{fromEvals: true, seed: 1, gate: new(evalsGate)}
	var none bool
	cmd := &cobra.Command{
		Use:               "evals [NAME|FOLDER]",
		Short:             "Try skills with the prompts of their authors",
		Long:              evalsHelp,
		Example:           "  skills evals pdf-forms\n  skills evals --all\n  skills evals ./skills --min-offered .9",
		Args:              args(0, 1),
		ValidArgsFunction: arguments(anyText(), e.ofCatalog(skillNames).orFile()),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			err := errors.Join(b.check(s.json), b.gate.check())
			if s.also(args) {
				b.tried, args = args, nil
			}
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Changed && f.Name != "among" && len(args) == 1 {
					err = fmt.Errorf("--%s is for the evals of all skills; leave it or NAME out: there is no folder %s", f.Name, args[0])
				}
			})
			switch {
			case err != nil:
				return &usageError{cmd.CommandPath(), err}
			case len(args) == 1:
				return orFolder(trySkill(cmd.Context(), s, args[0], b.among))
			}
			if err = runBench(cmd.Context(), s, &b); none && errors.Is(err, bench.ErrNoEvals) {
				s.note("%v", err)
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&b.among, "among", nil, "ask among the skills in this `folder` too (repeatable)")
	f.BoolVar(&b.all, "all", false, "list on a terminal too how each prompt fares")
	f.StringVar(&b.mode, "mode", "", "rank by text or hybrid")
	f.StringVar(&b.compare, "compare", "", "compare with this `file`, written with --json")
	b.gate.flags(f)
	f.BoolVar(&none, "allow-none", false, "exit with 0 if no skill has evals")
	b.level.flags(cmd)
	b.embedderFlag(cmd)
	return cmd
}

// An evalsGate fails if the evals reach less than the user wants.
type evalsGate struct {
	offered, rank float64 // shares of the prompts that need a skill; 0 means any
}

func (g *evalsGate) flags(f *pflag.FlagSet) {
	f.Float64Var(&g.offered, "min-offered", 0, "exit with 1 if a smaller `share` of the prompts that need a skill is offered it")
	f.Float64Var(&g.rank, "min-rank", 0, "exit with 1 if the skill ranks first for a smaller `share` of the prompts that need it")
}

func (g *evalsGate) check() error {
	for name, share := range map[string]float64{"min-offered": g.offered, "min-rank": g.rank} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("--%s is a share from 0 to 1, not %g", name, share)
		}
	}
	return nil
}

// judge says what a measurement lacks, and reports whether it lacks anything. A nil gate lets
// all pass.
func (g *evalsGate) judge(s *session, out *bench.Result) (failed bool) {
	if g == nil {
		return false
	}
	all, offered, first := 0, 0, 0
	for i := range out.Sets {
		for _, o := range out.Sets[i].Evals {
			if o.Trigger && o.Right {
				offered++
			}
		}
		for _, q := range out.Sets[i].Queries {
			if q.Wanted > 0 {
				all++
			}
			if q.Rank == 1 {
				first++
			}
		}
	}
	if offered < all {
		s.note("\"skills doctor\" proposes triggers for prompts that fail; \"skills help writing\" says what else to change")
	}
	for _, m := range []struct {
		flag, what string
		n          int
		want       float64
	}{{"min-offered", "are offered it", offered, g.offered}, {"min-rank", "rank it first", first, g.rank}} {
		if m.want > 0 && float64(m.n) < m.want*float64(all) {
			fmt.Fprintf(s.stderr, "skills: %d of %s that need a skill %s; --%s wants %.0f %%\n", m.n, count(all, "prompt"), m.what, m.flag, 100*m.want)
			failed = true
		}
	}
	return failed || len(out.Unusable) > 0
}

// openTried opens the catalog whose evals are asked. installed: as somebody has it who installs the skills in
// it, so that their triggers are evidence.
func openTried(ctx context.Context, s *session, installed bool) (*catalog, error) {
	cfg, err := s.readConfig(false)
	if err != nil {
		return nil, err
	}
	if installed {
		p := *cmp.Or(cfg.Policy, new(repertoire.Policy))
		p.Triggers = map[string]string{"": "evidence"}
		cfg.Policy = &p
	}
	return s.openFreshWith(ctx, cfg, freshen)
}

// openRoom opens the catalog in which prompts of evals are asked.
func openRoom(ctx context.Context, c *catalog, o evals.Options) (*evals.Room, error) {
	bar := c.session.progress("embedding", 1)
	defer bar.done()
	o.Agent, o.Step = c.agent, bar.set
	return evals.Open(ctx, c.Catalog, o)
}

// trySkill asks the prompts of one skill, also among the skills of folders.
func trySkill(ctx context.Context, s *session, name string, among []string) error {
	c, err := s.openFresh(ctx, freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Lookup(ctx, name, c.agent); err != nil {
		return err
	}
	room, err := openRoom(ctx, c, evals.Options{Folders: among})
	if err != nil {
		return err
	}
	defer room.Close()
	tried, err := trial.RunSkill(ctx, room, name)
	if err != nil {
		return err
	}
	if s.json {
		err = s.printJSON(tried)
	} else {
		_, err = io.WriteString(s.stdout, tried.Say())
		if slices.ContainsFunc(tried.Prompts, func(o evals.Outcome) bool { return !o.Right }) {
			s.note("\"skills why %s PROMPT\" explains one of them; \"skills help writing\" says what to change", tried.ID)
		}
	}
	return cmp.Or(err, reportedIf(len(tried.Unusable) > 0))
}
