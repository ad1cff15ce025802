package trial

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/source"
)

// enough is how long a hook may take when it is checked: its own deadline would turn a slow
// answer into none, and nobody could tell how slow it is.
const enough = 5 * time.Second

// starting is how long a hook takes at most until it has the event, when its deadline starts.
const starting = 200 * time.Millisecond

// limit is how long one command may take.
const limit = 10 * time.Second

// A Sample is a prompt that a catalog has an answer for.
type Sample struct {
	Prompt string   // "" means one that needs no skill
	Flags  []string // which choose the catalog and the agent
	Skills []string // names of the skills that are offered; nil means that none is expected
}

// SampleFor returns a sample for an agent; nil means all agents.
func SampleFor(ctx context.Context, c *repertoire.Catalog, a *repertoire.Agent, flags []string) (Sample, error) {
	s := Sample{Flags: flags}
	entries, err := c.List(ctx, a, nil)
	if err != nil {
		return s, err
	}
	bundled := func(e repertoire.Entry) int { // a skill of the user says more
		if e.Source == source.KindBundled {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(entries, func(a, b repertoire.Entry) int { return bundled(a) - bundled(b) })
	const most = 5 // skills that are looked at: nearly any is offered when it is named
	for _, e := range entries[:min(len(entries), most)] {
		about, _, _ := strings.Cut(tidy.Line(e.Description), ". ")
		prompt := fmt.Sprintf("Use the skill %q: %.100s", e.Name, about)
		block, err := c.Block(ctx, prompt, repertoire.Budget{Chars: client.Room, Command: "skills", ListPinned: true, Offer: contextprovider.Relevant}, a)
		if err != nil {
			return s, err
		}
		if len(block.Skills) > 0 {
			s.Prompt = prompt
			for _, hit := range block.Skills {
				s.Skills = append(s.Skills, hit.Name)
			}
			return s, nil
		}
	}
	return s, nil
}

// Check runs the registered commands of some clients, several at once, and sets the Answer of
// each. What is gone or may not be run has none.
func Check(ctx context.Context, env *setup.Env, statuses []setup.Status, s Sample) {
	s.Prompt = cmp.Or(s.Prompt, "Thank you.")
	type entry struct {
		client client.Client
		*setup.Registration
	}
	var entries []entry
	for _, st := range statuses {
		for i := range st.Registrations {
			if r := &st.Registrations[i]; !r.Gone && env.MayRun(*r) == nil {
				entries = append(entries, entry{st.Client, r})
			}
		}
	}
	try := func(e entry) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if e.Kind == setup.MCP {
			e.Answer = tryServer(ctx, *e.Registration)
		} else {
			e.Answer = s.tryHook(ctx, env, e.client, *e.Registration)
		}
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	for _, e := range entries {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			try(e)
		})
	}
	all.Wait()
	for _, e := range entries {
		if e.Answer.Late { // perhaps only because of the others
			try(e)
		}
	}
}

// tryHook sends the sample to a hook.
func (s Sample) tryHook(ctx context.Context, env *setup.Env, c client.Client, r setup.Registration) *setup.Answer {
	again := fmt.Sprintf("%q registers it anew", "skills setup "+c.Name+" --hook")
	if !r.Asks(c.Hook) {
		return &setup.Answer{Problem: "it is not registered for the event with which " + c.Title + " asks for skills", Hint: again}
	}
	e := event.Event{Kind: client.Start, Prompt: s.Prompt, Session: "trial", Turn: "1", Source: "startup"}
	if asks(c) {
		e.Kind = client.Prompt
	}
	e.Dir, _ = os.Getwd() // without one the event names none
	got, err := callHook(ctx, env, c, r, e, enough.String(), nil)
	if err != nil {
		return &setup.Answer{Problem: err.Error()}
	}
	failure := got.failure()
	if strings.Contains(r.Line, " --url ") {
		again = elsewhere(failure)
	}
	a := &setup.Answer{TookMS: got.took.Milliseconds(), Hint: again}
	switch {
	case isRefusal(failure):
		a.Problem, a.Refused = failure, true
	case ctx.Err() != nil:
		a.Problem = fmt.Sprintf("it has not answered within %v", limit)
	case got.err != nil:
		a.Problem = got.ending()
	case failure != "":
		a.Problem = failure
	case got.wrong != nil:
		a.Problem = got.wrong.Error() + got.stdout.printed()
	case got.told == "" && len(s.Skills) > 0 && slices.Equal(r.Flags(), s.Flags): // the sample is for its catalog and agent
		a.Problem, a.Hint = fmt.Sprintf("it says nothing to a prompt for which the catalog has %s%s", s.Skills[0], got.stderr.printed()), `run "skills why SKILL PROMPT"`
	default:
		a.OK, a.Hint, a.Late = true, "", got.took > starting+cmp.Or(duration(got.report.DeadlineMS), hook.Deadline)
		for _, o := range got.report.Skills {
			a.Offered = append(a.Offered, o.Name)
		}
	}
	return a
}
