package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestStale: whoever has a file open that is no longer the catalog is told so by every
// call, and can open the new one. The new one is not harmed when the old one is closed.
func TestStale(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can be neither replaced nor removed")
	}
	for name, harm := range map[string]func(path string) error{
		"removed":            os.Remove,
		"folder removed":     func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"renamed":            func(path string) error { return os.Rename(path, path+".old") },
		"-wal removed":       func(path string) error { return os.Remove(path + "-wal") },
		"-shm removed":       func(path string) error { return os.Remove(path + "-shm") },
		"-wal and -shm gone": func(path string) error { return errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")) },
		"replaced by a copy": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".copy", data, 0o600), os.Rename(path+".copy", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			old, err := Open(t.Context(), path, nil)
			must.Do(t, err)
			storetest.Put(t, old, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
			must.Do(t, harm(path))
			_, stateErr := old.State(t.Context())
			for call, err := range map[string]error{
				"State":  stateErr,
				"Ready":  old.Ready(t.Context()),
				"View":   old.View(t.Context(), func(store.Reader) error { return nil }),
				"Update": old.Update(t.Context(), func(store.Tx) error { return nil }),
			} {
				if !errors.Is(err, store.ErrStale) {
					t.Errorf("%s: %v, want store.ErrStale", call, err)
				}
			}
			db := open(t, path)
			storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("csv", "read tables", "body"))
			if err := old.Close(); err != nil {
				t.Error(err)
			}
			if err := db.Ready(t.Context()); err != nil {
				t.Errorf("closing the old catalog harms the new one: %v", err)
			}
			checkWhole(t, db)
		})
	}
}

// TestReadOnlyIsStale: SQLite believes that nobody writes a file that is open read-only. If
// somebody does, every call says so.
func TestReadOnlyIsStale(t *testing.T) {
	path := dbPath(t)
	writeCatalog(t, path)
	db, err := openReadOnly(t.Context(), path, Options{}, errors.New("a test"))
	must.Do(t, err)
	defer db.Close()
	if _, err := db.State(t.Context()); err != nil || db.Ready(t.Context()) != nil {
		t.Errorf("before a change: %v, %v", err, db.Ready(t.Context()))
	}
	other := open(t, path)
	storetest.Put(t, other, store.Source{Label: "b"}, storetest.Record("xls", "calculate", "body"))
	for _, when := range []string{"beside the file", "into the file"} {
		if _, err := db.State(t.Context()); !errors.Is(err, store.ErrStale) {
			t.Errorf("written %s: %v, want %v", when, err, store.ErrStale)
		}
		must.Do(t, other.Close())
	}
}

// TestCut: a file that is cut while it is open is known as such.
func TestCut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut")
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		t.Run(suffix, func(t *testing.T) {
			path := dbPath(t)
			old, err := Open(t.Context(), path, nil)
			must.Do(t, err)
			storetest.Put(t, old, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
			must.Do(t, os.Truncate(path+suffix, 0))
			_, err = old.State(t.Context())
			if err != nil && !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("error %v", err)
			}
			old.Close() // it may complain about the file
			db := open(t, path)
			storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("csv", "read tables", "body"))
			checkWhole(t, db)
		})
	}
}

// TestEndedContext: after a context has ended, every call returns the context's error, and
// none about what was closed because of that.
func TestEndedContext(t *testing.T) {
	path := dbPath(t)
	writeCatalog(t, path)
	db := open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.View(ctx, func(r store.Reader) error {
		if _, err := r.State(ctx); err != nil {
			return err
		}
		cancel()
		for range 2000 { // in the meantime database/sql ends the transaction
			runtime.Gosched()
			if _, err := r.State(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("View: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err = db.Update(ctx, func(tx store.Tx) error {
		cancel()
		var err error
		for range 2000 {
			runtime.Gosched()
			if _, err = tx.State(); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v", err)
	}
}
