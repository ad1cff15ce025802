package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestKeepsLocks: opening a catalog in a process that has it open, and asking whether it
// can be written, releases no locks. Without them another process may take the catalog for
// one that nobody uses.
func TestKeepsLocks(t *testing.T) {
	closed := func(db *DB, err error) error {
		if err != nil {
			return err
		}
		return db.Close()
	}
	for name, f := range map[string]func(path string) error{
		"open again": func(path string) error { return closed(Open(t.Context(), path, nil)) },
		"open read-only": func(path string) error {
			return closed(openReadOnly(t.Context(), path, Options{}, errors.New("a test")))
		},
		"ask": unwritable,
	} {
		path := dbPath(t)
		db := open(t, path)
		storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
		before := locksOf(t, path)
		if err := f(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A transaction that has just ended may hold one more.
		if after := locksOf(t, path); before == 0 || after == 0 {
			t.Errorf("%s: the process had %d locks on the file, and has %d", name, before, after)
		}
	}
}

// locksOf returns how many locks this process has on a file.
func locksOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must.Do(t, err)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skip("locks cannot be listed: ", err)
	}
	n := 0
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, fmt.Sprintf(" %d ", os.Getpid())) && strings.Contains(line, fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)) {
			n++
		}
	}
	return n
}

// TestSpecialMark: nobody waits for a pipe in the place of the mark of a damaged catalog.
func TestSpecialMark(t *testing.T) {
	path := dbPath(t)
	db := open(t, path)
	must.Do(t, syscall.Mkfifo(path+damagedSuffix, 0o600))
	if err := db.note(t.Context(), store.ErrDamaged); !errors.Is(err, store.ErrDamaged) || !errors.Is(err, regular.ErrSpecial) {
		t.Errorf("error %v", err)
	}
}

// TestReadOnlyLog: in a folder that cannot be written, what a killed process left in the
// write-ahead log is read too.
func TestReadOnlyLog(t *testing.T) {
	from, dir := dbPath(t), t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	storetest.Put(t, open(t, from), store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	path := filepath.Join(dir, "catalog.db")
	for _, suffix := range fileSuffixes {
		data, err := os.ReadFile(from + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, data, 0o600)
		}
		must.Do(t, err)
	}
	must.Do(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	db := open(t, path)
	if got := storetest.Offered(t, db); len(got) != 1 || !db.ReadOnly() {
		t.Errorf("offered %q, read-only %t; want the skill in the log", got, db.ReadOnly())
	}
}
