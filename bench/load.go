package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/apiclient"
	"github.com/repertoire-skills/repertoire/internal/client"
)

// LoadOptions of MeasureLoad. All fields but Agent are needed.
type LoadOptions struct {
	Client   *apiclient.Client // of the server
	Agent    string            // that asks; "" means no agent, so all skills count
	Prompts  []string          // asked in turn
	Clients  int               // that ask at a time, each as soon as it has its answer
	Duration time.Duration
}

// loadTimeout is how long a request may take. One that takes longer has failed.
const loadTimeout = 10 * time.Second

// A Load says how a server answers many clients.
type Load struct {
	Clients  int         `json:"clients"`
	Prompts  int         `json:"prompts"` // different ones
	Seconds  float64     `json:"seconds"`
	Requests int         `json:"requests"`
	Failed   int         `json:"failed"`
	PerS     float64     `json:"per_s"` // answers
	Offered  float64     `json:"offered"`
	P50MS    float64     `json:"p50_ms"`
	P99MS    float64     `json:"p99_ms"`
	P999MS   float64     `json:"p999_ms"`
	MaxMS    float64     `json:"max_ms"`
	Errors   []LoadError `json:"errors"`
}

// A LoadError is a kind of error.
type LoadError struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	First string `json:"first"` // message
}

// loader is one client.
type loader struct {
	took    []float64 // ms, of the answers
	offered int       // answers that offer any skill
	errors  map[string]*LoadError
}

// MeasureLoad asks a server for some time. Each client asks once before, so that it is
// connected. It is an error if the server answers nothing at all.
func MeasureLoad(ctx context.Context, o *LoadOptions) (*Load, error) {
	if len(o.Prompts) == 0 || o.Clients < 1 {
		return nil, errors.New("measuring load needs prompts and clients")
	}
	clients := make([]loader, o.Clients)
	each := func(f func(n int, c *loader)) {
		var all sync.WaitGroup
		for n := range clients {
			all.Go(func() { f(n, &clients[n]) })
		}
		all.Wait()
	}
	each(func(n int, c *loader) { c.ask(ctx, o, n) })
	clear(clients)
	start := time.Now()
	each(func(n int, c *loader) {
		end := start.Add(o.Duration)
		for i := n; ctx.Err() == nil && time.Now().Before(end); i += o.Clients {
			if pause := c.ask(ctx, o, i); pause > 0 {
				wait(ctx, min(pause, time.Until(end)))
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Load{Clients: o.Clients, Prompts: len(o.Prompts), Seconds: time.Since(start).Seconds(), Errors: []LoadError{}}
	l.sum(clients)
	if l.Requests == l.Failed && l.Failed > 0 {
		return nil, errors.New(l.Errors[0].First)
	}
	return l, nil
}

// wait returns after some time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// ask asks one of the prompts, and returns how long to wait before the next.
func (c *loader) ask(ctx context.Context, o *LoadOptions, i int) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	start := time.Now()
	answer, err := o.Client.Suggest(ctx, api.Prompt{Text: o.Prompts[i%len(o.Prompts)], Agent: o.Agent, Room: client.Room})
	switch {
	case err == nil:
		c.took = append(c.took, float64(time.Since(start).Microseconds())/1000)
		if len(answer.Skills) > 0 {
			c.offered++
		}
	case errors.Is(err, context.Canceled): // the run ends
	default:
		if c.errors == nil {
			c.errors = make(map[string]*LoadError)
		}
		kind := kindOf(err)
		if c.errors[kind] == nil {
			c.errors[kind] = &LoadError{Kind: kind, First: err.Error()}
		}
		c.errors[kind].Count++
		if status, ok := errors.AsType[*apiclient.StatusError](err); ok {
			return status.RetryAfter
		}
	}
	return 0
}

// kindOf groups the errors of requests.
func kindOf(err error) string {
	status, refused := errors.AsType[*apiclient.StatusError](err)
	switch {
	case refused:
		return fmt.Sprintf("status %d", status.Status)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	}
	return "other"
}

// sum adds up what the clients have seen.
func (l *Load) sum(clients []loader) {
	var took []float64
	offered := 0
	kinds := make(map[string]*LoadError)
	for _, c := range clients {
		took = append(took, c.took...)
		offered += c.offered
		for kind, e := range c.errors {
			l.Failed += e.Count
			if known := kinds[kind]; known != nil {
				known.Count += e.Count
			} else {
				kinds[kind] = e
			}
		}
	}
	slices.Sort(took)
	l.Requests, l.PerS = len(took)+l.Failed, float64(len(took))/l.Seconds
	l.Offered = float64(offered) / float64(max(len(took), 1))
	l.P50MS, l.P99MS, l.P999MS, l.MaxMS = quantile(took, .5), quantile(took, .99), quantile(took, .999), quantile(took, 1)
	for _, e := range kinds {
		l.Errors = append(l.Errors, *e)
	}
	slices.SortFunc(l.Errors, func(a, b LoadError) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
}
