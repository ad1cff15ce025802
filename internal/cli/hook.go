package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/session"
)

const hookHelp = `Hook answers a client that asks for context. It reads the client's event as JSON
on standard input and writes the client's form of an answer to standard output:
the relevant skills for a prompt, or nothing at all.

  claude        UserPromptSubmit
  codex         UserPromptSubmit
  gemini        BeforeAgent
  cursor        beforeSubmitPrompt
  copilot       userPromptTransformed
  sessionstart  the start of a session of any of these, and of VS Code: how many
                skills there are and how they are found

To all other events nothing is answered. After PostToolUse (AfterTool) it knows
which skills the model has read, and after PreCompact (PreCompress), or when a
SessionStart follows a compaction, it forgets them.

A session is not offered a skill twice, unless it is much more relevant later.
A short prompt that finds nothing is taken together with those before it. What
is remembered of a session lies in $REPERTOIRE_STATE, or the folder repertoire
in your state folder, for a day.

Pinned skills of an agent are listed at the first prompt of a session. With
--mcp-server the model is told to load skills with the tool read_skill of that
MCP server, else by the path of their SKILL.md.

The project is that of the event. Nothing is answered after the deadline, and
nothing while there is no complete index; then "skills index" is started in the
background. What goes wrong is told in hook.log in the state folder, and with
--verbose on standard error, but never to the client: the exit status is 0, or
1 for a wrong command line.`

func (a *app) hookCommand() *cobra.Command {
	h := &hookRun{app: a}
	var clients []string
	for _, c := range hook.Clients() {
		clients = append(clients, string(c))
	}
	cmd := &cobra.Command{
		Use:       "hook CLIENT",
		Short:     "Answer a client that asks for context",
		Long:      hookHelp,
		Example:   "  skills hook claude < event.json\n  skills hook codex --mcp-server skills --deadline 200ms < event.json",
		Args:      args(1, 1),
		ValidArgs: clients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(clients, args[0]) {
				return &usageError{cmd.CommandPath(), fmt.Errorf("no client %q; there are: %s", args[0], strings.Join(clients, ", "))}
			}
			if h.deadline <= 0 {
				return &usageError{cmd.CommandPath(), errors.New("--deadline is more than 0")}
			}
			h.client = hook.Client(args[0])
			h.run(cmd.Context())
			return nil
		},
	}
	cmd.Flags().DurationVar(&h.deadline, "deadline", 300*time.Millisecond, "answer within this `time` or not at all")
	cmd.Flags().StringVar(&h.server, "mcp-server", "", "the model can load skills from the MCP server `name`")
	return cmd
}

// callsHook reports whether arguments that could not be understood call the hook
// of a client: clients take an exit status of 2 for an order to drop the prompt.
func callsHook(args []string) bool {
	for i := range args {
		if args[i] == "hook" && i+1 < len(args) && slices.Contains(hook.Clients(), hook.Client(args[i+1])) {
			return true
		}
	}
	return false
}

// hookRun is one call of a hook.
type hookRun struct {
	*app
	client   hook.Client
	deadline time.Duration
	server   string

	end    time.Time // when the answer must be there
	state  string    // the state folder, "" without one
	memory *session.Memory
	// stale is the catalog that should be indexed in the background, "" for none.
	stale atomic.Pointer[string]
}

// run answers one event. A goroutine does the work, and is left behind when it is
// late: whatever it waits for, the client does not.
func (h *hookRun) run(ctx context.Context) {
	h.end = h.start.Add(h.deadline - h.deadline/10)
	ctx, cancel := context.WithDeadline(ctx, h.end)
	defer cancel()
	h.prepare()
	answer := make(chan []byte, 1)
	go func() {
		var out []byte
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("panic", "cause", p)
				out = nil
			}
			answer <- out
		}()
		var err error
		if out, err = h.answer(ctx); err != nil {
			h.log.Error("no answer", "error", err)
			out = nil
		}
	}()
	select {
	case out := <-answer:
		if len(out) > 0 {
			if _, err := h.stdout.Write(out); err != nil {
				h.log.Error("writing the answer", "error", err)
			}
		}
	case <-ctx.Done():
		h.log.Warn("too late for an answer", "deadline", h.deadline)
	}
	if db := h.stale.Load(); db != nil {
		h.indexBehind(*db)
	}
	h.memory.Sweep()
}

