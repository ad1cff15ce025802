package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/sandbox"
)

const toolsHelp = `Tools prints the definitions of the tools with which a model uses the catalog,
as JSON, for programs that talk to a model themselves. The formats are

  openai       the field "tools" of a request for a chat completion; strict: all
               arguments are required, and null stands for one that is left out
  anthropic    the field "tools" of a request for a message
  gemini       the field "tools" of a request to generate content
  json-schema  a list of JSON Schemas with title and description

The tools are read_skill, search_skills, list_skills, read_skill_resource and
search_skill_files, with --registries also find_skills, and with --scripts also
run_skill_script. With --tool there
are those that you name; get_skill, load_skill, activate_skill, use_skill and
skill, which do what read_skill does in the forms of other hosts, are there only
then.

A script can be a tool of its own, such as pdf__convert for scripts/convert.py
of the skill pdf. Give the skill with --skill; with --scripts the skills that
the agent always has count too. The script says what it takes in the comment
that it starts with, by a line that can be read in one way only,

  Usage: convert.py [--dpi N] [--gray] [--mode fast|slow] INPUT [OUTPUT]

or by Parameters: and a JSON Schema of an object. Its properties are options
(dry_run is --dry-run, or what x-flag says), and positional arguments if
x-position gives their place, from 1. The frontmatter of the skill can say the
same below metadata: tools: [{script: scripts/convert.py, usage: …}], and
toolsets: [tools/convert.py] names scripts outside of scripts/. What is wrong
with a declaration stands on standard error. To run, a script needs to be named
by allowed-tools like any other.

The description of read_skill lists all skills, the pinned ones and then by
name, if they have room in the budget, and without --prompt as many as have
room. Else it lists those that fit the prompt, or says that none of so many
stands out. With --offer relevant it always does that. A Go program answers the
calls with Agent.Call of package agent; others with "skills call" or "skills
mcp".`

// toolsFlags say which tools are printed.
type toolsFlags struct {
	format  tool.Format
	prompt  string
	names   []string
	skills  []string
	scripts bool
	finds   bool
	budget  repertoire.Budget
}

func newToolsCommand(e env) *cobra.Command {
	l := toolsFlags{format: tool.OpenAI, budget: repertoire.Budget{Tokens: 1000, Skills: 8}}
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "Print tool definitions for programs that call models",
		Long:    toolsHelp,
		Example: "  skills tools --format anthropic --prompt \"Fill in this PDF form\"\n  skills tools --agent reviewer --scripts --format gemini",
		Args:    args(0, 0),
		PreRunE: checked(func([]string) error {
			return cmp.Or(isOneOf("format", l.format, tool.Formats()), unsetOrOneOf("offer", l.budget.Offer, contextprovider.Offers()), atLeast("budget", l.budget.Tokens, 1), atLeast("max", l.budget.Skills, 1))
		}),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, _ []string) error {
			return runTools(ctx, s.screen, c, &l)
		}),
	}
	offerFlag(cmd, &l.budget.Offer)
	f := cmd.Flags()
	f.StringVar((*string)(&l.format), "format", string(l.format), "`format` of the definitions: openai, anthropic, gemini or json-schema")
	f.StringVar(&l.prompt, "prompt", "", "list the skills that fit this `text`")
	f.StringArrayVar(&l.names, "tool", nil, "print the tool of this `name` (repeatable; default: the usual ones)")
	f.StringArrayVar(&l.skills, "skill", nil, "print also the scripts of the skill of this `name` that are tools (repeatable)")
	f.BoolVar(&l.scripts, "scripts", false, "print also the tools that run scripts")
	registriesFlag(f, &l.finds)
	f.IntVar(&l.budget.Tokens, "budget", l.budget.Tokens, "list skills in at most this `number` of tokens")
	f.IntVar(&l.budget.Skills, "max", l.budget.Skills, "list at most this `number` of skills for a prompt")
	return cmd
}

func runTools(ctx context.Context, ui *screen, c *catalog, l *toolsFlags) error {
	cfg := agent.Config{Catalog: c, Agent: c.agent, Offer: l.names, Budget: l.budget}
	if l.scripts {
		cfg.Executor = definedOnly{}
		if c.agent != nil {
			l.skills = append(l.skills, c.agent.Uses...)
		}
	}
	if err := c.setFind(&cfg, l.finds); err != nil {
		return err
	}
	g, err := agent.New(cfg)
	if err != nil {
		return err
	}
	tools, err := g.Tools(ctx, l.prompt)
	if err != nil {
		return err
	}
	own, problems, err := g.ScriptTools(ctx, l.skills...)
	if err != nil {
		return err
	}
	for _, p := range problems {
		ui.note("%v", p)
	}
	tools = append(tools, own...)
	data, err := tool.Write(l.format, tools)
	if err != nil {
		return err
	}
	return ui.printJSON(data)
}

// definedOnly is the executor of an agent that only defines tools.
type definedOnly struct{}

func (definedOnly) Execute(context.Context, sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{}, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "nothing runs here", Hint: "this program only defines tools"}
}
