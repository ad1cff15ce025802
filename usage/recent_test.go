package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// TestRecent: the last offers come back, the newest first, over the end of a month and from a
// file whose start is not read.
func TestRecent(t *testing.T) {
	d := newDiary(t, true)
	recent := func(agent string, n int) string {
		t.Helper()
		events, err := d.Recent(t.Context(), agent, n)
		must.Do(t, err)
		var list []string
		for _, e := range events {
			list = append(list, fmt.Sprintf("%s %d", e.Client, len(e.Skills)))
		}
		return strings.Join(list, ", ")
	}
	if got := recent("", 3); got != "" {
		t.Errorf("of an empty log: %s", got)
	}
	long := strings.Repeat("x ", 250)
	for range 700 { // more than the end of a file that is read
		d.add(t, "offered gemini s0 cat dog", long)
	}
	d.add(t, "offered claude s1 cat", "")
	d.add(t, "loaded claude s1 cat", "")
	d.now = d.now.AddDate(0, 1, 0)
	d.add(t, "offered codex s2", "")
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "mcp", Agent: "keeper"}))
	if diff := cmp.Diff("mcp 0, codex 0, claude 1, gemini 2", recent("", 4)); diff != "" {
		t.Errorf("recent (-want +got)\n%s", diff)
	}
	if got := recent("keeper", 4); got != "mcp 0" {
		t.Errorf("of an agent: %s", got)
	}
}
