package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
)

const callHelp = `Call answers one call of a tool, for programs in other languages that talk to a
model themselves: "skills tools" prints the definitions, the model calls a tool,
and call prints what it reads. JSON is the object of the arguments, as the model
wrote it; - reads it from standard input, and without it there are none. Names
of tools and arguments that other hosts have are taken too: "skills tools
--help" has them. Each call is for itself: a skill that was loaded before is
given again, and a sandbox keeps no files.

--scripts also answers run_skill_script, sandbox_execute and the scripts that
are tools of their own. Scripts of folders that you wrote yourself run; others
after "skills trust NAME". The field "allowed-tools" of a skill says what it may
run.

--registries also answers find_skills: what is asked goes to the registries of
your configuration.

{executors}

Exit status: 0; 1 for a call that fails, with the reason, which is for the model
too, on standard error.

--json prints an object with text (what the model reads), failed (why the call
failed, or ""), and for searches and lists data (the same for programs).`

// callOptions say what answers a call.
type callOptions struct {
	scripts    bool
	registries bool
	where      executorChoice
}

// callResult is what "call --json" prints.
type callResult struct {
	Text   string `json:"text"`
	Failed string `json:"failed"`
	Data   any    `json:"data,omitempty"`
}

func newCallCommand(e env) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:               "call TOOL [JSON]",
		Short:             "Answer one tool call of a model",
		Long:              strings.ReplaceAll(callHelp, "{executors}", executorHelp),
		Example:           "  skills call read_skill '{\"name\": \"pdf-forms\"}'\n  skills call search_skills '{\"query\": \"fill in a PDF form\"}' --json\n  skills call run_skill_script --scripts - < arguments.json",
		Args:              args(1, 2),
		ValidArgsFunction: arguments(completer{}, oneOf(agent.ToolNames()...)),
		PreRunE:           checked(func([]string) error { return o.check() }),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
			return runCall(ctx, s.screen, c, &o, args)
		}),
	}
	o.where.flags(cmd)
	o.where.workspaceFlags(cmd)
	cmd.Flags().BoolVar(&o.scripts, "scripts", false, "answer also the tools that run scripts")
	registriesFlag(cmd.Flags(), &o.registries)
	return cmd
}

func (o *callOptions) check() error {
	if w := &o.where; !o.scripts && (w.name != "" || w.unconfined || w.strict || w.workspace != "") {
		return errors.New("--executor, --allow-unconfined, --strict and --workspace need --scripts")
	}
	return o.where.check()
}

// maxCallInput bounds the arguments that standard input may hold, in bytes.
const maxCallInput = 8 << 20

func runCall(ctx context.Context, ui *screen, c *catalog, o *callOptions, args []string) error {
	arguments := ""
	if len(args) > 1 {
		arguments = args[1]
	}
	if arguments == "-" {
		data, err := io.ReadAll(io.LimitReader(ui.stdin, maxCallInput))
		if err != nil {
			return fmt.Errorf("reading the arguments: %w", err)
		}
		arguments = string(data)
	}
	cfg := agent.Config{Catalog: c, Agent: c.agent, Agents: c.Config().Agents, Budget: contextprovider.Budget{Local: true}}
	if o.scripts {
		gate, err := c.gate("ask the user to look at its scripts and to type: skills trust %s")
		if err != nil {
			return err
		}
		cfg.Allow = gate.Allow
		o.where.set(&cfg)
	}
	if err := c.setFind(&cfg, o.registries); err != nil {
		return err
	}
	a, err := agent.New(cfg)
	if err != nil {
		return err
	}
	r := a.Call(ctx, args[0], arguments)
	for _, e := range r.Events {
		c.noteUse(e)
	}
	switch {
	case ui.json:
		if err := ui.printJSON(callResult{r.Text, r.Failed, r.Data}); err != nil {
			return err
		}
		return reportedIf(r.Failed != "")
	case r.Failed != "":
		return errors.New(r.Failed)
	}
	_, err = fmt.Fprintln(ui.exact(), strings.TrimSuffix(r.Text, "\n"))
	return err
}
