package mcpserver

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Metrics count what servers do, for monitoring. The zero value is ready for use.
// Several servers may share one.
type Metrics struct {
	mu        sync.Mutex
	calls     map[call]uint64    // by tool or method
	latency   map[string]*timing // by tool, only of tools that search
	injected  uint64             // skills that suggest_skills offered
	abstained uint64             // calls of suggest_skills that offered none
	stale     uint64             // reads of skills that changed since they were indexed
	answers   map[int]uint64     // HTTP answers by status
	refused   map[string]uint64  // HTTP requests by reason
}

// A call is the key by which calls are counted.
type call struct {
	name   string
	failed bool
}

// bounds are the upper bounds of the buckets of a histogram, in seconds.
var bounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}

// A timing is a histogram.
type timing struct {
	buckets [len(bounds) + 1]uint64
	sum     float64
}

func (t *timing) add(seconds float64) {
	at, _ := slices.BinarySearch(bounds[:], seconds)
	t.buckets[at]++
	t.sum += seconds
}

// Observe counts one request; it is meant for Options.Observe.
func (m *Metrics) Observe(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := e.Method
	if e.Tool != "" {
		name = e.Tool
	}
	increment(&m.calls, call{name, e.Failed})
	if e.Tool == "search_skills" || e.Tool == "suggest_skills" {
		if m.latency == nil {
			m.latency = make(map[string]*timing)
		}
		if m.latency[e.Tool] == nil {
			m.latency[e.Tool] = new(timing)
		}
		m.latency[e.Tool].add(e.Seconds)
	}
	m.injected += uint64(e.Offered)
	if e.Abstained {
		m.abstained++
	}
	if e.Stale {
		m.stale++
	}
}

// answered counts an HTTP response.
func (m *Metrics) answered(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	increment(&m.answers, status)
}

// refuse counts a request that was refused before it reached a server.
func (m *Metrics) refuse(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	increment(&m.refused, reason)
}

func increment[K comparable](counts *map[K]uint64, key K) {
	if *counts == nil {
		*counts = make(map[K]uint64)
	}
	(*counts)[key]++
}

// write writes all counts in the text format of Prometheus.
func (m *Metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head(w, "repertoire_calls_total", "counter", "Calls, by tool or else method of the protocol.")
	for _, c := range slices.SortedFunc(maps.Keys(m.calls), compareCalls) {
		fmt.Fprintf(w, "repertoire_calls_total{call=%q,failed=\"%t\"} %d\n", c.name, c.failed, m.calls[c])
	}
	m.writeQueries(w)
	counter := func(name, help string, n uint64) {
		head(w, name, "counter", help)
		fmt.Fprintf(w, "%s %d\n", name, n)
	}
	counter("repertoire_injected_total", "Skills that suggest_skills offered.", m.injected)
	counter("repertoire_abstained_total", "Prompts for which suggest_skills offered none.", m.abstained)
	counter("repertoire_stale_reads_total", "Reads of skills that had changed since they were indexed.", m.stale)
	head(w, "repertoire_http_responses_total", "counter", "Answers over HTTP, by status.")
	for _, status := range slices.Sorted(maps.Keys(m.answers)) {
		fmt.Fprintf(w, "repertoire_http_responses_total{code=\"%d\"} %d\n", status, m.answers[status])
	}
	head(w, "repertoire_http_refused_total", "counter", "Requests over HTTP that were refused, by reason.")
	for _, reason := range slices.Sorted(maps.Keys(m.refused)) {
		fmt.Fprintf(w, "repertoire_http_refused_total{reason=%q} %d\n", reason, m.refused[reason])
	}
}

// writeQueries writes how many searches there were, and how long they took.
func (m *Metrics) writeQueries(w io.Writer) {
	tools := slices.Sorted(maps.Keys(m.latency))
	const name = "repertoire_query_duration_seconds"
	head(w, name, "histogram", "Time to answer a search, by tool; its count is the number of queries.")
	for _, tool := range tools {
		t, n := m.latency[tool], uint64(0)
		for i, bound := range bounds {
			n += t.buckets[i]
			fmt.Fprintf(w, "%s_bucket{tool=%q,le=\"%g\"} %d\n", name, tool, bound, n)
		}
		n += t.buckets[len(bounds)]
		fmt.Fprintf(w, "%s_bucket{tool=%q,le=\"+Inf\"} %d\n", name, tool, n)
		fmt.Fprintf(w, "%s_sum{tool=%q} %g\n%s_count{tool=%q} %d\n", name, tool, t.sum, name, tool, n)
	}
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// compareCalls sorts calls by name, and those that failed after the others.
func compareCalls(a, b call) int {
	failed := func(c call) int {
		if c.failed {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.name, b.name), failed(a)-failed(b))
}
