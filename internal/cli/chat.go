package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/chat"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/scripts"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/usage"
)

const chatHelp = `Chat talks with a model that uses your skills: it is told which ones fit each
prompt, loads and reads them, and runs their scripts inside walls. Lines on
standard error say what it does. Prompts, skills and the output of scripts go to
the server that you name, and nowhere else (but see --registries).

With PROMPT, or a prompt on standard input in a pipe, it answers once and ends.
On a terminal it goes on until Ctrl-D; Ctrl-C stops an answer; /help lists what
a chat can do beside talking.

The server speaks OpenAI's chat protocol, as local ones do (Ollama, LM Studio,
llama.cpp, vLLM). --base-url names its address, else $REPERTOIRE_BASE_URL, else
model.base_url of your configuration, else $OPENAI_BASE_URL. There is no
default: a key alone sends nothing. --model names the model, else
$REPERTOIRE_MODEL, else model.model. The key is in the variable that --key-env
names, else model.key_env (for the address that stands beside it only), else in
OPENAI_API_KEY if that is set; "-" sends no key. A project's configuration can
set none of these.

Before a script of a skill runs that comes with a project, or from a repository,
archive or site without "trusted: true", chat shows what it knows of the skill
and asks: once, always (until a file of the skill changes; "skills trust" lists
and forgets it), or no. Where nobody can be asked they do not run, unless --yes
is given.

{executors}

--workspace DIR lets scripts read a folder of yours, with --write also change
it. --no-scripts lets none run.

--registries lets the model look for skills in the registries of your
configuration, too: they get what it asks.

--transcript keeps the chat in a new file after each answer, as Markdown or JSON
(.md or .json).

Exit status: 1 if a prompt that was to be answered once was not.

--json prints a line for each event, and one for the answer or the error:
objects with one of event (time, kind, skills, what, exit, duration_ns, tokens,
error, unprotected), answer (text, iterations, usage with in and out, cut), or
error with hint.`

// chatFlags say how to chat.
type chatFlags struct {
	model             config.Model
	executor          executorChoice
	transcript        string
	iterations        int
	instructions, yes bool
	noScripts         bool
	registries        bool
	given             func(flag string) bool
}

func newChatCommand(e env) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "chat [PROMPT… | -]",
		Short:   "Talk with a model that uses your skills",
		Long:    strings.ReplaceAll(chatHelp, "{executors}", executorHelp),
		Example: "  skills chat --base-url http://127.0.0.1:11434/v1 --model qwen3\n  skills chat \"Fill in the form\" --workspace . --write\n  skills --agent writer chat --transcript notes.md",
		Args:    args(0, -1),
		PreRunE: e.checked(f.check),
		RunE:    func(cmd *cobra.Command, args []string) error { return runChat(cmd.Context(), e.session(cmd), &f, args) },
	}
	fl := cmd.Flags()
	modelFlags(fl, &f.model)
	fl.BoolVar(&f.instructions, "instructions", false, "for models without tool calls: let the model ask with tags")
	fl.IntVar(&f.iterations, "max-iterations", agent.DefaultIterations, "ask the model at most this `number` of times for a prompt")
	fl.BoolVar(&f.yes, "yes", false, "let all skills run their scripts without asking")
	fl.BoolVar(&f.noScripts, "no-scripts", false, "run no scripts")
	registriesFlag(fl, &f.registries)
	fl.StringVar(&f.transcript, "transcript", "", "keep the chat in this new `file`, .md or .json")
	f.executor.flags(cmd)
	f.executor.workspaceFlags(cmd)
	f.given = fl.Changed
	return cmd
}

// modelFlags adds the flags that name the model to ask.
func modelFlags(f *pflag.FlagSet, m *config.Model) {
	f.StringVar(&m.BaseURL, "base-url", "", "`address` of the server, up to /v1")
	f.StringVar(&m.Model, "model", "", "`name` of the model")
	f.StringVar(&m.KeyEnv, "key-env", "", "`variable` that holds the key (default OPENAI_API_KEY; - for no key)")
}

// modelOf returns what asks a model.
func modelOf(m config.Model) (*openai.Model, error) {
	return openai.New(openai.Config{BaseURL: m.BaseURL, Model: m.Model, KeyEnv: m.KeyEnv}, nil)
}

// model returns the model to ask. If flags and configuration name none, it says what to do for
// this command.
func (s *session) model(flags config.Model, command string) (config.Model, error) {
	settings, err := s.settings()
	if err != nil {
		return flags, err
	}
	m := settings.Model.Choose(flags)
	if missing := chat.Missing(m, command); missing != nil {
		for _, line := range missing {
			fmt.Fprintf(s.stderr, "skills: %s\n", message(line))
		}
		return m, errReported
	}
	return m, nil
}

