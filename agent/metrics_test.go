package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// TestMetrics: every kind of event is counted, and names cannot break the format.
func TestMetrics(t *testing.T) {
	var m agent.Metrics
	for _, e := range []usage.Event{
		{Kind: usage.Offered, Skills: usage.Named("pdf", `a"b`+"\n"), Tokens: 90},
		{Kind: usage.Asked, Duration: 1500 * time.Millisecond},
		{Kind: usage.Loaded, Skills: usage.Named("pdf"), Tokens: 40},
		{Kind: usage.Ran, Skills: usage.Named("pdf"), Tokens: 2, Exit: 3, Duration: time.Second},
		{Kind: usage.Failed},
	} {
		m.Observe(e)
	}
	text := written(t, &m)
	for _, want := range []string{
		"repertoire_agent_iterations_total 1\n",
		"repertoire_agent_model_seconds_total 1.5\n",
		"repertoire_agent_runs_total 1\n",
		"repertoire_agent_runs_failed_total 1\n",
		"repertoire_agent_run_seconds_total 1\n",
		"repertoire_agent_refused_total 1\n",
		`repertoire_agent_skill_events_total{skill="pdf",event="loaded"} 1` + "\n",
		`repertoire_agent_skill_events_total{skill="a\"b\n",event="offered"} 1` + "\n",
		`repertoire_agent_skill_tokens_total{skill="pdf"} 42` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestMetricsBounded: names that somebody makes up do not fill the memory.
func TestMetricsBounded(t *testing.T) {
	var m agent.Metrics
	for i := range 3000 {
		m.Observe(usage.Event{Kind: usage.Failed, Skills: usage.Named(fmt.Sprint("made-up-", i))})
	}
	text := written(t, &m)
	if n := strings.Count(text, `event="failed"`); n != 1001 {
		t.Errorf("%d skills are counted, want 1000 and the others", n)
	}
	if want := `{skill="(others)",event="failed"} 2000`; !strings.Contains(text, want) {
		t.Errorf("no %s", want)
	}
}

func written(t *testing.T, m *agent.Metrics) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, m.Write(&b))
	return b.String()
}
