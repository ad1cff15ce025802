// Package ask asks a search library prompts, as all peers are asked, and writes the figures.
package ask

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// figures are what peers.py prints, too.
type figures struct {
	P50   float64  `json:"p50"`    // ms
	P99   float64  `json:"p99"`    // ms
	PerS  float64  `json:"per_s"`  // answers
	CPUMS float64  `json:"cpu_ms"` // of an answer, on all processors
	Top   []string `json:"top"`    // best hit of each prompt, if each is asked once
}

// Run asks with the arguments PROMPTS THREADS SECONDS: a file with a JSON list, how many ask at a time,
// and how long; 0 means that each prompt is asked once. It writes JSON to w. best returns the best of
// five hits, or "".
func Run(w io.Writer, args []string, best func(prompt string) (string, error)) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var prompts []string
	if err := json.Unmarshal(text, &prompts); err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		return err
	}
	out := figures{Top: make([]string, 0, len(prompts))}
	for _, p := range prompts { // the first answers read files
		top, err := best(p)
		if err != nil {
			return fmt.Errorf("asking %q: %w", p, err)
		}
		out.Top = append(out.Top, top)
	}
	if seconds > 0 {
		out = measure(prompts, threads, time.Duration(seconds*float64(time.Second)), best)
	}
	return json.NewEncoder(w).Encode(out)
}

func measure(prompts []string, threads int, while time.Duration, best func(string) (string, error)) figures {
	var next atomic.Int64
	var all sync.WaitGroup
	lists := make([][]float64, threads)
	cpu, start := processorTime(), time.Now()
	for n := range threads {
		all.Go(func() {
			// Only whole rounds: all prompts must count equally.
			for i := next.Add(1) - 1; i%int64(len(prompts)) != 0 || time.Since(start) < while; i = next.Add(1) - 1 {
				begun := time.Now()
				_, _ = best(prompts[i%int64(len(prompts))]) // it had no error before
				lists[n] = append(lists[n], time.Since(begun).Seconds()*1000)
			}
		})
	}
	all.Wait()
	took := slices.Sorted(slices.Values(slices.Concat(lists...)))
	n := len(took)
	return figures{
		P50: took[n/2], P99: took[n*99/100], PerS: float64(n) / time.Since(start).Seconds(),
		CPUMS: (processorTime() - cpu).Seconds() * 1000 / float64(n),
	}
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // has no error for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
