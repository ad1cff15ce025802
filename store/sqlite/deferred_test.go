package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

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
	if _, err := never.State(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("used after it was closed: %v", err)
	}

	db := Defer(path, nil)
	defer db.Close()
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := db.Entries(context.Background(), nil)
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	if got := storetest.Offered(t, db); len(got) != 1 {
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
