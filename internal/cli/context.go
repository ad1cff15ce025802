package cli

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/usage"
)

const contextHelp = `Context prints what a model should know of the catalog for a prompt: names,
descriptions and locations of the relevant skills, best first, within a budget
of tokens. When no skill is relevant it prints nothing.

--offer all lists all skills in scope instead, the pinned ones and then by name,
within the budget, and --offer auto does so if all have room in it. So does
a blank prompt.

The formats are xml (the <available_skills> element of the Agent Skills
reference, every field escaped), markdown and json. With --form short, each
skill has its name, the first sentence of its description, and its location.
With --agent, the skills that are pinned for it come first with all of their
instructions; they do not count against the budget.

When the probability that the prompt wants any skill reaches the threshold, the
best skill is listed, and each further one that is at least 5 % likely. The
threshold is such that about 10 % of the prompts that need no skill get one
(--disturb): "skills index" ranks 500 of these in your catalog, and until it
has, the threshold of a typical catalog holds. With --disturb 0 a prompt gets
only what it names, with 1 every request gets the best skill.

A slash command, a reply or greeting, a shell command, and a diff, a log or code
without a request get only the skills that they name. Of copies of a skill the
best is listed. A skill that a listed one requires follows it, if the budget has
room. "skills why NAME PROMPT" explains a decision.

--json prints an object with
  block     the text, empty when nothing is relevant
  hint      with --offer all or auto, where the block lists all skills: which
            of them stand out, for beside the prompt
  skills    the listed skills, in the form of "search --json", with the
            descriptions that the block shows; required_by names the skill
            that requires one that is listed only because of that
  pinned    names of the pinned skills, if any
  omitted   number of relevant skills that the budget left out
  tokens    estimated tokens of the block
  stale     why skills may have changed since they were indexed, if they may
  partial   true if some folders have not been read yet
  unread    how many, if any
  as_of     when a shared catalog that cannot be reached now was last as here
  mode      what the ranking is based on
  kind      what the prompt is, when it wants no skill
  reading   of a prompt in another language, what its words were read as: a list
            of typed and english
  demand    probability that the prompt wants the best skill
  threshold what it is compared with
  disturb, unfit_rate
            as in "search --json"`

func newContextCommand(e env) *cobra.Command {
	b := repertoire.Budget{Tokens: 1000, Skills: 8, Format: contextprovider.XML, Command: e.name, Offer: contextprovider.Relevant, Local: true}
	var least level
	cmd := &cobra.Command{
		Use:     "context PROMPT… | -",
		Short:   "Print the relevant skills for a prompt, or nothing",
		Long:    contextHelp,
		Example: "  skills context \"The totals in this spreadsheet are wrong\"\n  skills --agent reviewer context --format markdown - < prompt.txt",
		Args:    args(1, -1),
		PreRunE: checked(func([]string) error {
			return cmp.Or(isOneOf("format", b.Format, contextprovider.Formats()), unsetOrOneOf("form", b.Form, contextprovider.Forms()), unsetOrOneOf("offer", b.Offer, contextprovider.Offers()),
				atLeast("budget", b.Tokens, 1), atLeast("max", b.Skills, 1), least.check())
		}),
		RunE: e.onPrompt(0, hurry, func(ctx context.Context, s *session, c *catalog, args []string) error {
			b.Disturb, b.Unfit, b.Threshold = least.disturb(), least.unfit(), least.threshold()
			if strings.TrimSpace(args[0]) == "" {
				b.Offer = contextprovider.All
			}
			return runContext(ctx, s.screen, c, args[0], b)
		}),
	}
	least.flags(cmd)
	offerFlag(cmd, &b.Offer)
	cmd.Flags().IntVar(&b.Tokens, "budget", b.Tokens, "list skills in at most this `number` of tokens")
	cmd.Flags().IntVar(&b.Skills, "max", b.Skills, "list at most this `number` of skills")
	cmd.Flags().StringVar((*string)(&b.Format), "format", string(b.Format), "`syntax` of the block: xml, markdown or json")
	cmd.Flags().StringVar((*string)(&b.Form), "form", "", "list skills in this `form`: short or full (default: the configured one, or full)")
	return cmd
}

// offerFlag adds the flag that says how many skills are listed.
func offerFlag(cmd *cobra.Command, offer *contextprovider.Offer) {
	cmd.Flags().StringVar((*string)(offer), "offer", string(*offer), "list what is `relevant`, all skills in scope, or with auto all if they have room")
}

func runContext(ctx context.Context, ui *screen, c *catalog, prompt string, b repertoire.Budget) error {
	block, err := c.Block(ctx, prompt, b, c.agent)
	if err != nil {
		return err
	}
	offered := usage.Answered(usage.Offered, prompt, &block.Ranking)
	offered.Wording = block.Wording
	c.used(offered, mapped(block.Fitting(), idOf)...)
	for _, p := range block.Problems {
		ui.note("%v", p)
	}
	if ui.json {
		pinned := mapped(block.Pinned, func(p repertoire.Body) string { return p.Name })
		return ui.printJSON(contextResult{block.Text, block.Hint, mapped(block.Skills, resultOf), pinned, block.Omitted, block.Tokens,
			c.rankingOf(block.Ranking)})
	}
	_, err = io.WriteString(ui.stdout, block.Text+block.Hint)
	if _, ok := terminal(ui.stdout); ok && block.Text == "" {
		noteSilence(ctx, ui, c, block)
	}
	ui.noteVerbose("%s in %s, %d left out; ranking: %s",
		count(len(block.Skills), "skill"), count(block.Tokens, "token"), block.Omitted, block.Mode)
	return err
}

// noteSilence says why a prompt gets nothing: a person at a terminal sees nothing else.
func noteSilence(ctx context.Context, ui *screen, c *catalog, block repertoire.Block) {
	skills, err := c.Count(ctx, c.agent)
	why := block.Quiet()
	switch {
	case err == nil && skills == 0:
		ui.note("There are no skills here.")
		return
	case why == "" && block.Omitted > 0:
		why = "no skill that fits has room in the budget"
	case why == "":
		why = "no skill has enough in common with this prompt"
	}
	ui.note("None of %s stands out: %s. \"skills search\" lists the nearest, \"skills why\" explains one.", count(skills, "skill"), why)
}
