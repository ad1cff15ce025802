package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/chat"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/proposal"
)

// evalWriting holds the flags of "evals --write".
type evalWriting struct {
	on, yes bool
	limit   int
	model   config.Model
}

// evalsWritten is what "evals --write --json" prints.
type evalsWritten struct {
	Written []evals.Written `json:"written"`
	Left    int             `json:"left"`
}

func (w *evalWriting) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("write", pflag.ContinueOnError)
	f.BoolVar(&w.on, "write", false, "let your model write prompts, and propose them")
	f.IntVar(&w.limit, "limit", 20, "write for at most this `number` of skills")
	f.BoolVarP(&w.yes, "yes", "y", false, "with --write: do not ask")
	modelFlags(f, &w.model)
	return f
}

func (w *evalWriting) check() error {
	if w.limit < 1 {
		return atLeast("limit", w.limit, 1)
	}
	return nil
}

// run lets the model write evals for the skill that args name, or for those without any.
func (w *evalWriting) run(ctx context.Context, s *session, command string, args []string) error {
	if err := s.needFolders(command); err != nil {
		return err
	}
	model, err := s.model(w.model, command)
	if err != nil {
		return err
	}
	asked, err := modelOf(model)
	if err != nil {
		return err
	}
	c, err := s.openFresh(ctx, freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	desk, err := ownersDesk(s, c)
	if err != nil {
		return err
	}
	box, err := boxOf(desk)
	if err != nil {
		return err
	}
	writer := &evals.Writer{Library: c.Catalog, Box: box, Who: c.who(), Model: asked, Name: model.Model}
	out := evalsWritten{Written: []evals.Written{}}
	var list []repertoire.Entry
	if len(args) == 1 {
		e, err := c.Lookup(ctx, args[0], c.agent)
		if err != nil {
			return err
		}
		list = append(list, e)
	} else if list, out.Left, err = w.lacking(ctx, s, writer); err != nil {
		return err
	}
	if len(list) > 0 {
		s.note("asking %s about %s: %d to %d calls", whereIs(model), count(len(list), "skill"), len(list), 2*len(list))
		if len(args) == 0 && !s.confirmed(w.yes, "go on?") {
			return errReported
		}
	}
	failed := false
	err = writer.Write(ctx, list, func(one evals.Written) {
		failed = failed || one.Error != ""
		if out.Written = append(out.Written, one); !s.json {
			printWritten(s.screen, &one)
		}
	})
	if len(args) == 0 {
		out.Left += len(list) - len(out.Written)
	}
	if err != nil && ctx.Err() == nil {
		failed = true
		fmt.Fprintf(s.stderr, "skills: %s\n", message(chat.Problem(err)))
		if advice := chat.Advice(err, model); advice != "" {
			fmt.Fprintf(s.stderr, "skills: hint: %s\n", advice)
		}
		err = nil
	}
	if s.json {
		err = errors.Join(err, s.printJSON(out))
	} else if out.Left > 0 {
		s.note("%s without evals left; \"skills evals --write\" goes on with them", count(out.Left, "skill"))
	}
	if err != nil {
		return err
	}
	return reportedIf(failed)
}

// lacking returns the skills to write evals for, and how many are left for another time.
func (w *evalWriting) lacking(ctx context.Context, s *session, writer *evals.Writer) ([]repertoire.Entry, int, error) {
	l, err := writer.Lacking(ctx, func(err error) { s.note("%s", messageOf(err)) })
	if l.Waiting > 0 {
		s.note("%s without evals left out, because a proposal waits: \"skills proposals\" lists them", count(l.Waiting, "skill"))
	}
	if l.Locked > 0 {
		s.note("%s without evals left out, because they are compiled in or fetched: \"skills evals --write NAME\" writes for one of them", count(l.Locked, "skill"))
	}
	if err == nil && len(l.Skills) == 0 {
		s.note("no other skill is without evals")
	}
	n := min(w.limit, len(l.Skills))
	return l.Skills[:n], len(l.Skills) - n, err
}

// printWritten prints what became of one skill.
func printWritten(ui *screen, w *evals.Written) {
	if w.Error != "" {
		fmt.Fprintf(ui.stderr, "skills: %s\n", message(w.Skill+": "+w.Error))
		return
	}
	for _, l := range w.LeftOut {
		ui.note("%s: left out: %q %s", w.Skill, l.Prompt, l.Reason)
	}
	if w.Locked != "" {
		ui.note("%s: %s", w.Skill, w.Locked)
	}
	wanted := evals.Wanted(w.Prompts)
	text := lineOf("%s: %s that should lead to it and %d that should not, kept as %s; \"skills proposals show %s\" shows them.",
		w.Skill, count(wanted, "prompt"), len(w.Prompts)-wanted, w.Proposal, w.Proposal)
	if w.State == proposal.StateRejected {
		text = lineOf("%s: the same was rejected as %s", w.Skill, w.Proposal)
	}
	fmt.Fprint(ui.stdout, ui.named(text))
}