func (f *chatFlags) check(s *session, args []string) error {
	switch {
	case f.iterations < 1:
		return atLeast("max-iterations", f.iterations, 1)
	case f.noScripts && (f.yes || f.given("executor") || f.given("workspace")):
		return errors.New("--no-scripts runs no scripts, so --yes, --executor and --workspace have nothing to say; leave one out")
	case s.json && len(args) == 0 && s.keyboard() != nil:
		return errors.New("--json needs a PROMPT, or a prompt on standard input")
	}
	return f.executor.check()
}

func runChat(ctx context.Context, s *session, f *chatFlags, args []string) error {
	var err error
	if f.model, err = s.model(f.model, "skills chat"); err != nil {
		return err
	}
	person := s.keyboard()
	if person == nil && len(args) == 0 {
		args = []string{"-"}
	}
	prompt, err := s.prompt(ctx, args)
	if err != nil {
		return err
	}
	once := len(args) > 0
	if once && strings.TrimSpace(prompt) == "" {
		return errors.New("the prompt is empty; give one as an argument or on standard input")
	}
	c, err := s.openFresh(ctx, freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	k, err := newChat(s, c, f, person)
	if err != nil {
		return err
	}
	if once {
		return reportedIf(!k.answer(ctx, prompt))
	}
	return k.talk(ctx)
}

// A chatter is one run of chat.
type chatter struct {
	*chatScreen
	catalog *catalog
	model   config.Model
	file    *chat.File  // nil means that no transcript is kept
	lines   *chat.Lines // nil means that nobody can be asked
	conv    *agent.Conversation

	log     *usage.Log
	session string
	stop    context.CancelFunc
}

// newChat returns a chat whose conversation is ready.
func newChat(s *session, c *catalog, f *chatFlags, person *os.File) (*chatter, error) {
	k := &chatter{chatScreen: newChatScreen(s.screen), catalog: c, model: f.model, log: usageOf(c.Catalog), session: rand.Text()}
	if person != nil && !s.json {
		k.lines = chat.NewLines(person, bare(s.stderr))
	}
	var err error
	if f.transcript != "" {
		if k.file, err = chat.NewFile(f.transcript); err != nil {
			return nil, fmt.Errorf("--transcript: %w", err)
		}
	}
	m, err := modelOf(f.model)
	if err != nil {
		return nil, err
	}
	cfg := agent.Config{Model: m, Catalog: c, Agent: c.agent, MaxIterations: f.iterations, Instructions: f.instructions, Observe: k.observe, Budget: contextprovider.Budget{Local: true}}
	if !f.noScripts {
		f.executor.set(&cfg)
	}
	if err := c.setFind(&cfg, f.registries); err != nil {
		return nil, err
	}
	if !f.yes {
		if cfg.Allow, err = k.gate(); err != nil {
			return nil, err
		}
	}
	g, err := agent.New(cfg)
	if err != nil {
		return nil, err
	}
	k.conv = g.NewConversation()
	return k, nil
}

// gate returns what decides whether scripts may run.
func (k *chatter) gate() (func(context.Context, contextprovider.Body, string) error, error) {
	g, err := k.catalog.gate("\"skills chat\" without a prompt asks the user about it on a terminal, and --yes lets all skills run their scripts")
	if err != nil {
		return nil, err
	}
	if k.lines != nil {
		g.Ask = k.ask
	}
	return g.Allow, nil
}

// gate returns what asks for trust before a script of a stranger runs.
func (c *catalog) gate(hint string) (*scripts.Gate, error) {
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	var lower []string
	cfg := c.Config()
	if cfg.Policy != nil {
		lower = cfg.Policy.Lower
	}
	return &scripts.Gate{Catalog: c, Scope: c.agent, Trusted: trust.Open(state), Foreign: scripts.Foreign(cfg.Sources, lower), Hint: hint}, nil
}

// answer answers a prompt, and reports whether there is an answer.
func (k *chatter) answer(ctx context.Context, prompt string) bool {
	ctx, k.stop = context.WithCancel(ctx)
	defer k.stop()
	a, err := k.conv.ChatStream(ctx, prompt, k.piece)
	k.end(&a, err)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		k.problem("stopped", "")
	default:
		k.problem(chat.Problem(err), chat.Advice(err, k.model))
	}
	if k.file != nil {
		if err := k.file.Write(k.conv.Transcript()); err != nil {
			k.problem(fmt.Sprintf("the transcript is not kept: %v", err), "")
		}
	}
	return err == nil
}

// observe shows an event, and notes it in the log of usage.
func (k *chatter) observe(e usage.Event) {
	k.event(e)
	e.Client, e.Session = "chat", k.session
	if k.catalog.agent != nil {
		e.Agent = k.catalog.agent.Name
	}
	if err := k.log.Add(e); err != nil {
		k.log = nil // one message is enough
		k.problem(err.Error(), "")
	}
}

// where says who answers.
func (k *chatter) where() string { return whereIs(k.model) }

// whereIs says which model answers, and where.
func whereIs(m config.Model) string {
	return fmt.Sprintf("%s at %s", m.Model, endpoint.Shown(m.BaseURL))
}
