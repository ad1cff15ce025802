package usage

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// node returns the log of a node over a shared catalog, with a folder of its own.
func node(t *testing.T, st *memorytest.Store, prompts bool, log *must.Log) *Log {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }
	l := New(t.TempDir(), Options{Prompts: prompts, Shared: st, Logger: slog.New(slog.NewTextHandler(log, nil)), Now: now})
	t.Cleanup(l.Close)
	return l
}

// idle keeps a table from sending by itself.
func (t *table) idle() *table {
	t.cancel, t.done = func() {}, make(chan struct{})
	close(t.done)
	return t
}

// dataOf returns all lines of a shared catalog.
func dataOf(t *testing.T, st *memorytest.Store) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, st.UsageSince(t.Context(), time.Time{}, func(l store.UsageLine) error {
		b.Write(append(l.Data, '\n'))
		return nil
	}))
	return b.String()
}

// TestNodes: what nodes note is counted at each of them, by caller; a session belongs to its caller.
func TestNodes(t *testing.T) {
	st, log := memorytest.New(), new(must.Log)
	a, b := node(t, st.Another(false), false, log), node(t, st.Another(false), true, log)
	ann := Event{Client: "mcp", Caller: "ann", Session: "s", Kind: Offered, Skills: Named("pdf"), Prompt: "merge them"}
	bob := ann
	bob.Caller, bob.Prompt, bob.Skills = "bob", "sharpen the knife", nil
	load := Event{Client: "mcp", Caller: "ann", Session: "s", Kind: Loaded, Skills: Named("pdf")}
	must.Do(t, a.Add(ann))
	must.Do(t, b.Add(bob))
	must.Do(t, b.Add(load))
	a.Close()
	b.Close()
	for _, l := range []*Log{a, b, node(t, st, false, log)} {
		s, err := l.Stats(t.Context(), l.now(), "", nil)
		must.Do(t, err)
		want := []Client{{Name: "ann", Prompts: 1, Offers: 1, Loads: 1}, {Name: "bob", Prompts: 1}}
		if diff := cmp.Diff(want, s.Callers); diff != "" || s.Events != 3 || s.Skills[0].Followed != 1 || len(s.Gaps) != 1 {
			t.Errorf("%+v; callers (-want +got)\n%s", s, diff)
		}
		days, err := l.Days(t.Context(), l.now(), "")
		if err != nil || len(days) != 1 || days[0].Got != 1 || days[0].Loads != 1 {
			t.Errorf("days %+v, %v", days, err)
		}
	}
	if data := dataOf(t, st); strings.Contains(data, "merge them") || !strings.Contains(data, "sharpen the knife") || strings.Contains(data, "vector") {
		t.Errorf("the lines of all nodes are %s", data)
	}
	must.Do(t, st.AddUsage(t.Context(), []store.UsageLine{{Time: time.Now(), Data: []byte("no line")}}))
	if s, err := a.Stats(t.Context(), time.Time{}, "", nil); err != nil || s.Damaged != 1 || s.Events != 3 {
		t.Errorf("with a damaged line %+v, %v", s, err)
	}
	must.Do(t, a.Forget(t.Context()))
	if data := dataOf(t, st); data != "" || log.String() != "" {
		t.Errorf("after forgetting there are %q; logged %s", data, log)
	}
}

// TestNodesWait: while the database is away lines wait, and what does not fit is lost and counted.
func TestNodesWait(t *testing.T) {
	log := new(must.Log)
	st := memorytest.New()
	l := node(t, st, false, log)
	waits := l.table.idle()
	st.Break(errors.New("the server is gone"))
	e := Event{Kind: Offered, Caller: "ann"}
	must.Do(t, l.Add(e))
	if _, err := waits.send(t.Context()); err == nil {
		t.Error("the lines are sent")
	}
	if _, err := l.Stats(t.Context(), time.Time{}, "", nil); err == nil {
		t.Error("a log that cannot be read has counts")
	}
	for range 2 * tableBatch { // the limit in bytes is for large ones
		must.Do(t, l.Add(e))
	}
	for range maxSkills {
		e.Skills = append(e.Skills, Named(strings.Repeat("x", maxText))...)
	}
	for waits.size+1<<15 < tableRoom {
		must.Do(t, l.Add(e))
	}
	kept := len(waits.waiting)
	for range 10 {
		must.Do(t, l.Add(e))
	}
	lost := waits.lost
	if lost == 0 || len(waits.waiting)+lost != kept+10 || strings.Count(log.String(), "is lost") != 1 {
		t.Errorf("%d lines wait, of %d; %d are lost; logged %s", len(waits.waiting), kept, lost, log)
	}
	st.Break(nil)
	if sent, err := waits.send(t.Context()); err != nil || !sent {
		t.Error(sent, err)
	}
	if sent, err := waits.send(t.Context()); err != nil || sent {
		t.Error("of nothing:", sent, err)
	}
	if n := strings.Count(dataOf(t, st), "\n"); n != kept+10-lost || waits.size != 0 {
		t.Errorf("%d lines are there, and %d bytes wait", n, waits.size)
	}
}

// TestNodesRefused: a node that may not write goes on; its lines do not wait.
func TestNodesRefused(t *testing.T) {
	st := memorytest.New().Another(true)
	l := node(t, st, false, new(must.Log))
	waits := l.table.idle()
	for range 3 {
		must.Do(t, l.Add(Event{Kind: Offered}))
		if _, err := waits.send(t.Context()); err != nil && !errors.Is(err, store.ErrReadOnly) {
			t.Error(err)
		}
	}
	if len(waits.waiting) != 0 || waits.lost != 0 || waits.refused.IsZero() {
		t.Errorf("%+v", waits.waiting)
	}
	waits.refused = time.Now().Add(-tableRight) // then it tries again
	must.Do(t, l.Add(Event{Kind: Offered}))
	if len(waits.waiting) != 1 {
		t.Error("a line does not wait for rights that may have changed")
	}
}

// BenchmarkAdd: what a prompt waits for, with and without a table of all nodes.
func BenchmarkAdd(b *testing.B) {
	e := Event{Kind: Offered, Client: "mcp", Caller: "ann", Session: "s", Skills: Named("pdf", "csv"), Prompt: "merge them"}
	for name, shared := range map[string]store.UsageLog{"folder": nil, "nodes": nowhere{}} {
		b.Run(name, func(b *testing.B) {
			l := New(b.TempDir(), Options{Shared: shared})
			defer l.Close()
			for i := 0; b.Loop(); i++ {
				if i%10_000 == 0 { // before the month is full
					must.Do(b, os.RemoveAll(l.dir))
				}
				must.Do(b, l.Add(e))
			}
		})
	}
}

// nowhere is a log of usage that keeps no lines.
type nowhere struct{ store.UsageLog }

func (nowhere) AddUsage(context.Context, []store.UsageLine) error { return nil }
