package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/skilltest"
)

const testHelp = `Test runs the tests that a skill ships: its files tests/*.txtar. Each runs a
command of the skill and compares what it prints and leaves, or holds a
conversation with a model that follows a script. A test has a workspace of its
own, the folder $WORKSPACE, which is empty but for the files of the test.

  Two lines are counted.         (a comment)
  -- command --
  scripts/count.sh
  -- files/notes.txt --          in the workspace before
  one
  two
  -- stdin --
  -- stdout --
  2 lines
  -- stderr --
  -- exit --
  0
  -- want/count.txt --           in the workspace afterwards
  2 lines

All sections but the command may be left out. A conversation has these instead:

  -- prompt --
  How many lines have my notes?
  -- turn --                     what the model does when it is asked first
  call run_skill_script: {"name": "notes", "command": "scripts/count.sh"}
  -- turn --
  want: 2 lines

  They have two.
  -- answer --
  They have two.

"want: TEXT" says that the model was just told the text, "not: TEXT" that it was
not; "call TOOL: JSON" calls a tool. What follows the first empty line of a turn
is what the model writes.

{executors}

With folders it runs the tests of all skills in them; those without tests are
counted. The tests run programs of these folders: look at what is not yours.

Exit status: 1 if a test does not pass, or a skill has no tests (with folders:
if none has, unless --allow-none is given).

--format junit prints the XML that continuous integration reads.

--json prints a list of objects with skill, name (the file), about, status
("passed", "failed", or "broken" if it could not be run), message, diffs (what,
text), duration_ns and unprotected (see "skills run").`

func newTestCommand(e env) *cobra.Command {
	var x executorChoice
	format, none := "text", false
	cmd := &cobra.Command{
		Use:               "test SKILL…|FOLDER…",
		Short:             "Run the tests that a skill ships",
		Long:              strings.ReplaceAll(testHelp, "{executors}", executorHelp),
		Example:           "  skills test notes\n  skills test ./skills\n  skills test notes pdf-forms --executor virtual --format junit >report.xml",
		Args:              args(1, -1),
		ValidArgsFunction: arguments(e.ofCatalog(skillNames).orFile()),
		PreRunE: e.checked(func(s *session, _ []string) error {
			if err := isOneOf("format", format, []string{"text", "json", "junit"}); err != nil {
				return err
			}
			if s.json && format == "junit" {
				return errors.New("--json and --format junit exclude each other; leave one of them out")
			}
			return x.check()
		}),
		RunE: e.run(func(ctx context.Context, s *session, args []string) error {
			folders := s.only(args)
			return s.ask(ctx, freshen, args, func(ctx context.Context, s *session, c *catalog, ids []string) error {
				if folders {
					entries, err := c.List(ctx, c.agent, &repertoire.ListOptions{Person: true})
					if err != nil {
						return err
					}
					ids = mapped(entries, func(e repertoire.Entry) string { return e.ID })
				}
				return orFolder(runTests(ctx, s.screen, c, tested{ids, folders, none && folders}, &x, format))
			})
		}),
	}
	x.flags(cmd)
	cmd.Flags().BoolVar(&none, "allow-none", false, "of folders: exit with 0 if no skill has tests")
	cmd.Flags().StringVar(&format, "format", format, "print `text`, json or junit")
	return cmd
}

// tested are the skills whose tests are run.
type tested struct {
	ids     []string
	lenient bool // some need not have any
	none    bool // none need have any
}

func runTests(ctx context.Context, ui *screen, c *catalog, t tested, e *executorChoice, format string) error {
	cfg := agent.Config{Catalog: c, Agent: c.agent}
	e.set(&cfg)
	list := []skilltest.Outcome{}
	var errs []error
	none := 0
	for _, id := range t.ids {
		outcomes, err := skilltest.Run(ctx, cfg, id)
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.lenient && errors.Is(err, skilltest.ErrNone) {
			none++
			continue
		}
		list, errs = append(list, outcomes...), append(errs, err)
	}
	var err error
	switch why := fmt.Sprintf("none of %s has tests, which are files tests/NAME.txtar of a skill (\"skills help test\")", count(none, "skill")); {
	case none < len(t.ids) && none > 0:
		ui.note("%s without tests", count(none, "skill"))
	case none < len(t.ids):
	case t.none:
		ui.note("%s", why)
	default:
		errs = append(errs, errors.New(why))
	}
	switch {
	case ui.json || format == "json":
		err = ui.printJSON(list)
	case format == "junit":
		err = skilltest.WriteJUnit(ui.stdout, list)
	default:
		printOutcomes(ui, list)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return reportedIf(skilltest.Bad(list))
}

// printOutcomes prints a line for each test, and below it what is not as wanted.
func printOutcomes(ui *screen, list []skilltest.Outcome) {
	passed := 0
	for i := range list {
		o := &list[i]
		line := fmt.Sprintf("%s %s/%s", o.Status, o.Skill, o.Name)
		if o.Status == skilltest.Passed {
			passed++
			fmt.Fprintln(ui.stdout, line)
			continue
		}
		fmt.Fprintf(ui.stdout, "%s: %s\n", line, message(o.Message))
		for _, d := range o.Diffs {
			fmt.Fprintf(ui.stdout, "  %s:\n    %s\n", d.What, strings.ReplaceAll(strings.TrimRight(d.Text, "\n"), "\n", "\n    "))
		}
	}
	if len(list) > 0 {
		ui.note("%d of %s passed", passed, count(len(list), "test"))
	}
}
