package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/executors"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

const runHelp = `Run runs a command of a skill in the folder of the skill, inside walls, and
prints what it prints when it ends. The field "allowed-tools" of the skill says
which commands it may run; --allow adds a rule for this call, such as
'scripts/*'.

COMMAND is a script of the skill or a program. Alone, as in 'scripts/x.sh a', it
is split into words as a shell does it. $WORKSPACE in it is the folder of
--workspace; nothing else is expanded, and pipes and lists of commands are
refused, but by the virtual executor, which is a shell. With ARGUMENTs, each of
them is handed over as it is.

{executors}

--workspace DIR lets the command read a folder of yours, with --write also
change it. The command finds it in $WORKSPACE.

Standard input goes to the command unless it is a terminal.

Exit status: that of the command, as a shell gives it; 1 with a message on
standard error if it did not run.

--json prints an object with exit_code, stdout, stderr, truncated, duration_ns,
signal, stopped (why the executor ended it), executor, and unprotected (what
nothing kept the command from; --verbose prints that too).`

// executorHelp explains the flag --executor.
const executorHelp = `--executor chooses where it runs: "confined" (Linux; the kernel lets it read the
system and the skill, write to a private folder, and connect to nothing),
"virtual" (no process at all: a shell in memory with a few utilities),
"bubblewrap" and "container" (with bwrap, docker or podman), or "plain", which
has no walls and needs --allow-unconfined. Without the flag it is the one that
the configuration names for the agent or the skill, or else "confined".`

// An executorChoice holds the flags that choose where commands run, and on what.
type executorChoice struct {
	name, workspace           string
	write, unconfined, strict bool
}

func (e *executorChoice) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.name, "executor", "", "run commands in this `executor`: "+strings.Join(executors.Names(), ", "))
	f.BoolVar(&e.unconfined, "allow-unconfined", false, "allow an executor without walls")
	f.BoolVar(&e.strict, "strict", false, "run nothing if this system lacks a part of the walls")
}

func (e *executorChoice) workspaceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.workspace, "workspace", "", "let commands read this `folder`")
	f.BoolVar(&e.write, "write", false, "let them change the workspace too")
}

// check checks the flags, and makes the workspace absolute.
func (e *executorChoice) check() error {
	if e.name != "" && !slices.Contains(executors.Names(), e.name) {
		return fmt.Errorf("--executor %s: no such executor%s", e.name, words.Suggest(e.name, executors.Names()))
	}
	if e.workspace == "" {
		if e.write {
			return errors.New("--write needs a --workspace")
		}
		return nil
	}
	abs, err := filepath.Abs(e.workspace)
	if err != nil {
		return err
	}
	if info, err := os.Stat(abs); err != nil {
		return fmt.Errorf("--workspace: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("--workspace %s: not a folder", e.workspace)
	}
	e.workspace = abs
	return nil
}

// set makes an agent run commands as the flags say.
func (e *executorChoice) set(cfg *agent.Config) {
	pool := executors.NewPool(executors.Options{AllowUnconfined: e.unconfined, Strict: e.strict})
	cfg.Executor = pool.Executor(e.name)
	if e.name == "" {
		cfg.Executors = func(s search.Script) (sandbox.Executor, error) { return pool.Get(s.Executor, s.Runtime) }
	}
	if e.workspace != "" {
		cfg.Workspace = sandbox.Workspace{Dir: e.workspace, Write: e.write}
	}
}

func newRunCommand(e env) *cobra.Command {
	var x executorChoice
	var allow []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:               "run SKILL -- COMMAND [ARGUMENT…]",
		Short:             "Run a command of a skill inside walls",
		Long:              strings.ReplaceAll(runHelp, "{executors}", executorHelp),
		Example:           "  skills run pdf-forms -- scripts/fields.py form.pdf\n  skills run notes --workspace . --write -- 'scripts/count.sh --all'\n  skills run notes --executor virtual -- 'cat *.md | wc -l'",
		Args:              args(2, -1),
		ValidArgsFunction: arguments(anyFile(), e.ofCatalog(skillNames)),
		PreRunE: checked(func([]string) error {
			if timeout < 0 {
				return errors.New("--timeout must not be negative")
			}
			return x.check()
		}),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
			return runScript(ctx, s.screen, c, &x, sandbox.Request{Allowed: allow, Limits: sandbox.Limits{Timeout: timeout}}, args)
		}),
	}
	x.flags(cmd)
	x.workspaceFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "end the command after this `time` (default: what is configured, or a minute)")
	cmd.Flags().StringArrayVar(&allow, "allow", nil, "allow what this `rule` names too, as in allowed-tools (repeatable)")
	return cmd
}

func runScript(ctx context.Context, ui *screen, c *catalog, e *executorChoice, r sandbox.Request, args []string) error {
	cfg := agent.Config{Catalog: c, Agent: c.agent}
	e.set(&cfg)
	g, err := agent.New(cfg)
	if err != nil {
		return err
	}
	r.Command = args[1]
	if len(args) > 2 {
		r.Command, r.Args = sandbox.Quote(args[1]), args[2:]
	}
	if ui.keyboard() == nil {
		r.Stdin = ui.stdin
	}
	res, err := g.NewConversation().Run(ctx, args[0], r)
	if e, ok := errors.AsType[*sandbox.Error](err); ok && e.Reason == sandbox.Refused {
		return fmt.Errorf("%w, or pass it to --allow for this call", err)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; the command was killed")
	}
	if err != nil {
		return err
	}
	c.used(usage.Event{Kind: usage.Ran, What: r.Command, Exit: res.ExitCode, Duration: res.Duration}, args[0])
	if ui.json {
		if err := ui.printJSON(ranResult(&res)); err != nil {
			return err
		}
	} else if err := printResult(ui, &res); err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return exitStatus(res.ExitCode)
	}
	return nil
}

// runResult is what "run --json" prints.
type runResult struct {
	ExitCode    int           `json:"exit_code"`
	Stdout      string        `json:"stdout"`
	Stderr      string        `json:"stderr"`
	Truncated   bool          `json:"truncated"`
	Duration    time.Duration `json:"duration_ns"`
	Signal      string        `json:"signal"`
	Stopped     string        `json:"stopped"`
	Executor    string        `json:"executor"`
	Unprotected []string      `json:"unprotected"`
}

func ranResult(r *sandbox.Result) runResult {
	return runResult{r.ExitCode, string(r.Stdout), string(r.Stderr), r.Truncated, r.Duration, r.Signal, r.Stopped, r.Executor, append([]string{}, r.Unprotected...)}
}

// printResult prints what a command printed, byte for byte in a pipe, and says why it was
// stopped.
func printResult(ui *screen, r *sandbox.Result) error {
	_, err := ui.exact().Write(r.Stdout)
	fmt.Fprintf(ui.stderr, "%s", r.Stderr)
	if r.Stopped != "" {
		ui.note("the command was stopped: %s", r.Stopped)
	}
	for _, gap := range r.Unprotected {
		ui.noteVerbose("not confined: %s", gap)
	}
	return err
}

// exitStatus ends the command with a status of its own and without a further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
