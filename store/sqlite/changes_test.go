package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// state returns the state of the catalog.
func state(t *testing.T, db *DB) State {
	t.Helper()
	s, err := db.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChanges(t *testing.T) {
	db := open(t, dbPath(t))
	one, two := []byte("one"), []byte("two")
	pdf, csv, xls := newRecord("pdf", "d", "b"), newRecord("csv", "d", "b"), newRecord("xls", "d", "b")
	pdf.Texts, csv.Texts = [][]byte{one, two}, [][]byte{two}
	low := put(t, db, Source{Label: "low"}, pdf, csv, xls)
	// A second pdf, of higher priority, shadows the first.
	high := put(t, db, Source{Label: "high", Priority: 1}, newRecord("pdf", "d", "b"))
	if err := db.Update(t.Context(), (*Tx).Shadow); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		model string
		f     func(*Tx) error
		want  []int64
	}{
		{"nothing", "m", func(*Tx) error { return nil }, nil},
		{"stamp", "m", func(tx *Tx) error { return tx.PutStamp(low[0], "new") }, nil},
		{"vectors of this model", "m", func(tx *Tx) error { return tx.PutVectors("m", [][]byte{one}, [][]float32{{1}}) }, low[:1]},
		{"vectors of two skills", "m", func(tx *Tx) error { return tx.PutVectors("m", [][]byte{two}, [][]float32{{1}}) }, low[:2]},
		{"vectors of another model", "m", func(tx *Tx) error { return tx.PutVectors("n", [][]byte{two}, [][]float32{{1}}) }, nil},
		{"vectors without a model", "", func(tx *Tx) error { return tx.PutVectors("n", [][]byte{one}, [][]float32{{1}}) }, nil},
		{"deleted", "", func(tx *Tx) error { return tx.DeleteSkill(low[2]) }, low[2:]},
		{"a winner deleted", "", func(tx *Tx) error { return errors.Join(tx.DeleteSkill(high[0]), tx.Shadow()) }, []int64{low[0], high[0]}},
		{"read again", "", func(tx *Tx) error { return tx.ForgetStamps(1) }, low[:2]},
	} {
		before := state(t, db).Generation
		update(t, db, tt.f)
		got, err := db.Changes(t.Context(), before, tt.model)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v; %v", tt.name, got, tt.want, err)
		}
	}
	all, err := db.Changes(t.Context(), 0, "")
	if want := []int64{low[0], low[1], low[2], high[0]}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("from the start: %v, want %v; %v", all, want, err)
	}
	entries, err := db.EntriesByID(t.Context(), all)
	if err != nil || len(entries) != 2 || entries[0].Name != "csv" || entries[1].Name != "pdf" {
		t.Errorf("of these are left %+v, %v; want csv and pdf", entries, err)
	}
}

// TestViewStands: what a view reads is of one moment, and it writes nothing.
func TestViewStands(t *testing.T) {
	db := open(t, dbPath(t))
	ids := put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "words of the body"))
	err := db.View(t.Context(), func(view *DB) error {
		before := state(t, view)
		put(t, db, Source{Label: "a"}, newRecord("csv", "d", "b"))
		if after := state(t, view); after != before || state(t, db) == before {
			t.Errorf("the view went from %+v to %+v", before, after)
		}
		if got := offered(t, view); len(got) != 1 {
			t.Errorf("the view sees %q", got)
		}
		f, ok, err := view.Fields(t.Context(), ids[0])
		if err != nil || !ok || f != newRecord("pdf", "d", "body of the words").Fields {
			t.Errorf("fields %+v, %v, %v", f, ok, err)
		}
		if _, ok, err := view.Fields(t.Context(), 99); ok || err != nil {
			t.Errorf("fields of no skill: %v, %v", ok, err)
		}
		return view.Update(t.Context(), func(*Tx) error { return nil })
	})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing in a view: %v", err)
	}
	if got := offered(t, db); len(got) != 2 {
		t.Errorf("afterwards there are %q", got)
	}
}