// prepare finds the state folder and makes the log the only place where anything
// is told.
func (h *hookRun) prepare() {
	dir, err := config.StateDir()
	if h.state = dir; err != nil {
		h.state = ""
	}
	h.log = slog.New(slog.NewTextHandler(h.logWriter(), nil)).With("client", string(h.client))
	sessions := ""
	if h.state != "" {
		sessions = filepath.Join(h.state, "sessions")
	} else {
		h.log.Warn("nothing is remembered", "error", err)
	}
	h.memory = session.New(sessions, &session.Options{Logger: h.log})
	h.quiet = !h.verbose
}

func (h *hookRun) answer(ctx context.Context) ([]byte, error) {
	data, err := hook.Read(h.stdin)
	if err != nil {
		return nil, err
	}
	client := h.client
	if client == hook.Claude && os.Getenv("CURSOR_VERSION") != "" {
		// Cursor also runs the hooks that are set up for Claude Code, but reads its
		// own form of answers. The session is the same, so that of two hooks that
		// are asked about one prompt only the first answers.
		client = hook.Cursor
	}
	e, err := hook.Decode(client, data)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(e.Dir); err == nil && info.IsDir() {
		h.dir = e.Dir
	}
	for _, l := range e.Loads {
		h.memory.Load(ctx, e.Session, l.Name, l.Path)
	}
	if offers, prompts := e.Forgets(); offers {
		h.memory.Forget(ctx, e.Session, prompts)
	}
	if !e.Asks {
		return nil, nil
	}
	text, err := h.text(ctx, &e)
	return e.Answer(text), err
}

// text returns what the model should see, "" for nothing.
func (h *hookRun) text(ctx context.Context, e *hook.Event) (string, error) {
	c, err := h.openIn(ctx)
	if err != nil {
		return "", err
	}
	ready, err := h.ready(ctx, c)
	if h.stale.Load() == nil {
		defer c.Close() // which waits for a rescan
	}
	if !ready {
		return "", err
	}
	if e.Kind == hook.Start {
		return h.introduction(ctx, c)
	}
	budget := repertoire.Budget{Chars: e.Room(), Server: h.server, ListPinned: true}
	if h.client == hook.Gemini {
		budget.Format = contextprovider.Markdown // it escapes angle brackets itself
	}
	block, err := h.memory.Suggest(ctx, c, session.Prompt{Session: e.Session, Turn: e.Turn, Text: e.Prompt}, budget, c.agent)
	if err != nil {
		return "", err
	}
	return block.Text, nil
}

// openIn opens the catalog of the event's project. Embedder and reranker share
// most of the time, so that text can answer when they are late.
func (h *hookRun) openIn(ctx context.Context) (*catalog, error) {
	cfg, err := h.readConfig()
	if err != nil {
		return nil, err
	}
	rest := time.Until(h.end) * 3 / 5
	if cfg.Reranker != nil {
		rest /= 2
		cfg.RerankDeadline = sooner(cfg.RerankDeadline, rest)
	}
	cfg.Deadline = sooner(cfg.Deadline, rest)
	return h.openWith(ctx, cfg)
}

// sooner returns the lesser of a configured deadline, if there is one, and most.
func sooner(configured, most time.Duration) time.Duration {
	const usual = 250 * time.Millisecond
	if configured == 0 {
		configured = usual
	}
	return max(min(configured, most), time.Millisecond)
}

// ready reports whether the catalog can answer. It brings it up to date if a
// quarter of the time is enough, and else leaves that to a process behind.
func (h *hookRun) ready(ctx context.Context, c *catalog) (bool, error) {
	if c.Glance(ctx, hurry).Current {
		return true, nil
	}
	db := c.Path()
	h.stale.Store(&db)
	if _, err := os.Stat(db); err != nil {
		return false, nil
	}
	if indexed, err := c.Indexed(ctx); err != nil || !indexed {
		return false, err
	}
	// A writer may wait for another for longer than ctx allows.
	fresh := make(chan error, 1)
	bounded, cancel := context.WithTimeout(ctx, time.Until(h.end)/4)
	go func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				fresh <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := c.Rescan(bounded, nil)
		fresh <- err
	}()
	select {
	case err := <-fresh:
		if err == nil {
			h.stale.Store(nil)
		}
	case <-bounded.Done():
	}
	return true, nil
}

// introduction is what is told at the start of a session.
func (h *hookRun) introduction(ctx context.Context, c *catalog) (string, error) {
	var pinned []string
	n, _, err := c.Size(ctx)
	if c.agent != nil {
		pinned = c.agent.Pinned
		var list []repertoire.Entry
		list, err = c.List(ctx, c.agent, false)
		n = len(list)
	}
	if err != nil {
		return "", err
	}
	return contextprovider.Introduction(n, pinned, h.server, h.commandLine()), nil
}
