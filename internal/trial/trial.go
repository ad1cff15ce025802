// Package trial tries a prompt without an agent client: it calls the client's hook as the
// client does, and says in words what the model would be told, or why nothing.
//
// The one rule: a trial leaves nothing behind. It is no session, it counts as no use of a
// skill, and it starts no index.
package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
)

// patience is how much time a hook that was late gets the second time, to learn what it
// would have said.
const patience = 30 * time.Second

// Options of Run.
type Options struct {
	Hook   Hook   // which hook
	Prompt string // what the user would type
	Dir    string // the working folder, absolute
	// Call has the fields of the hook's call that its command decides: Deadline, Server,
	// Ask, Agent, Open and Command. Run sets the others.
	Call hook.Call
}

// Run tries a prompt. Whatever is wrong with the hook is in the result, not an error.
func Run(ctx context.Context, o Options) (*Trial, error) {
	if strings.TrimSpace(o.Prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	e := event.Event{Kind: client.Prompt, Prompt: o.Prompt, Session: "trial", Turn: "1", Dir: o.Dir}
	sample, err := event.Sample(o.Hook.Client.Name, e)
	if err != nil {
		return nil, err
	}
	r := newTrial(&o)
	deadline := o.Call.Deadline
	a := attemptHook(ctx, o.Call, o.Hook.Client.Hook.Arg, sample)
	if r.Late = a.late(deadline); r.Late { // that call may still run, so its catalog stays open
		o.Call.Deadline = max(patience, deadline)
		a = attemptHook(ctx, o.Call, o.Hook.Client.Hook.Arg, sample)
	}
	defer a.close()
	r.tell(a)
	if r.Text, err = event.Told(o.Hook.Client.Name, e, a.out.Bytes()); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	return r, errors.Join(r.explain(ctx, a), ctx.Err())
}

// An attempt is one call of a hook, with what it did on the way.
type attempt struct {
	out  bytes.Buffer
	took time.Duration
	log  log

	mu      sync.Mutex // a hook that is late goes on in a goroutine
	ended   bool       // nobody waits for the hook any more
	catalog hook.Catalog
	agent   *repertoire.Agent
	block   *repertoire.Block // the answer of the catalog; nil if it was not asked
	server  *api.Suggestion   // the answer of a server; nil if none was asked, or it has not answered
}

// attemptHook calls a hook.
func attemptHook(ctx context.Context, c hook.Call, arg string, sample []byte) *attempt {
	a := &attempt{}
	open := c.Open
	c.Open = func(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		catalog, agent, err := open(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		return a.watch(catalog, agent), agent, nil
	}
	if ask := c.Ask; ask != nil {
		c.Ask = func(ctx context.Context, p api.Prompt) (*api.Suggestion, error) {
			s, err := ask(ctx, p)
			a.mu.Lock()
			defer a.mu.Unlock()
			if err == nil && !a.ended {
				a.server = s
			}
			return s, err
		}
	}
	c.Arg, c.Stdin, c.Stdout, c.Verbose, c.Log = arg, bytes.NewReader(sample), &a.out, io.Discard, &a.log
	c.StateDir = func() (string, error) { return "", nil }
	c.Getenv = func(string) string { return "" } // the variables of a client that happens to run this program
	c.Index, c.Usage = nil, nil
	start := time.Now()
	hook.Run(ctx, c)
	a.took = time.Since(start)
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	return a
}

// late reports whether the hook gave up because of its deadline.
func (a *attempt) late(deadline time.Duration) bool {
	return a.out.Len() == 0 && a.took >= deadline-deadline/10
}

// watch returns a catalog that notes what it is asked, and stays open when the hook closes
// it.
func (a *attempt) watch(c hook.Catalog, agent *repertoire.Agent) hook.Catalog {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.catalog, a.agent = c, agent
	}
	return &watched{c, a}
}

// close closes the catalog, if the hook has come so far.
func (a *attempt) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.catalog != nil {
		a.catalog.Close() // ignore the error: a trial only reads
	}
}

// watched is a catalog of an attempt.
type watched struct {
	hook.Catalog
	attempt *attempt
}

func (w *watched) Block(ctx context.Context, prompt string, b repertoire.Budget, agent *repertoire.Agent) (repertoire.Block, error) {
	block, err := w.Catalog.Block(ctx, prompt, b, agent)
	w.attempt.mu.Lock()
	defer w.attempt.mu.Unlock()
	if err == nil && !w.attempt.ended {
		w.attempt.block = &block
	}
	return block, err
}

// Close leaves the catalog to the attempt.
func (w *watched) Close() error { return nil }

// asked is the part of *repertoire.Catalog that says why.
type asked interface {
	Search(ctx context.Context, q repertoire.Query) (repertoire.Answer, error)
	Why(ctx context.Context, id string, q repertoire.Query) (repertoire.Explanation, error)
}

// nearest returns the skills that are nearest to a prompt which got none.
func (a *attempt) nearest(ctx context.Context, prompt string) ([]Near, error) {
	c, ok := a.catalog.(asked)
	if !ok {
		return nil, nil
	}
	q := repertoire.Query{Text: prompt, Limit: most, Agent: a.agent}
	answer, err := c.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("looking for the nearest skills: %w", err)
	}
	var list []Near
	for _, h := range answer.Hits {
		why, err := c.Why(ctx, h.ID, q)
		if err != nil {
			return nil, fmt.Errorf("asking about %s: %w", h.ID, err)
		}
		list = append(list, nearOf(prompt, why))
	}
	return list, nil
}