func TestPublish(t *testing.T) {
	db := open(t, dbPath(t))
	ids := put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "b"))
	name := Published(db.Path())
	publish := func(generation, feed int64) bool {
		t.Helper()
		ok, err := db.Publish(t.Context(), generation, feed, func() error { return os.WriteFile(name, []byte("x"), 0o600) })
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	is := func(want bool, when string) {
		t.Helper()
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: published is %v, want %v", when, err == nil, want)
		}
	}
	now := state(t, db).Generation
	if publish(now-1, 0) {
		t.Error("an old generation was published")
	}
	is(false, "an old generation")
	if !publish(now, 0) {
		t.Error("the present generation was not published")
	}
	is(true, "the present generation")
	update(t, db, func(tx *Tx) error { return tx.PutStamp(ids[0], "s") })
	is(true, "a stamp")
	stop := errors.New("stop")
	if err := db.Update(t.Context(), func(tx *Tx) error { return errors.Join(tx.DeleteSkill(ids[0]), stop) }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	is(true, "a change that was undone")
	update(t, db, func(tx *Tx) error { return tx.DeleteSkill(ids[0]) })
	is(false, "a change")

	now = state(t, db).Generation
	if changes, _ := db.Changes(t.Context(), 0, ""); len(changes) != 1 {
		t.Errorf("changes %v", changes)
	}
	publish(now, now)
	if s := state(t, db); s.Feed != now || s.Generation != now {
		t.Errorf("state %+v, want a feed from %d", s, now)
	}
	if changes, _ := db.Changes(t.Context(), 0, ""); len(changes) != 0 {
		t.Errorf("changes %v were not forgotten", changes)
	}
	if _, err := db.Publish(t.Context(), now, 0, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("publishing that fails: %v", err)
	}
}

// TestNewFileWithdraws: what was published of a file that is gone says nothing
// about the one in its place.
func TestNewFileWithdraws(t *testing.T) {
	path := dbPath(t)
	old := state(t, open(t, path)).Catalog
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(Published(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	if _, err := os.Stat(Published(path)); err == nil {
		t.Error("it is still published")
	}
	if s := state(t, db); s.Catalog == old || len(s.Catalog) != 16 {
		t.Errorf("catalog %q after %q", s.Catalog, old)
	}
}

func TestDefer(t *testing.T) {
	path := dbPath(t)
	never := Defer(path, nil)
	if never.Path() != path || never.Recovered() != "" || never.ReadOnly() {
		t.Errorf("%+v", never)
	}
	if err := never.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a file that nobody used was made")
	}
	if _, err := never.State(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("used after it was closed: %v", err)
	}

	db := Defer(path, nil)
	defer db.Close()
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := db.Entries(context.Background())
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "b"))
	if got := offered(t, db); len(got) != 1 {
		t.Errorf("offered %q", got)
	}

	foreign := filepath.Join(t.TempDir(), "foreign.db")
	makeDatabase(t, foreign, "CREATE TABLE x (y); PRAGMA application_id = 7")
	bad := Defer(foreign, nil)
	defer bad.Close()
	if _, err := bad.State(t.Context()); err == nil {
		t.Error("another program's database was opened")
	}
}

// TestDropModelsBreaksFeed: after it, nobody can start from an older generation.
func TestDropModelsBreaksFeed(t *testing.T) {
	db := open(t, dbPath(t))
	put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "b"))
	update(t, db, func(tx *Tx) error { return tx.PutVectors("m", [][]byte{[]byte("x")}, [][]float32{{1}}) })
	before := state(t, db)
	update(t, db, func(tx *Tx) error { return tx.DropModels("m") })
	if after := state(t, db); after != before {
		t.Errorf("%+v became %+v, although there is no other model", before, after)
	}
	update(t, db, func(tx *Tx) error { return tx.DropModels("n") })
	if after := state(t, db); after.Feed != after.Generation || after.Generation != before.Generation+1 {
		t.Errorf("%+v became %+v", before, after)
	}
}
