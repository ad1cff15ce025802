package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestKnows: the nodes that watch a catalog say which agents they know, however many that are;
// nobody else answers.
func TestKnows(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db := made(t, url)
	other, err := Open(url, &Options{Catalog: "other"})
	if err == nil {
		err = other.Migrate(t.Context())
	}
	must.Do(t, err)
	t.Cleanup(func() { other.Close() })
	// ask asks until this many nodes answer: the tests of a slow machine wait longer.
	ask := func(agent string, nodes int) Answers {
		t.Helper()
		for limit := 20 * time.Millisecond; ; limit *= 2 {
			a, err := db.Knows(t.Context(), agent, limit)
			if err != nil || limit > time.Minute {
				t.Fatalf("%+v, %v", a, err)
			}
			if a.Nodes == nodes {
				return a
			}
		}
	}
	node := func(agents ...string) {
		next(t, watching(t, url, func(w *watcher) { w.db.Know(agents) }), false)
	}
	next(t, watching(t, url, func(*watcher) {}), false) // a watcher that is no node
	db.Know([]string{"one"})                            // it does not watch
	if diff := cmp.Diff(Answers{}, ask("one", 0)); diff != "" {
		t.Errorf("without nodes (-want +got):\n%s", diff)
	}
	node("clerk", "reader")
	if a, err := db.Knows(t.Context(), "clerk", time.Minute); err != nil || !a.Known {
		t.Errorf("a known agent: %+v, %v", a, err)
	}
	if diff := cmp.Diff(Answers{Nodes: 1, Agents: []string{"clerk", "reader"}}, ask("one", 1)); diff != "" {
		t.Errorf("an unknown agent (-want +got):\n%s", diff)
	}
	if a, err := other.Knows(t.Context(), "clerk", 50*time.Millisecond); err != nil || a.Nodes != 0 {
		t.Errorf("another catalog: %+v, %v", a, err)
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("\x01<%03d>%s", i, strings.Repeat("\x02", 30)))
	}
	node(many...)
	if a, err := db.Knows(t.Context(), many[499], time.Minute); err != nil || !a.Known {
		t.Errorf("of many agents: %+v, %v", a, err)
	}
	if a := ask("none", 2); a.Known || len(a.Agents) < 10 || len(a.Agents) > 50 {
		t.Errorf("an unknown agent of two nodes: %+v", a)
	}
	storetest.State(t, db)
}

// TestRollCallDamaged: what is no question is not answered, and ends no watcher.
func TestRollCallDamaged(t *testing.T) {
	url := pgtest.URL(t)
	db := made(t, url)
	all := watching(t, url, func(w *watcher) { w.db.Know([]string{"clerk"}) })
	next(t, all, false)
	for _, payload := range []string{"", "x", "{}", "[1]", `{"question":1}`, `{"catalog":1,"agent":"clerk"}`, `{"question":"x","catalog":1,"answer":true}`} {
		pgtest.Exec(t, url, "SELECT pg_notify('repertoire', '"+payload+"')")
	}
	if a, err := db.Knows(t.Context(), "clerk", time.Minute); err != nil || !a.Known {
		t.Errorf("%+v, %v", a, err)
	}
	select {
	case s := <-all:
		t.Errorf("the watcher says %+v", s)
	default:
	}
}
