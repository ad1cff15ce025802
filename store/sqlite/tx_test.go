package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"modernc.org/sqlite"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestBeforeChange: BeforeChange is called only for changes that readers see, before they
// can see them, and its error cancels the change.
func TestBeforeChange(t *testing.T) {
	path := dbPath(t)
	var db *DB
	calls, seen := 0, int64(-1)
	var fail error
	announced := func(path string) (*DB, error) {
		opened := Defer(path, nil)
		opened.BeforeChange(func() error {
			calls++
			if db != nil {
				seen = storetest.State(t, db).Generation.Number
			}
			return fail
		})
		return opened, opened.Ready(t.Context())
	}
	opened, err := announced(path)
	must.Do(t, err)
	defer opened.Close()
	if db = opened; calls != 1 {
		t.Errorf("%d calls for a new file: what was published of the file before it must go", calls)
	}
	is := func(want int, when string) {
		t.Helper()
		if calls != want {
			t.Errorf("%s: %d calls, want %d", when, calls, want)
		}
		calls = 0
	}
	calls = 0
	rows := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	is(1, "a new skill")
	if now := storetest.State(t, db).Generation.Number; seen != now-1 {
		t.Errorf("readers saw generation %d while it ran, %d afterwards", seen, now)
	}
	storetest.Update(t, db, func(tx store.Tx) error {
		return errors.Join(tx.PutStamp(rows[0], "s"), tx.PruneVectors(), tx.Forget(store.Generation{Number: 1}))
	})
	is(0, "a stamp")
	stop := errors.New("stop")
	if err := db.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.DeleteSkill(rows[0]), stop) }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	is(0, "a change that was undone")
	fail = stop
	before := storetest.State(t, db)
	if err := db.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteSkill(rows[0]) }); !errors.Is(err, stop) {
		t.Errorf("error %v, want the error of BeforeChange", err)
	}
	is(1, "a change")
	if after := storetest.State(t, db); after != before || len(storetest.Offered(t, db)) != 1 {
		t.Errorf("%+v became %+v, although BeforeChange failed", before, after)
	}
	again, err := announced(path)
	must.Do(t, err)
	again.Close()
	is(0, "opening a file that is there")
	if _, err := announced(dbPath(t)); !errors.Is(err, stop) {
		t.Errorf("opening a new file: %v, want the error of BeforeChange", err)
	}
}

// TestRollBackWhole: a rollback also restores the full-text index.
func TestRollBackWhole(t *testing.T) {
	db := open(t, dbPath(t))
	rows := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	change := func(tx store.Tx) error {
		source, err := tx.PutSource(store.Source{Label: "b"})
		if err != nil {
			return err
		}
		_, err = tx.PutSkill(source, storetest.Record("csv", "tables", "body"))
		return errors.Join(err, tx.DeleteSkill(rows[0]))
	}
	db.BeforeChange(func() error { return errors.New("stop") }) // after all was written
	if err := db.Update(t.Context(), change); err == nil {
		t.Error("no error")
	}
	db.BeforeChange(func() error { panic("stop") })
	func() {
		defer func() { recover() }()
		db.Update(t.Context(), change)
	}()
	checkWhole(t, db)
	if got := matchIDs(t, db, "body", nil, 9); !reflect.DeepEqual(got, rows) {
		t.Errorf("found %v, want %v", got, rows)
	}
	db.BeforeChange(func() error { return nil })
	storetest.Update(t, db, change) // the writer is free again
	checkWhole(t, db)
}

// TestViewWritesNothing: a view is a DB too, but its Update fails.
func TestViewWritesNothing(t *testing.T) {
	db := open(t, dbPath(t))
	err := db.View(t.Context(), func(r store.Reader) error {
		return r.(*DB).Update(t.Context(), func(store.Tx) error { t.Error("ran"); return nil })
	})
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("writing in a view: %v", err)
	}
}

// TestReplaceLeavesNothing: a query finds a replaced skill by its new words only, and
// never finds a refused one.
func TestReplaceLeavesNothing(t *testing.T) {
	db := open(t, dbPath(t))
	id := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "old", "old"))[0]
	if again := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fresh", "fresh"))[0]; again != id {
		t.Errorf("id %d became %d", id, again)
	}
	if got := matchIDs(t, db, "old", nil, 9); len(got) != 0 {
		t.Errorf("old words find %v", got)
	}
	if got := matchIDs(t, db, "fresh", nil, 9); !reflect.DeepEqual(got, []int64{id}) {
		t.Errorf("new words find %v", got)
	}
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Refused("pdf/SKILL.md"))
	if got := matchIDs(t, db, "fresh OR old", nil, 9); len(got) != 0 {
		t.Errorf("a refused skill is found: %v", got)
	}
	checkWhole(t, db)
}

// running receives a value whenever a statement calls the SQL function test_running,
// which exists in every connection of the test binary.
var running = make(chan struct{})

func sendRunning(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
	running <- struct{}{}
	return int64(1), nil
}

// TestCancelInterrupts: without the interrupt, SQLite would count for hours. SQLite loses
// an interrupt that comes before the statement runs, so the statement reports its start.
func TestCancelInterrupts(t *testing.T) {
	db := open(t, dbPath(t))
	const endless = `WITH RECURSIVE n (i) AS (SELECT test_running() UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	for range 2 * runtime.GOMAXPROCS(0) { // more often than there are connections
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			var n int
			done <- db.read.QueryRowContext(ctx, endless).Scan(&n)
		}()
		select {
		case <-running:
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
		case err := <-done:
			t.Fatalf("the query ended by itself: %v", err)
		}
		cancel()
	}
	storetest.State(t, db)
	err := db.Update(t.Context(), func(tx store.Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tx.(*Tx).ctx = ctx
		return tx.PutStamp(1, "x")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v, want context.Canceled", err)
	}
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b")) // the pools are usable
}

func BenchmarkPutSkill(b *testing.B) {
	db := open(b, dbPath(b))
	records := generated(500)
	n := 0
	for b.Loop() {
		storetest.Update(b, db, func(tx store.Tx) error {
			source, err := tx.PutSource(store.Source{Label: "a"})
			if err != nil {
				return err
			}
			for range 50 {
				if _, err := tx.PutSkill(source, records[n%len(records)]); err != nil {
					return fmt.Errorf("skill %d: %w", n, err)
				}
				n++
			}
			return nil
		})
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "skills/s")
}
