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
	"github.com/repertoire-skills/repertoire/internal/endpoint"
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

// A tally is what all clients have seen.
type tally struct {
	mu      sync.Mutex
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
	each := func(f func(n int)) {
		var all sync.WaitGroup
		for n := range o.Clients {
			all.Go(func() { f(n) })
		}
		all.Wait()
	}
	each(func(n int) { new(tally).ask(ctx, o, n) })
	t := new(tally)
	start := time.Now()
	each(func(n int) {
		end := start.Add(o.Duration)
		for i := n; ctx.Err() == nil && time.Now().Before(end); i += o.Clients {
			if pause := t.ask(ctx, o, i); pause > 0 {
				_ = endpoint.Sleep(ctx, min(pause, time.Until(end))) // the loop ends with ctx
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Load{Clients: o.Clients, Prompts: len(o.Prompts), Seconds: time.Since(start).Seconds(), Errors: []LoadError{}}
	l.sum(t)
	if l.Requests == l.Failed && l.Failed > 0 {
		return nil, errors.New(l.Errors[0].First)
	}
	return l, nil
}

// ask asks one of the prompts, and returns how long to wait before the next.
func (t *tally) ask(ctx context.Context, o *LoadOptions, i int) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	start := time.Now()
	answer, err := o.Client.Suggest(ctx, api.Prompt{Text: o.Prompts[i%len(o.Prompts)], Agent: o.Agent, Room: client.Room})
	took := time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.took = append(t.took, float64(took.Microseconds())/1000)
		if len(answer.Skills) > 0 {
			t.offered++
		}
	case errors.Is(err, context.Canceled): // the run ends
	default:
		if t.errors == nil {
			t.errors = make(map[string]*LoadError)
		}
		kind := kindOf(err)
		if t.errors[kind] == nil {
			t.errors[kind] = &LoadError{Kind: kind, First: err.Error()}
		}
		t.errors[kind].Count++
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
func (l *Load) sum(t *tally) {
	for _, e := range t.errors {
		l.Failed += e.Count
		l.Errors = append(l.Errors, *e)
	}
	took := t.took
	slices.Sort(took)
	l.Requests, l.PerS = len(took)+l.Failed, float64(len(took))/l.Seconds
	l.Offered = float64(t.offered) / float64(max(len(took), 1))
	l.P50MS, l.P99MS, l.P999MS, l.MaxMS = quantile(took, .5), quantile(took, .99), quantile(took, .999), quantile(took, 1)
	slices.SortFunc(l.Errors, func(a, b LoadError) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
}
