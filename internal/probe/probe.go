// Package probe runs the commands that setup has registered in clients as the clients run
// them, and says whether they answer.
//
// The one rule: a probe leaves no trace. It only runs what setup.Env.MayRun allows, it ends
// what it started, and a hook that finds the variable Var remembers nothing.
package probe

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
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
)

// Var is set in the environment of a hook that is tried. Such a hook remembers no session,
// notes no use, starts nothing in the background, takes up to Deadline, and writes its log
// to standard error.
const Var = "REPERTOIRE_PROBE"

// Deadline is how long a hook may take when it is tried: its own deadline would turn a slow
// answer into none, and nobody could tell how slow it is.
const Deadline = 5 * time.Second

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
		about, _, _ := strings.Cut(words.Line(e.Description), ". ")
		prompt := fmt.Sprintf("Use the skill %q: %.100s", e.Name, about)
		block, err := c.Block(ctx, prompt, repertoire.Budget{Chars: client.Room, ListPinned: true}, a)
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

// Run runs the registered commands of some clients, several at once, and sets the Answer of
// each. What is gone or may not be run has none.
func Run(ctx context.Context, env *setup.Env, statuses []setup.Status, s Sample) {
	s.Prompt = cmp.Or(s.Prompt, "Thank you.")
	try := func(c client.Client, r *setup.Registration) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		a := s.try(ctx, env, c, *r)
		r.Answer = &a
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	each(statuses, func(c client.Client, r *setup.Registration) {
		if r.Gone || env.MayRun(*r) != nil {
			return
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			try(c, r)
		})
	})
	all.Wait()
	each(statuses, func(c client.Client, r *setup.Registration) {
		if r.Answer != nil && r.Answer.Late { // perhaps only because of the others
			try(c, r)
		}
	})
}

func each(statuses []setup.Status, do func(client.Client, *setup.Registration)) {
	for _, st := range statuses {
		for i := range st.Registrations {
			do(st.Client, &st.Registrations[i])
		}
	}
}

func (s Sample) try(ctx context.Context, env *setup.Env, c client.Client, r setup.Registration) setup.Answer {
	if r.Kind == setup.MCP {
		return tryServer(ctx, r)
	}
	return s.tryHook(ctx, env, c, r)
}

// expects reports whether a command has the catalog and the agent of the sample, which has
// an answer for the prompt.
func (s Sample) expects(r setup.Registration) bool {
	return len(s.Skills) > 0 && slices.Equal(r.Flags(), s.Flags)
}

// environ returns the environment of a command: that of this process without what clients
// set for the hooks of others, and more variables.
func environ(more ...string) []string {
	list := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(client.All(), func(c client.Client) bool {
			return name == c.ProjectVar || c.Hook != nil && name == c.Hook.RunsVar
		})
	})
	return append(list, more...)
}

// output keeps the start of what a command prints.
type output struct{ text []byte }

const maxOutput = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.text = append(o.text, p[:min(len(p), maxOutput-len(o.text))]...)
	return len(p), nil
}

// printed returns the first lines of what a command printed, after a colon; "" if there is
// nothing.
func (o *output) printed() string {
	const most = 300 // runes
	text := []rune(words.Line(strings.TrimSpace(string(o.text))))
	switch {
	case len(text) == 0:
		return ""
	case len(text) > most:
		text = append(text[:most], '…')
	}
	return ": " + string(text)
}
