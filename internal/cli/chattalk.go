package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/chat"
	"github.com/repertoire-skills/repertoire/internal/figures"
)

// talk reads prompts and commands from a terminal until the person ends the chat.
func (k *chatter) talk(parent context.Context) error {
	i, end := newInterrupts(parent)
	defer end()
	k.mu.Lock()
	k.aside("%s; /help lists the commands, Ctrl-D ends", k.where())
	k.mu.Unlock()
	for {
		line, err := k.next(i)
		switch {
		case i.whole.Err() != nil:
			return errReported
		case errors.Is(err, chat.ErrInterrupted):
			k.mu.Lock()
			k.aside("Ctrl-D ends the chat")
			k.mu.Unlock()
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading what you type: %w", err)
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if quit := k.obey(i, line); quit {
			return nil
		}
		if i.whole.Err() != nil {
			return errReported
		}
	}
}

// next reads a line.
func (k *chatter) next(i *interrupts) (string, error) {
	ctx, done := i.step()
	defer done()
	line, err := k.lines.Read(ctx, "> ")
	if err != nil && ctx.Err() != nil && i.whole.Err() == nil {
		fmt.Fprintln(k.ui.stderr)
		err = chat.ErrInterrupted
	}
	return line, err
}

// obey does what a line says, and reports whether the chat is over.
func (k *chatter) obey(i *interrupts, line string) (quit bool) {
	ctx, done := i.step()
	defer done()
	c, ok, err := chat.ParseCommand(line)
	switch {
	case err != nil:
	case !ok:
		if err = k.catalog.session.refresh(ctx, k.catalog, freshen); err == nil {
			k.answer(ctx, line)
		}
	case c.Name == "quit":
		return true
	case c.Name == "help":
		err = k.ui.printText(chat.Help)
	case c.Name == "skills":
		err = k.printSkills()
	case c.Name == "save":
		if err = chat.Save(c.Argument, k.conv.Transcript()); err == nil {
			k.ui.note("the chat is in %s", c.Argument)
		}
	case c.Name == "compact":
		err = k.compact(ctx)
	}
	if err != nil {
		k.problem(err.Error(), "")
	}
	return false
}

// compact shortens the conversation, and says what is gone.
func (k *chatter) compact(ctx context.Context) error {
	c, err := chat.Compact(ctx, k.conv)
	if err != nil {
		return err
	}
	k.ui.note("the chat is shortened from %s to %s", figures.Thousands(c.Before), count(c.After, "token"))
	if len(c.Forgotten) > 0 {
		k.ui.note("no longer loaded: %s", strings.Join(c.Forgotten, ", "))
	}
	return nil
}

// printSkills prints what the chat did with skills.
func (k *chatter) printSkills() error {
	uses := k.conv.Transcript().Skills
	if len(uses) == 0 {
		k.ui.note("no skill was offered or loaded yet")
		return nil
	}
	return k.ui.rows([]string{"SKILL", "OFFERED", "LOADED", "FILES READ", "RUNS", "FAILED", "TOKENS"}, mapped(uses, func(u agent.SkillUse) []string {
		return cells(u.Skill, u.Offered, u.Loaded, u.Read, u.Ran, u.Failed, u.Tokens())
	}))
}

// interrupts let Ctrl-C end one step of a chat, and other signals the whole of it.
type interrupts struct {
	whole context.Context

	mu   sync.Mutex
	stop context.CancelFunc // of the step; nil between steps
}

// newInterrupts takes over the signals of the process. parent ends with the first signal,
// which for a chat is too early.
func newInterrupts(parent context.Context) (i *interrupts, end func()) {
	whole, cancel := context.WithCancel(context.WithoutCancel(parent))
	i = &interrupts{whole: whole}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-whole.Done():
				return
			case s := <-signals:
				if s != os.Interrupt {
					cancel()
				}
				i.interrupt()
			}
		}
	}()
	return i, func() {
		signal.Stop(signals)
		cancel()
	}
}

func (i *interrupts) interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		i.stop()
	}
}

// step returns the context of what is done next.
func (i *interrupts) step() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(i.whole)
	i.mu.Lock()
	i.stop = cancel
	i.mu.Unlock()
	return ctx, func() {
		i.mu.Lock()
		i.stop = nil
		i.mu.Unlock()
		cancel()
	}
}
