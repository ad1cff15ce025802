package audit

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/access"
)

// Bounds of what a flood of refusals writes.
const (
	period = time.Minute
	firsts = 50 // refusals of a period with a line of their own
)

// Refusals writes down which requests a server refuses: a line of its log, and one of an audit log. The
// first of a client for one reason has a line at once; what follows within a minute is counted, and has
// one line at the end. Of very many clients only the first have lines of their own.
type Refusals struct {
	log   *slog.Logger
	audit *Log
	seen  map[group]*repeats

	in     *queue[access.Refusal]
	missed atomic.Int64 // refusals that found no room
}

// A group is what is summed up: a reason and a client; "" means all other clients.
type group struct{ reason, client string }

type repeats struct {
	access.Refusal
	more int
}

// NewRefusals returns Refusals that write to a log, and to an audit log, which may be nil.
func NewRefusals(log *slog.Logger, audit *Log) *Refusals {
	r := &Refusals{log: log, audit: audit, seen: make(map[group]*repeats), in: newQueue[access.Refusal]()}
	go r.run()
	return r
}

// Add adds a refusal. It does not wait.
func (r *Refusals) Add(f access.Refusal) {
	if !r.in.add(f) {
		r.missed.Add(1)
	}
}

// Close writes what was counted, and waits for that a second at most. The audit log is closed after it.
func (r *Refusals) Close() { r.in.close() } // what is not written: nobody reads standard error

func (r *Refusals) run() {
	defer close(r.in.done)
	every := time.NewTicker(period)
	defer every.Stop()
	for {
		select {
		case f, ok := <-r.in.in:
			if !ok {
				r.sum()
				return
			}
			r.take(f)
		case <-every.C:
			r.sum()
		}
	}
}

// take writes a refusal, or counts it.
func (r *Refusals) take(f access.Refusal) {
	at := group{f.Reason, cmp.Or(f.Caller, f.Address)}
	if r.seen[at] == nil && len(r.seen) >= firsts {
		at.client = ""
		f = access.Refusal{Reason: f.Reason, Status: f.Status}
		if r.seen[at] == nil {
			r.seen[at] = &repeats{Refusal: f}
		}
	}
	if old := r.seen[at]; old != nil {
		old.more++
		return
	}
	r.seen[at] = &repeats{Refusal: f}
	r.write(f, 0)
}

// sum writes a line for all that was counted since the last time.
func (r *Refusals) sum() {
	for _, at := range slices.SortedFunc(maps.Keys(r.seen), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.client, b.client))
	}) {
		if n := r.seen[at]; n.more > 0 {
			r.write(n.Refusal, n.more)
		}
	}
	clear(r.seen)
	if n := r.missed.Swap(0); n > 0 {
		r.write(access.Refusal{Reason: "others"}, int(n))
	}
}

func (r *Refusals) write(f access.Refusal, more int) {
	l := line{Time: time.Now().UTC().Truncate(time.Millisecond), Caller: cut(f.Caller), Agent: cut(f.Agent), Call: cut(f.Path), Refused: f.Reason, Status: f.Status, More: more}
	if l.Caller == "" {
		l.Client = cut(f.Address)
	}
	message, attrs := "a request was refused", []any{"why", l.Refused}
	for _, a := range []struct{ name, value string }{{"path", l.Call}, {"caller", l.Caller}, {"agent", l.Agent}, {"client", l.Client}} {
		if a.value != "" {
			attrs = append(attrs, a.name, a.value)
		}
	}
	if l.Status != 0 {
		attrs = append(attrs, "status", l.Status)
	}
	if more > 0 {
		message, attrs = "more such requests were refused", append(attrs, "more", more)
	}
	r.log.Warn(message, attrs...)
	if r.audit != nil {
		r.audit.add(l)
	}
}
