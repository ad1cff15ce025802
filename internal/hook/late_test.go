package hook_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestLate: what the log says of late answers makes the deadline of the next prompts longer, within bounds and for
// an hour.
func TestLate(t *testing.T) {
	p := newPlace(t)
	for range 2 {
		var out, verbose bytes.Buffer
		c := p.call("claude", prompt, &out)
		c.Verbose, c.Deadline = &verbose, time.Millisecond
		c.Open = func(context.Context, hook.Opening) (hook.Catalog, *repertoire.Agent, error) { select {} }
		hook.Run(t.Context(), c)
	}
	state, err := p.call("claude", prompt, nil).StateDir()
	must.Do(t, err)
	now := time.Now()
	if times := hook.Late(state); len(times) != 2 || now.Sub(times[0]) > time.Minute {
		t.Fatalf("late %v", times)
	}
	if d := hook.DeadlineNow(state, now); d != 700*time.Millisecond {
		t.Errorf("after two late answers: %v", d)
	}
	if d := hook.DeadlineNow(state, now.Add(time.Hour)); d != hook.Deadline {
		t.Errorf("an hour later: %v", d)
	}
	if d := hook.DeadlineNow(state, now.Add(-2*time.Hour)); d != hook.Deadline {
		t.Errorf("with a clock that was put back: %v", d)
	}

	log := filepath.Join(state, "hook.log")
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "time=%s level=WARN msg=\"too late for an answer\" n=%d\ntime=yesterday msg=\"too late for an answer\"\nx\n", now.Format(time.RFC3339Nano), i)
	}
	must.Write(t, log, many.String())
	if n := len(hook.Late(state)); n < 100 || n > 500 {
		t.Errorf("%d of the end of a long log", n)
	}
	if d := hook.DeadlineNow(state, now); d != time.Second {
		t.Errorf("after many: %v", d)
	}
	must.Do(t, os.Remove(log))
	for _, state := range []string{state, ""} {
		if d := hook.DeadlineNow(state, now); d != hook.Deadline {
			t.Errorf("without a log: %v", d)
		}
	}
}
