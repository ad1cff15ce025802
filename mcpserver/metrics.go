package mcpserver

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/usage"
)

// The names of counts. Labels follow the names that count calls, answers and refusals.
const (
	countCalls     = "repertoire_calls_total"
	countInjected  = "repertoire_injected_total"
	countAbstained = "repertoire_abstained_total"
	countStale     = "repertoire_stale_reads_total"
	countAnswers   = "repertoire_http_responses_total"
	countRefused   = "repertoire_http_refused_total"
)

// Metrics count what servers do, for monitoring. The zero value is ready for use.
// Several servers may share one.
type Metrics struct {
	mu      sync.Mutex
	counts  map[string]uint64  // by name with labels, as they are written
	latency map[string]*timing // by tool, only of tools that search
}

// bounds are the upper bounds of the buckets of a histogram, in seconds.
var bounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}

// A timing is a histogram.
type timing struct {
	buckets [len(bounds) + 1]uint64
	sum     float64
}

// Observe counts one request; it is meant for Options.Observe.
func (m *Metrics) Observe(e usage.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(1, fmt.Sprintf("%s{call=%q,failed=\"%t\"}", countCalls, e.Call, e.Failed))
	if e.Kind == usage.Offered && !e.Failed {
		m.add(uint64(len(e.Skills)), countInjected)
		if len(e.Skills) == 0 {
			m.add(1, countAbstained)
		}
	}
	if e.Stale {
		m.add(1, countStale)
	}
	if e.Kind != usage.Searched && e.Kind != usage.Offered {
		return
	}
	t := m.latency[e.Call]
	if t == nil {
		t = new(timing)
		if m.latency == nil {
			m.latency = make(map[string]*timing)
		}
		m.latency[e.Call] = t
	}
	seconds := e.Duration.Seconds()
	at, _ := slices.BinarySearch(bounds[:], seconds)
	t.buckets[at]++
	t.sum += seconds
}

// answered counts an HTTP response.
func (m *Metrics) answered(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(1, fmt.Sprintf("%s{code=\"%d\"}", countAnswers, status))
}

// refuse counts a request that was refused before it reached a server.
func (m *Metrics) refuse(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(1, fmt.Sprintf("%s{reason=%q}", countRefused, reason))
}

// add adds to a count; the caller holds the lock.
func (m *Metrics) add(n uint64, series string) {
	if m.counts == nil { // those without labels are written before they happen, too
		m.counts = map[string]uint64{countInjected: 0, countAbstained: 0, countStale: 0}
	}
	m.counts[series] += n
}

// write writes all counts in the text format of Prometheus.
func (m *Metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeCounts(w, countCalls, "Calls, by tool or else method of the protocol.")
	m.writeQueries(w)
	m.add(0, countInjected)
	m.writeCounts(w, countInjected, "Skills that suggest_skills offered.")
	m.writeCounts(w, countAbstained, "Prompts for which suggest_skills offered none.")
	m.writeCounts(w, countStale, "Reads of skills that had changed since they were indexed.")
	m.writeCounts(w, countAnswers, "Answers over HTTP, by status.")
	m.writeCounts(w, countRefused, "Requests over HTTP that were refused and sessions that ended for new ones, by reason.")
}

// writeCounts writes the counts of a name, sorted by their labels.
func (m *Metrics) writeCounts(w io.Writer, name, help string) {
	head(w, name, "counter", help)
	for _, series := range slices.Sorted(maps.Keys(m.counts)) {
		if strings.HasPrefix(series, name) {
			fmt.Fprintf(w, "%s %d\n", series, m.counts[series])
		}
	}
}

// writeQueries writes how many searches there were, and how long they took.
func (m *Metrics) writeQueries(w io.Writer) {
	const name = "repertoire_query_duration_seconds"
	head(w, name, "histogram", "Time to answer a search, by tool; its count is the number of queries.")
	for _, tool := range slices.Sorted(maps.Keys(m.latency)) {
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
