package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const evalsHelp = `Evals are prompts that the author of a skill writes to try it. They lie in JSON
files in the folder evals of the skill, evals/*.json, in one of these forms:
  ["a prompt that needs the skill", {"prompt": "another one"}]
  {"should_trigger": ["…"], "should_not_trigger": ["…"]}
  {"evals": [{"prompt": "…", "should_trigger": false}]}
"query" or "input" may stand for "prompt", and "prompts" for "evals". Other
fields are left alone.

  skills evals NAME           is the skill offered for each of its prompts?
  skills evals                the same for all skills, with measures
  skills doctor NAME          where does another skill win a prompt?

The flags are for all skills. What a program reads is explained by "skills help
try" (of one skill) and "skills help bench" (of all).`

func newEvalsCommand(e env) *cobra.Command {
	b := benchFlags{fromEvals: true, seed: 1}
	cmd := &cobra.Command{
		Use:               "evals [NAME]",
		Short:             "Try skills with the prompts of their authors",
		Long:              evalsHelp,
		Example:           "  skills evals pdf-forms\n  skills evals --all",
		Args:              args(0, 1),
		ValidArgsFunction: e.first(skillNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			err := b.check(s.json)
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if len(args) == 1 && f.Changed {
					err = fmt.Errorf("--%s is for the evals of all skills; leave it or NAME out", f.Name)
				}
			})
			switch {
			case err != nil:
				return &usageError{cmd.CommandPath(), err}
			case len(args) == 1:
				return trySkill(cmd.Context(), s, args[0])
			}
			return runBench(cmd.Context(), s, &b)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&b.all, "all", false, "list on a terminal too how each prompt fares")
	f.StringVar(&b.mode, "mode", "", "rank by text, vector or hybrid")
	f.StringVar(&b.compare, "compare", "", "compare with this `file`, written with --json")
	b.level.flags(cmd)
	b.embedder.flags(cmd)
	return cmd
}
