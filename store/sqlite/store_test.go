package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// childJob names the environment variable that makes the test binary do the
// work of a second process: a key of childJobs.
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
	os.Exit(m.Run())
}

// child returns a command that does a job on the catalog at path in another
// process.
func child(t *testing.T, job, path string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// update runs f in a transaction.
func update(t testing.TB, db *DB, f func(*Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// newRecord returns a record of a skill of that name, in a folder of the name.
func newRecord(name, description, body string) Record {
	hash := sha256.Sum256([]byte(description))
	return Record{
		Path:    name + "/SKILL.md",
		Stamp:   "stamp of " + name,
		NameKey: name,
		Skill: &skill.Skill{
			Meta: skill.Meta{Name: name, Description: description, Tokens: words.Tokens(body), Digest: "digest of " + name},
			Body: body, Files: []skill.File{{Path: "SKILL.md", Size: int64(len(body))}},
		},
		Fields: Fields{Name: name, Description: description, Body: body},
		Texts:  [][]byte{hash[:]},
	}
}

// refused returns a record of a file without a usable skill.
func refused(path string) Record {
	return Record{Path: path, Refused: true, Skill: &skill.Skill{
		Problems: []skill.Problem{{Rule: "no-frontmatter", Severity: skill.Error, Path: path, Message: "no frontmatter"}},
	}}
}

// put adds records to a source that it makes, and returns their IDs.
func put(t testing.TB, db *DB, src Source, records ...Record) []int64 {
	t.Helper()
	var ids []int64
	update(t, db, func(tx *Tx) error {
		source, err := tx.PutSource(src)
		if err != nil {
			return err
		}
		for _, r := range records {
			id, err := tx.PutSkill(source, r)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return tx.Shadow()
	})
	return ids
}

func generation(t testing.TB, db *DB) int64 {
	t.Helper()
	n, err := db.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// offered returns "source:name" of all skills that are found under their name.
func offered(t testing.TB, db *DB) []string {
	t.Helper()
	entries, err := db.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range entries {
		if e := &entries[i]; e.Offered() {
			list = append(list, e.Source+":"+e.Name)
		}
	}
	return list
}

// checkFile fails unless the database is whole, and the full-text index has
// exactly the skills that are not refused.
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
