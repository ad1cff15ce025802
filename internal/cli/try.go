package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/trial"
)

const tryHelp = `Try shows what the model of a client would be told for a prompt, or why nothing.
It calls the hook as it is set up for CLIENT, with its flags, and says in words
which skills are offered, how likely each is wanted, and how long it took
against the deadline; for nothing, how the prompt compares with prompts that
need no skill, which skills are nearest, and the words that they lack. --raw
prints just the text that the model is told.

Without CLIENT it is the first client whose hook is set up. The first argument
is the name of a client only if another one follows: put a prompt in quotes.
With - the prompt is read from standard input. A trial is no session and counts
as no use; it starts no index. With --session, the prompt is asked in a session
that a client has, as the hook would there: without what the session was offered
before, and a follow-up with the prompt before it. The session stays as it is.
Flags of this command come after those of the hook. The exit status is 1 if the
hook cannot be run, fails, is late, or has no complete index; with --skill, if a
file of evals cannot be used.

With --skill, try asks each prompt of the skill's evals instead: is the skill
offered, lost to another one, or is the prompt below the rate, that is, does it
look as if it needs no skill? It also names the words of the prompt that the
skill lacks. "skills help evals" describes them; "skills evals" does this for
all skills.

--json prints an object with
  client     the name of the client; "" if none was given and none is set up
  set_up     whether its hook is in its settings, then in file, as command;
             gone: the program of the command does not exist
  prompt     the prompt
  session    in which it was asked, if any
  follows    the skills are for it together with the prompt before it
  outcome    offered, nothing, not built (there is no complete index) or failed
  text       what the model is told, with tokens, their estimated number
  skills     a list of id, name, probability, path, pinned, required_by
  omitted    number of relevant skills for which there was no room
  in_scope   number of skills that were searched; a server does not tell
  took_ms    from the event to the answer, against deadline_ms
  late       the client got nothing; the rest is of a second call with more time
  problems   what the hook warned of
  nearest    if no skill is offered: a list of id, probability, missing (words
             of the prompt that are nowhere in the skill), body_only (words that
             only its instructions have), advice (words that its description
             needs), known (it fits, and the session was offered it before)
  background prompts that need no skill: prompts (how many were ranked in this
             catalog), higher (how many score higher), offered (how many get an
             offer), missing (why none); and unfit: the same of prompts that
             need one which is not there, without the near that a skill here
             may fit
  and mode, partial, unread, kind, demand, threshold, disturb, unfit_rate and
  reading (typed, english) as in "context --json"
and with --skill an object with id, path, summary, triggers (proposed for the
prompts that fail), unusable (path, line, reason), among (numbers of skills that
they were asked among, of catalog, folders and invented) and
  prompts    a list of id, skill, prompt, should_trigger, right (as its author
             wants), result (offered, lost, below, kind or hidden), lost_to,
             demand, threshold, missing, verdict, by_search (only you start
             the skill, so that result says what a search finds) and
             lost_to_invented`

// tryFlags are the flags of try.
type tryFlags struct {
	skill    string
	text     bool
	session  string        // "" means a new one
	deadline time.Duration // 0 means the deadline of the hook
}

func newTryCommand(e env) *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use:               "try [CLIENT] PROMPT… | --skill NAME | -",
		Short:             "Show what a client's model would be told for a prompt",
		Long:              tryHelp,
		Example:           "  skills try \"The totals in this spreadsheet are wrong\"\n  skills try claude \"fill in the W-9\"\n  skills try --skill pdf-forms",
		Args:              f.args,
		ValidArgsFunction: arguments(anyFile(), oneOfThese(trial.Clients)),
		RunE: e.run(func(ctx context.Context, s *session, args []string) error {
			if f.skill != "" {
				return trySkill(ctx, s, f.skill, nil)
			}
			return runTry(ctx, s, args, f)
		}),
	}
	cmd.Flags().StringVar(&f.skill, "skill", "", "try the prompts in the evals of the skill `name`")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 0, "answer within this `time` instead of the deadline of the hook")
	cmd.Flags().StringVar(&f.session, "session", "", "ask in "+sessionHelp)
	cmd.Flags().BoolVar(&f.text, "raw", false, "print only the text that the model is told")
	return cmd
}

// args checks the arguments.
func (f *tryFlags) args(cmd *cobra.Command, args []string) error {
	switch {
	case cmd.Flags().Changed("skill") && f.skill == "":
		return &usageError{cmd.CommandPath(), errors.New("--skill is empty")}
	case f.deadline < 0:
		return &usageError{cmd.CommandPath(), errors.New("--deadline is more than 0")}
	case f.skill != "" && (len(args) > 0 || f.text || f.session != ""):
		return &usageError{cmd.CommandPath(), errors.New("--skill takes its prompts from the evals of the skill, so leave PROMPT, --raw and --session out")}
	case f.skill == "" && len(args) == 0:
		return &usageError{cmd.CommandPath(), fmt.Errorf("PROMPT is missing. Usage: %s", cmd.UseLine())}
	}
	return nil
}

func runTry(ctx context.Context, s *session, args []string, f tryFlags) error {
	name, words := trial.Split(args)
	prompt, err := s.prompt(ctx, words)
	if err != nil {
		return err
	}
	env, err := s.setupEnv("")
	if err != nil {
		return err
	}
	h, err := trial.Choose(env, setup.Scan(env), name)
	if err != nil {
		return err
	}
	if h.Ignored != nil {
		s.note("the flags of the hook in %s are left out: %v", h.Registered.File, h.Ignored)
	}
	if f.session != "" {
		in, err := remembered(f.session)
		if err != nil {
			return err
		}
		f.session = in.ID
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r, err := trial.Run(ctx, trial.Options{Env: env, Hook: h, Prompt: prompt, Dir: dir, Flags: env.Flags, Deadline: f.deadline, Session: f.session})
	if err != nil {
		return err
	}
	switch {
	case s.json:
		err = s.printJSON(r.Result)
	case f.text && !r.OK():
		_, err = io.WriteString(s.stderr, r.Say(cmp.Or(s.name, ownName)))
	case f.text:
		_, err = io.WriteString(s.exact(), r.Text)
	default:
		_, err = io.WriteString(s.stdout, r.Say(cmp.Or(s.name, ownName)))
	}
	if err == nil && !r.OK() {
		err = errReported
	}
	return err
}
