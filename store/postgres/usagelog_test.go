package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// linesOf returns how many lines a log of usage has.
func linesOf(t *testing.T, u store.UsageLog) (n int) {
	t.Helper()
	must.Do(t, u.UsageSince(t.Context(), time.Time{}, func(store.UsageLine) error { n++; return nil }))
	return n
}

// TestNodeRole: a node adds lines to the log of usage, and proposals on which it decides, and changes
// nothing else, whether the roles or the tables were there first.
func TestNodeRole(t *testing.T) {
	address := pgtest.URL(t)
	pgtest.Exec(t, address, postgres.Roles())
	w := migrated(t, address, nil)
	line := []store.UsageLine{{Time: time.Now(), Data: []byte("{}")}}
	pgtest.Exec(t, address, `
DO $$ BEGIN
	IF NOT has_table_privilege('repertoire_node', 'repertoire.usage', 'INSERT') THEN RAISE EXCEPTION 'the schema grants nothing'; END IF;
END $$;
REVOKE ALL ON repertoire.usage FROM repertoire_node`)
	pgtest.Exec(t, address, postgres.Roles())
	pgtest.Exec(t, address, `DO $$ DECLARE n int; BEGIN
		SELECT count(*) INTO n FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
		WHERE s.nspname = 'repertoire' AND c.relkind = 'r' AND has_table_privilege('repertoire_node', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE');
		IF n <> 2 OR has_any_column_privilege('repertoire_node', 'repertoire.skills', 'UPDATE') OR has_column_privilege('repertoire_node', 'repertoire.proposals', 'text', 'UPDATE') OR has_table_privilege('repertoire_node', 'repertoire.proposals', 'DELETE, TRUNCATE') OR has_table_privilege('repertoire_node', 'repertoire.usage', 'UPDATE, DELETE, TRUNCATE') THEN RAISE EXCEPTION 'a node may write % tables', n; END IF;
	END $$`)

	must.Do(t, open(t, login(t, address, "repertoire_node"), &postgres.Options{ReadOnly: true}).AddUsage(t.Context(), line))
	if linesOf(t, w) != 1 {
		t.Error("the line is not there")
	}
	n := open(t, login(t, address, "repertoire_node"), nil)
	must.Do(t, n.Ready(t.Context()))
	if !n.ReadOnly() || linesOf(t, n) != 1 {
		t.Error("the catalog of a node is not read-only, or it cannot read the log")
	}
	pgtest.Exec(t, login(t, address, "repertoire_node"), `INSERT INTO repertoire.usage (catalog, at, id, line)
		SELECT c.id, v.at, v.id, convert_to(repeat('x', v.n), 'UTF8') FROM repertoire.catalogs c, (VALUES ('infinity'::timestamptz, 1, 1), (now(), 2, 1048577)) v (at, id, n)`)
	if linesOf(t, n) != 1 {
		t.Error("a line of no time, or one that is too long, is kept")
	}
	p := store.Proposal{ID: "x", Waits: true, Info: []byte("made"), Text: []byte("text")}
	must.Do(t, n.AddProposal(t.Context(), p))
	must.Do(t, n.SetProposal(t.Context(), store.Proposal{ID: "x", Info: []byte("done")}, p.Info))
	r := open(t, login(t, address, "repertoire_reader"), nil)
	for what, err := range map[string]error{
		"forget by a node":   n.ForgetUsage(t.Context()),
		"update by a node":   n.Update(t.Context(), func(store.Tx) error { return nil }),
		"a token of a node":  n.AddToken(t.Context(), store.Token{Name: "x", Hash: strings.Repeat("0", 64)}),
		"a line of a reader": r.AddUsage(t.Context(), line),

		"a proposal, or a line of one, of a reader": r.AddProposal(t.Context(), p),
	} {
		if !errors.Is(err, store.ErrReadOnly) || strings.Contains(what, "line") && !strings.Contains(err.Error(), "lacks the role repertoire_node") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUsageWaitsForNobody: a push under way does not keep nodes from adding lines.
func TestUsageWaitsForNobody(t *testing.T) {
	db := migrated(t, pgtest.URL(t), nil)
	storetest.Update(t, db, func(tx store.Tx) error {
		if _, err := tx.PutSource(store.Source{Label: "a"}); err != nil {
			return err
		}
		return db.AddUsage(t.Context(), []store.UsageLine{{Time: time.Now(), Data: []byte("{}")}})
	})
}

// TestUsageFull: of a month that is full the oldest lines go.
func TestUsageFull(t *testing.T) {
	testsize.Long(t)
	db := migrated(t, pgtest.URL(t), nil)
	at := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	add := func(n int) {
		t.Helper()
		var lines []store.UsageLine
		for range n {
			at = at.Add(time.Second)
			lines = append(lines, store.UsageLine{Time: at, Data: make([]byte, 1<<20)})
		}
		must.Do(t, db.AddUsage(t.Context(), lines))
	}
	const most = store.UsageMonthBytes >> 20
	add(most)
	must.Do(t, db.AddUsage(t.Context(), []store.UsageLine{{Time: at.AddDate(0, 1, 0), Data: []byte("of another month")}}))
	for more, want := range []int{most, most / 8 * 7} {
		add(more)
		var first, last time.Time
		n := 0
		must.Do(t, db.UsageSince(t.Context(), time.Time{}, func(l store.UsageLine) error {
			if n++; n == 1 {
				first = l.Time
			}
			last = l.Time
			return nil
		}))
		if n != want+1 || at.Sub(first) != time.Duration(want-1)*time.Second || last.Month() != time.March {
			t.Errorf("after %d more: %d lines from %s to %s, want %d", more, n, first, last, want+1)
		}
	}
}
