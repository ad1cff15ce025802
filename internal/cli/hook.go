package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/usage"
)

const hookHelp = `Hook answers a client that asks for context. It reads the client's event as JSON
on standard input and writes the client's form of an answer to standard output:
the relevant skills for a prompt, or nothing at all.

{events}
  sessionstart  the start of a session of any of these, and of VS Code: how many
                skills there are, how they are found, and how many proposed
                changes of them wait, if any

To all other events nothing is answered. After PostToolUse (AfterTool) it knows
which skills the model has read, and after PreCompact (PreCompress), or when a
SessionStart follows a compaction, it forgets them.

A session is not offered a skill twice, unless it is much more relevant later. A
short prompt that finds nothing is taken together with the last one that was
offered something, if it goes on with that ("and the other file") and is no task
of its own ("and make the tests pass"). "skills why --last" says why a session
was offered what it was. What is remembered of a session lies in
$REPERTOIRE_STATE, or the folder repertoire in your state folder, for a day.

Pinned skills of an agent are listed at the first prompt of a session. With
--mcp-server the answer tells the model to load skills with the tool read_skill
of that MCP server, and has only the first sentence of each description ("form"
in the configuration changes that); else it has descriptions and paths.

The event names the project. The hook gives no answer after the deadline, which
starts when the client has written the event; it waits 4 s for that. Without
--deadline each answer of the last hour that was too late adds 200 ms, up to a
second; "skills" tells how many there were. A project that was never seen starts
from the index of another one: until its folders have been read, answers say
that they are from a part of the catalog. When the index is not up to date, or
does not know yet how prompts that need no skill rank in it, the hook starts
"skills index" in the background. Two to four of these run at a time on a
machine, as it has processors; the others wait for their turn.

With --url the prompt goes to a server ("skills mcp --http"), with what the
session was offered and the start of its last request. The server has two thirds
of the time; if it does not answer, the catalog of this machine does. --agent
narrows what the server shows. The token is read from the environment variable
that --token-env names.

Errors are written to hook.log in the state folder, and with --verbose to
standard error, but never to the client: the exit status is 0, or 1 for a wrong
command line.`

func newHookCommand(e env) *cobra.Command {
	var call hook.Call
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "hook CLIENT",
		Short: "Answer a client that asks for context",
		Long:  hookHelp,
		Example: "  skills hook claude < event.json\n  skills hook codex --mcp-server skills --deadline 200ms < event.json\n" +
			"  skills hook claude --url https://example.com --token-env TOKEN < event.json",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), oneOfThese(client.HookArgs)),
		PreRunE: checked(func(args []string) error {
			switch clients := client.HookArgs(); {
			case !slices.Contains(clients, args[0]):
				return fmt.Errorf("no client %q; there are: %s", args[0], strings.Join(clients, ", "))
			case call.Deadline <= 0:
				return errors.New("--deadline is more than 0")
			}
			return server.check()
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			call.Arg = args[0]
			if state, err := config.StateDir(); err == nil && !cmd.Flags().Changed("deadline") {
				call.Deadline = hook.DeadlineNow(state, time.Now())
			}
			if err := server.answer(&call, s.agent); err != nil {
				return err
			}
			call.Switches, call.Digest = config.SwitchesOf, config.DigestAt
			run := hookRun{session: s}
			return run.answer(cmd.Context(), call)
		},
	}
	cmd.Flags().DurationVar(&call.Deadline, "deadline", hook.Deadline, "answer within this `time` of the event or not at all")
	cmd.Flags().StringVar(&call.Server, "mcp-server", "", "the model can load skills from the MCP server `name`")
	server.add(cmd.Flags(), "ask the server at this `URL` first")
	return cmd
}

// hookRun is one call of the hook.
type hookRun struct {
	*session
	log   *usage.Log // in which is noted what is used; nil means none
	known bool       // the configuration was read for log
}

// answer runs the hook. One that is tried leaves no trace, and reports what it has told.
func (r *hookRun) answer(ctx context.Context, call hook.Call) error {
	mode := os.Getenv(trial.Var)
	call.Name, call.Stdin, call.Stdout = r.name, r.stdin, r.raw
	call.Getenv, call.StateDir = os.Getenv, config.StateDir
	call.Open, call.Index, call.Command, call.Usage = r.openForHook, r.indexArgs, r.commandLine, r.usage
	call.Waiting = func(state string) int { return proposal.Count(proposal.Dir(state)) }
	own := call.Deadline
	deadline, tried := trial.Deadline(mode, own)
	if tried {
		call.Deadline, call.Index, call.Usage = deadline, nil, nil
		call.Sessions, _ = call.StateDir() // without one there are no sessions
		call.StateDir = func() (string, error) { return "", nil }
	}
	if !r.verbose && !tried {
		r.quiet, r.stderr = true, io.Discard
	}
	call.Verbose = r.stderr
	told := hook.Run(ctx, call)
	if !tried {
		return nil
	}
	return trial.Report(ctx, r.stderr, told, mode, own, func(ctx context.Context) (hook.Catalog, *repertoire.Agent, error) {
		return r.openForHook(ctx, hook.Opening{Log: slog.New(slog.DiscardHandler), Bound: func(*repertoire.Config) {}, Warn: func(error) {}})
	})
}

// openForHook opens the catalog for a hook.
func (r *hookRun) openForHook(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
	r.session.log, r.dir, r.client = o.Log, o.Dir, o.Client
	r.lastGood, r.warn = true, o.Warn
	cfg, err := r.readConfig(false)
	if err != nil {
		return nil, nil, err
	}
	o.Bound(&cfg)
	c, err := r.openWith(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	r.log, r.known = usageOf(c.Catalog), true
	return c, c.agent.For(o.Client), nil
}

// usage returns the log of usage. For most events no catalog is opened: then it reads the
// configuration for it, once.
func (r *hookRun) usage(dir string) *usage.Log {
	if !r.known {
		r.known, r.dir = true, dir
		if s, err := r.settings(); err == nil { // else the next prompt tells
			r.log = usageLog(s.Usage.Log, s.Usage.Prompts)
		}
	}
	return r.log
}

// callsHook reports whether arguments, even malformed ones, call the hook of a client.
// For such a call the exit status must not be 2, which makes clients drop the prompt.
func callsHook(args []string) bool {
	for i, arg := range args[:max(0, len(args)-1)] {
		if arg == "hook" && slices.Contains(client.HookArgs(), args[i+1]) {
			return true
		}
	}
	return false
}

// commandLine returns what a person or a model types to call this program for the catalog.
func (s *session) commandLine() string {
	self, err := os.Executable()
	if err != nil {
		self = cmp.Or(s.name, ownName)
	}
	flags, _ := s.flags() // if a path cannot be made absolute, a relative one is better than none
	words := append([]string{self}, flags...)
	for i, w := range words {
		if strings.ContainsAny(w, " '\"\\$`&|;<>()*?[]#~!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
