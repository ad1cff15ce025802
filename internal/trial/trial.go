// Package trial runs what setup has registered in agent clients as the clients run it, hooks
// and MCP servers, and says in words what came of it: whether they answer, what a model would
// be told for a prompt, or why nothing.
//
// The one rule: a trial leaves no trace. It only runs what setup.Env.MayRun allows, it ends
// what it started, and a hook that finds the variable Var remembers no session, counts no use
// of a skill and starts no index.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// patience is how much time a hook that was late gets the second time, to learn what it
// would have said.
const patience = 30 * time.Second

// Options of Run.
type Options struct {
	Env      *setup.Env
	Hook     Hook          // which hook
	Prompt   string        // what the user would type
	Dir      string        // the working folder, absolute
	Flags    []string      // which follow those of the hook
	Deadline time.Duration // 0 means the deadline of the hook
	Session  string        // in which the prompt is asked, as it is remembered; "" means a new one
}

// A Trial is a result with what is said of it.
type Trial struct {
	report
	hook Hook
}

// Run tries a prompt: it runs the hook as the client does. Whatever is wrong with the answer is
// in the result; it is an error if the hook cannot be run.
func Run(ctx context.Context, o Options) (*Trial, error) {
	if strings.TrimSpace(o.Prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	a, err := o.call(ctx, o.Deadline)
	if err != nil {
		return nil, err
	}
	deadline := cmp.Or(o.Deadline, duration(a.report.DeadlineMS))
	late := len(a.stdout.text) == 0 && a.report.TookMS >= figures.Milliseconds(deadline-deadline/10)
	if late {
		if a, err = o.call(ctx, max(patience, deadline)); err != nil {
			return nil, err
		}
	}
	t := &Trial{a.report, o.Hook}
	t.Session, t.Prompt, t.Text, t.Tokens, t.Late, t.DeadlineMS = o.Session, o.Prompt, a.told, words.Tokens(a.told), late, figures.Milliseconds(deadline)
	if !o.Hook.Any {
		t.Client = o.Hook.Client.Name
	}
	if reg := o.Hook.Registered; reg != nil {
		t.SetUp, t.File, t.Command, t.Gone = true, reg.File, reg.Words, reg.Gone
	}
	for _, l := range a.log {
		t.Problems = append(t.Problems, l.message+": "+l.cause)
	}
	if a.wrong != nil {
		t.Problems = append(t.Problems, a.wrong.Error())
	}
	switch {
	case t.Text != "":
		t.Outcome = Offered
	case a.failure() != "":
		t.Outcome = Failed
	}
	return t, nil
}

// call runs the hook once. 0 means its own deadline.
func (o *Options) call(ctx context.Context, deadline time.Duration) (*call, error) {
	ctx, cancel := context.WithTimeout(ctx, max(patience, deadline)+limit)
	defer cancel()
	e := event.Event{Kind: client.Prompt, Prompt: o.Prompt, Session: cmp.Or(o.Session, "trial"), Turn: "1", Dir: o.Dir}
	a, err := callHook(ctx, o.Env, o.Hook.Client, o.Hook.run, e, deadline.String()+explained, o.Flags)
	switch {
	case err != nil:
	case a.err != nil:
		err = errors.New(a.ending())
	case a.report.Outcome == "":
		err = errors.New("it does not say why it answers as it does: its program is of another version")
	}
	if reg := o.Hook.Registered; err != nil && reg != nil {
		err = fmt.Errorf("the command of the hook in %s: %w", reg.File, err)
	}
	return a, err
}

// OK reports whether the client gets what the hook says.
func (t *Trial) OK() bool {
	return !t.Late && !t.Gone && (t.Outcome == Offered || t.Outcome == Nothing)
}

// A Hook is a client with its hook for prompts.
type Hook struct {
	Client client.Client
	// Registered is the entry with the hook in the settings of the client; nil means that
	// there is none.
	Registered *setup.Registration
	// Any means that no client was named and none is set up: what any client would be told.
	Any bool
	// Ignored says why the flags of the entry do not hold; nil means that they do, or that
	// there are none.
	Ignored error

	run setup.Registration // what is run: the entry, or else the hook of this program
}

// Split splits the arguments of a command into the name of a client and the words of a
// prompt. The first one names a client only if others follow: a prompt in quotes, which is
// one argument, can begin with any word.
func Split(args []string) (name string, prompt []string) {
	if len(args) > 1 {
		if _, ok := client.Find(args[0]); ok {
			return args[0], args[1:]
		}
	}
	return "", args
}

// Choose returns the hook of a client; "" means the first client whose hook is set up.
func Choose(env *setup.Env, all []setup.Status, name string) (Hook, error) {
	if name != "" && !slices.Contains(Clients(), name) {
		c, _ := client.Find(name)
		return Hook{}, fmt.Errorf("%s asks for no skills when a prompt is sent; these do: %s", c.Title, strings.Join(Clients(), ", "))
	}
	for _, st := range all {
		for _, r := range st.Registrations {
			if r.Kind == setup.Hook && asks(st.Client) && (name == "" || name == st.Client.Name) {
				h := Hook{Client: st.Client, Registered: &r}
				h.choose(env)
				return h, nil
			}
		}
	}
	h := Hook{Any: name == ""}
	h.Client, _ = client.Find(name)
	if h.Any {
		h.Client, _ = client.Find(Clients()[0])
	}
	h.choose(env)
	return h, nil
}

// choose chooses what is run. The hook of this program takes the place of what is not there or
// may not be run. A stranger's flags could name a configuration, and so a server that gets the
// prompt.
func (h *Hook) choose(env *setup.Env) {
	h.run = setup.Registration{Kind: setup.Hook, Words: []string{env.Program, "hook", h.Client.Hook.Arg}}
	r := h.Registered
	if r == nil {
		return
	}
	switch why := env.MayRun(*r); {
	case why == nil && !r.Gone:
		h.run = *r
	case why != nil && r.Scope == client.Project && len(r.Flags()) > 0:
		h.Ignored, r.Words = why, []string{r.Words[0], "hook", h.Client.Name}
	default:
		h.run.Words = append([]string{env.Program}, r.Words[1:]...)
	}
}

// Clients returns the names of the clients that call a hook with each prompt.
func Clients() []string {
	var list []string
	for _, c := range client.All() {
		if asks(c) {
			list = append(list, c.Name)
		}
	}
	return list
}

// asks reports whether a client calls a hook with each prompt.
func asks(c client.Client) bool {
	if c.Hook == nil {
		return false
	}
	_, ok := c.Hook.Event(client.Prompt)
	return ok
}

// Deadline returns the deadline of a hook with a deadline of its own for a value of Var; ok is
// false if a client calls the hook.
func Deadline(value string, own time.Duration) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(strings.TrimSuffix(value, explained))
	return cmp.Or(d, own), err == nil
}
