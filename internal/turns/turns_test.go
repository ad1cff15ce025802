package turns

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// given returns the names of the passes that were given.
func given(passes map[string]*Pass) (names []string) {
	for name, p := range passes {
		select {
		case <-p.given:
			names = append(names, name)
		default:
		}
	}
	slices.Sort(names)
	return names
}

// TestGateTurns: clients get what there is in turn, however much one of them asks for.
func TestGateTurns(t *testing.T) {
	g := New(1, 1)
	passes := map[string]*Pass{}
	for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1"} {
		passes[name] = g.queue(name[:1], 1)
	}
	for _, want := range []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"} {
		if got := given(passes); !slices.Equal(got, []string{want}) {
			t.Fatalf("%q have what there is, want %q", got, want)
		}
		passes[want].Leave()
		delete(passes, want)
	}
	if g.used != 0 || len(g.clients) != 0 || len(g.waiting) != 0 {
		t.Errorf("at the end %d is used, %d clients are known, and %d wait", g.used, len(g.clients), len(g.waiting))
	}
}

// TestGateShares: a client gets no more than its share, which leaves the rest to others. What is
// larger than that is as large. A large pass is not overtaken for ever.
func TestGateShares(t *testing.T) {
	g := New(100, 40)
	passes := map[string]*Pass{"a1": g.queue("a", 30), "a2": g.queue("a", 20), "b1": g.queue("b", 30)}
	if got := given(passes); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Errorf("%q", got)
	}
	huge, err := g.Enter(t.Context(), "c", 1000)
	if err != nil || huge.n != 40 {
		t.Fatalf("%+v, %v", huge, err)
	}
	passes["d1"], passes["e1"] = g.queue("d", 35), g.queue("e", 1)
	if got := given(passes); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Errorf("%q", got)
	}
	huge.Keep(5)
	huge.Keep(50) // nobody gets more by that
	if got := given(passes); !slices.Equal(got, []string{"a1", "b1", "d1"}) {
		t.Errorf("%q", got)
	}
	passes["a1"].Leave()
	passes["a1"].Leave()
	if got := given(passes); !slices.Equal(got, []string{"a1", "a2", "b1", "d1", "e1"}) || g.used != 5+30+35+1+20 {
		t.Errorf("%q, %d", got, g.used)
	}
}

// TestGateCancel: who has given up gets nothing, and keeps nobody waiting.
func TestGateCancel(t *testing.T) {
	g := New(10, 10)
	first, err := g.Enter(t.Context(), "a", 9)
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if p, err := g.Enter(ctx, "a", 5); p != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", p, err)
		}
		if p, err := g.Enter(ctx, "b", 5); p != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", p, err)
		}
	}
	late := g.queue("b", 5) // before it stands one that gives up
	small := g.queue("b", 1)
	g.cancel(late)
	if got := given(map[string]*Pass{"late": late, "small": small}); !slices.Equal(got, []string{"small"}) {
		t.Errorf("%q", got)
	}
	g.cancel(small) // as if the time was over at that moment
	first.Leave()
	(*Pass)(nil).Leave()
	if g.used != 0 || len(g.clients) != 0 || len(g.waiting) != 0 {
		t.Errorf("at the end %d is used, %d clients are known, and %d wait", g.used, len(g.clients), len(g.waiting))
	}
}

// TestGateOwe: what a client owes counts at once, also beyond its share, and then only that client waits.
func TestGateOwe(t *testing.T) {
	g := New(100, 40)
	first, second := g.Owe("a", 1000), g.Owe("a", 20)
	if g.used != 35+20 {
		t.Errorf("%d is used", g.used)
	}
	passes := map[string]*Pass{"a1": g.queue("a", 1), "b1": g.queue("b", 1)}
	if got := given(passes); !slices.Equal(got, []string{"b1"}) {
		t.Errorf("%q", got)
	}
	first.Leave()
	if got := given(passes); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Errorf("%q", got)
	}
	second.Leave()
}

// TestOwnWork: a client never has all, so that the next one need not wait; this process itself may have all.
func TestOwnWork(t *testing.T) {
	g := New(2, 1)
	passes := map[string]*Pass{"a1": g.queue("a", 1), "a2": g.queue("a", 1), "b1": g.queue("b", 1)}
	if got := given(passes); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Errorf("%q", got)
	}
	if p, ok := g.Try("b", 1); ok || p != nil {
		t.Error("a client that does not wait gets more than its share")
	}
	if p, ok := g.Try("c", 1); ok || p != nil {
		t.Error("a client that does not wait gets more than there is")
	}
	passes["a1"].Leave()
	passes["a2"].Leave()
	if _, ok := g.Try("c", 1); !ok {
		t.Error("a client that does not wait gets nothing of what is left")
	}
	g = New(2, 1)
	passes = map[string]*Pass{"1": g.queue("", 1), "2": g.queue("", 1), "3": g.queue("", 1), "a1": g.queue("a", 1)}
	if got := given(passes); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("%q", got)
	}
}
