package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// childJob names the environment variable that makes the test binary run as a second
// process; its value is a key of childJobs.
const childJob = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		if err := childJobs()[job](os.Getenv(childJob + "_PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	sqlite.MustRegisterScalarFunction("test_running", 0, sendRunning)
	testsize.Main(m)
}

// child returns a command that does a job on the catalog at path in another
// process.
func child(t *testing.T, job, path string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must.Do(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childJob+"="+job, childJob+"_PATH="+path)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "cache", "catalog.db") }

// open opens the catalog at path until the end of the test.
func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, nil)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestStore runs the contract, and checks each file afterwards.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) store.Store {
		db := open(t, dbPath(t))
		t.Cleanup(func() { checkWhole(t, db) })
		return db
	})
}

// TestStoreDeferred runs the contract with catalogs that are opened on first use.
func TestStoreDeferred(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	storetest.Test(t, func(t *testing.T) store.Store {
		db := Defer(dbPath(t), nil)
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	})
}

func checkWhole(t *testing.T, db *DB) {
	t.Helper()
	if err := checkFile(context.Background(), db); err != nil {
		t.Error(err)
	}
}

// checkFile fails unless the database is undamaged and its full-text index holds exactly
// the skills that are not refused.
func checkFile(ctx context.Context, db *DB) error {
	var ok string
	if err := db.write.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		return fmt.Errorf("integrity_check: %s, %v", ok, err)
	}
	if _, err := db.write.ExecContext(ctx, "INSERT INTO fts (fts) VALUES ('integrity-check')"); err != nil {
		return fmt.Errorf("integrity check of the full-text index: %w", err)
	}
	var wrong int
	err := db.write.QueryRowContext(ctx, `SELECT count(*) FROM
		(SELECT id FROM skills WHERE refused = 0) s FULL JOIN (SELECT rowid AS id FROM fts) f ON f.id = s.id
		WHERE s.id IS NULL OR f.id IS NULL`).Scan(&wrong)
	if err != nil || wrong != 0 {
		return fmt.Errorf("%d rows are in only one of skills and fts, %v", wrong, err)
	}
	return nil
}
