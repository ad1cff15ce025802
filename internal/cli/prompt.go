package cli

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

const promptHelp = `Prompt prints the system prompt of a configured agent, for any program that runs
models: its role (prompt), the skills that it always has, with all their
instructions and the folders that their paths start at (uses_skills), its own
instructions, and the list of the other skills that fit PROMPT, as "skills
context" prints it. Pinned skills head the list. Without PROMPT only they are
listed.

The whole is as long as --budget says: the role and the instructions of the
agent always stand in it, then come the skills that it uses, in their order, and
then the list. A skill that does not fit is left out as a whole. What is left
out, and skills that cannot be read, stand on standard error.

--json prints an object with
  system    the text
  loaded    the skills whose instructions stand in it: id, name, source, root,
            tokens
  skills    the listed skills, in the form of "search --json"
  omitted   number of relevant skills that are not listed for lack of room
  problems  what is left out and why: rule, severity, path, line, message, hint
  tokens    estimated tokens of the text
  and mode, stale, partial, unread, as_of, kind, demand, threshold, disturb,
  unfit_rate and reading (typed, english) as in "context --json"`

// promptResult is what "prompt --json" prints.
type promptResult struct {
	System   string          `json:"system"`
	Loaded   []promptSkill   `json:"loaded"`
	Skills   []resultHit     `json:"skills"`
	Omitted  int             `json:"omitted"`
	Problems []skill.Problem `json:"problems"`
	Tokens   int             `json:"tokens"`
	ranking
}

// promptSkill is a skill whose instructions stand in a system prompt.
type promptSkill struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source string `json:"source"`
	Root   string `json:"root"`
	Tokens int    `json:"tokens"`
}

func newPromptCommand(e env) *cobra.Command {
	o := agent.SystemOptions{Tokens: agent.DefaultSystemTokens, Budget: repertoire.Budget{Command: e.name, Offer: contextprovider.Relevant, Local: true}}
	cmd := &cobra.Command{
		Use:     "prompt [PROMPT… | -]",
		Short:   "Print the system prompt of an agent",
		Long:    promptHelp,
		Example: "  skills --agent writer prompt \"Announce the release\"\n  skills --agent writer prompt --json - < prompt.txt",
		Args:    args(0, -1),
		PreRunE: e.checked(func(s *session, _ []string) error {
			if s.agent == "" {
				return errors.New("--agent is missing: it names the agent of the configuration whose prompt to print")
			}
			return cmp.Or(atLeast("budget", o.Tokens, 1), unsetOrOneOf("format", o.Budget.Format, contextprovider.Formats()))
		}),
		RunE: e.onPrompt(0, freshen, func(ctx context.Context, s *session, c *catalog, args []string) error {
			return runPrompt(ctx, s.screen, c, args[0], &o)
		}),
	}
	cmd.Flags().IntVar(&o.Tokens, "budget", o.Tokens, "print at most about this `number` of tokens")
	cmd.Flags().StringVar((*string)(&o.Budget.Format), "format", "", "`syntax` of the list: xml, markdown or json (default: xml)")
	return cmd
}

func runPrompt(ctx context.Context, ui *screen, c *catalog, prompt string, o *agent.SystemOptions) error {
	system, err := agent.SystemPrompt(ctx, c, c.agent, prompt, o)
	if err != nil {
		return err
	}
	c.used(usage.Answered(usage.Offered, prompt, &system.Ranking), mapped(system.Listed, idOf)...)
	if len(system.Loaded) > 0 {
		c.used(usage.Event{Kind: usage.Loaded}, mapped(system.Loaded, func(b repertoire.Body) string { return b.ID })...)
	}
	for _, p := range system.Problems {
		ui.note("%v", p)
	}
	if ui.json {
		loaded := mapped(system.Loaded, func(b repertoire.Body) promptSkill {
			return promptSkill{b.ID, b.Name, b.Source, b.Folder, b.Tokens}
		})
		return ui.printJSON(promptResult{system.Text + system.Hint, loaded, mapped(system.Listed, resultOf), system.Omitted, append([]skill.Problem{}, system.Problems...),
			system.Tokens, c.rankingOf(system.Ranking)})
	}
	_, err = io.WriteString(ui.stdout, system.Text+system.Hint)
	ui.noteVerbose("%s loaded and %s listed in %s, %d left out; ranking: %s",
		count(len(system.Loaded), "skill"), count(len(system.Listed), "skill"), count(system.Tokens, "token"), system.Omitted, system.Mode)
	return err
}
