package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/bench"
)

// loadFlags are the flags of "bench --url".
type loadFlags struct {
	server   serverFlags
	clients  int
	duration time.Duration
	prompts  string
}

const loadHelp = `

With --url a server ("skills mcp --http") is asked as hooks ask it: by --clients
at a time, each as soon as it has its answer, for --duration. The prompts come
with the program, or from --prompts FILE, written as queries.jsonl. Only answers
are timed; a request that takes more than 10 s has failed. It is an error if
there is no answer at all. A server answers each client 100 times a
second, and then has it wait ("status 429"), which bench does: to measure what
the server can do, start it with --rate 0.

--url --json prints an object with host, clients, prompts (different ones),
seconds, requests, failed, per_s (answers per second), offered (share of the
answers that offer a skill), p50_ms, p99_ms, p999_ms, max_ms, and errors, a list
of kind, count and first (a message).`

func (l *loadFlags) flags(f *pflag.FlagSet) {
	l.server.add(f, "measure how the server at this `URL` answers")
	f.IntVar(&l.clients, "clients", 8, "with --url: the `number` of clients that ask at a time")
	f.DurationVar(&l.duration, "duration", 10*time.Second, "with --url: ask for this `time`")
	f.StringVar(&l.prompts, "prompts", "", "with --url: ask the prompts of this `file`")
}

func (l *loadFlags) check(b *benchFlags) error {
	if err := l.server.check(); err != nil {
		return err
	}
	switch {
	case l.server.url == "" && l.prompts != "":
		return errors.New("--prompts is for --url")
	case l.server.url == "":
		return nil
	case b.speed.on || len(b.datasets)+len(b.none) > 0 || b.fromEvals || b.corpus != "" || b.compare != "":
		return errors.New("--url measures a server: leave out --speed, --dataset, --none, --from-evals, --corpus and --compare")
	case l.clients < 1:
		return atLeast("clients", l.clients, 1)
	case l.duration <= 0:
		return fmt.Errorf("--duration is more than 0, not %v", l.duration)
	}
	return nil
}

// loadResult is what "bench --url --json" prints.
type loadResult struct {
	Host string `json:"host"`
	*bench.Load
}

func benchLoad(ctx context.Context, s *session, l *loadFlags) error {
	c, err := l.server.client(l.clients)
	if err != nil {
		return err
	}
	o := &bench.LoadOptions{Client: c, Agent: s.agent, Prompts: bench.Prompts(), Clients: l.clients, Duration: l.duration}
	if l.prompts != "" {
		queries, err := bench.ReadQueries(l.prompts)
		if err != nil {
			return err
		}
		o.Prompts = mapped(queries, func(q bench.Query) string { return q.Text })
	}
	load, err := bench.MeasureLoad(ctx, o)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(loadResult{c.Host(), load})
	}
	s.note("this machine may have done other work: compare figures of one run, as ratios")
	return s.rows([]string{"MEASURE", "VALUE", "UNIT"}, loadRows(load))
}

func loadRows(l *bench.Load) [][]string {
	rows := [][]string{
		cells("clients", l.Clients, ""), cells("requests", l.Requests, ""), cells("failed", l.Failed, ""),
		{"throughput", figure(l.PerS), "answers/s"}, {"offered", figure(100 * l.Offered), "%"},
		{"p50", figure(l.P50MS), "ms"}, {"p99", figure(l.P99MS), "ms"}, {"p99.9", figure(l.P999MS), "ms"}, {"slowest", figure(l.MaxMS), "ms"},
	}
	for _, e := range l.Errors {
		rows = append(rows, cells("failed: "+e.Kind, e.Count, message(e.First)))
	}
	return rows
}
