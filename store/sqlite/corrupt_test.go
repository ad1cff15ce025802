package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// writeCatalog makes a catalog with some skills at path and returns its bytes.
func writeCatalog(t *testing.T, path string) []byte {
	t.Helper()
	db, err := Open(t.Context(), path, nil)
	must.Do(t, err)
	var records []*store.Record
	for i := range 200 {
		records = append(records, storetest.Record(fmt.Sprintf("skill-%d", i), fmt.Sprint("does thing ", i), strings.Repeat("some words ", 400)))
	}
	storetest.Put(t, db, store.Source{Label: "a"}, records...)
	must.Do(t, db.Close())
	data, err := os.ReadFile(path)
	must.Do(t, err)
	return data
}

// aside returns the damaged files that were moved aside.
func aside(t *testing.T, path string) []string {
	t.Helper()
	list, err := filepath.Glob(path + ".damaged-*")
	must.Do(t, err)
	return list
}

func TestOpenDamaged(t *testing.T) {
	testsize.Long(t)
	for name, damage := range map[string]func([]byte) []byte{
		"garbage header":   func(b []byte) []byte { copy(b, "not a database at all"); return b },
		"garbage":          func([]byte) []byte { return bytes.Repeat([]byte("garbage "), 2000) },
		"cut in half":      func(b []byte) []byte { return b[:len(b)/2] },
		"cut in page one":  func(b []byte) []byte { return b[:1000] },
		"cut in header":    func(b []byte) []byte { return b[:50] },
		"garbage page one": func(b []byte) []byte { copy(b[100:4096], bytes.Repeat([]byte{0xA5}, 4096)); return b },
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			damaged := damage(writeCatalog(t, path))
			must.Do(t, os.WriteFile(path, damaged, 0o600))
			for _, suffix := range []string{"-wal", "-shm"} {
				must.Do(t, os.WriteFile(path+suffix, []byte("left over"), 0o600))
			}
			db := open(t, path)
			kept, err := os.ReadFile(db.Recovered())
			if err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("kept %d of %d bytes in %q, %v", len(kept), len(damaged), db.Recovered(), err)
			}
			checkUsable(t, db)
		})
	}
}

// checkUsable fails unless db is empty, undamaged and writable.
func checkUsable(t *testing.T, db *DB) {
	t.Helper()
	if got := storetest.Offered(t, db); len(got) != 0 {
		t.Errorf("the new catalog has %d skills", len(got))
	}
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	if err := checkFile(t.Context(), db); err != nil {
		t.Error(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if data, err := os.ReadFile(db.Path() + suffix); err != nil || string(data) == "left over" {
			t.Errorf("%s: %q, %v", suffix, data, err)
		}
	}
}

// readAll reads everything in the catalog.
func readAll(ctx context.Context, db *DB) error {
	entries, err := db.Entries(ctx, nil)
	for _, e := range entries {
		if err == nil {
			_, _, err = db.Skill(ctx, e.Row)
		}
		if err == nil {
			_, err = db.Rankings(ctx, "m", []int64{e.Row})
		}
	}
	if err == nil {
		_, err = db.Match(ctx, "words", skill.Weights{Name: 1, Description: 1, Tags: 1, Body: 1}, nil, 10)
	}
	return err
}

// TestDamageFoundLater flips bytes that opening does not read. When something reads them,
// isCorrupt must report true for the error, and the next Open must make a new catalog.
func TestDamageFoundLater(t *testing.T) {
	path := dbPath(t)
	data := writeCatalog(t, path)
	for at := len(data) / 2; at < len(data)*3/4; at++ {
		data[at] ^= 0x5A
	}
	must.Do(t, os.WriteFile(path, data, 0o600))
	db, err := Open(t.Context(), path, nil)
	if err != nil || db.Recovered() != "" {
		t.Fatalf("open: recovered %q, %v; this test needs damage that opening does not see", db.Recovered(), err)
	}
	if err := readAll(t.Context(), db); !isCorrupt(err) {
		t.Errorf("reading: %v, want an error of damage", err)
	}
	db.Close()
	db = open(t, path)
	if kept, err := os.ReadFile(db.Recovered()); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("the damaged file was not kept: %q, %v", db.Recovered(), err)
	}
	checkUsable2(t, path, db)
}

// checkUsable2 is checkUsable, and opens the catalog once more: one damage
// costs one rebuild.
func checkUsable2(t *testing.T, path string, db *DB) {
	t.Helper()
	checkUsable(t, db)
	if again := open(t, path); again.Recovered() != "" || len(storetest.Offered(t, again)) != 1 {
		t.Errorf("opened again: recovered %q", again.Recovered())
	}
}

// TestDamagedWhileOpen: when a process still has the old file open and finds its damage
// after another process has replaced it, the new file must stay.
func TestDamagedWhileOpen(t *testing.T) {
	path := dbPath(t)
	writeCatalog(t, path)
	old := open(t, path)
	must.Do(t, os.Rename(path, path+".old"))
	db := open(t, path)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	old.note(t.Context(), store.ErrDamaged)
	if again := open(t, path); again.Recovered() != "" {
		t.Error("a good catalog was moved aside")
	}
}

// TestDamagedPages overwrites one page at a time. Any error that follows must count as
// damage, so that no catalog stays broken.
func TestDamagedPages(t *testing.T) {
	testsize.Long(t)
	path := dbPath(t)
	data := writeCatalog(t, path)
	const page = 32768
	found, tried := 0, 0
	for at := 0; at < len(data); at += page * testsize.Rounds(2, 1) {
		tried++
		broken := filepath.Join(t.TempDir(), "catalog.db")
		garbage := bytes.Clone(data)
		for i := at; i < at+page; i++ {
			garbage[i] = byte(i * 7)
		}
		must.Do(t, os.WriteFile(broken, garbage, 0o600))
		db, err := Open(t.Context(), broken, nil)
		if err != nil {
			t.Errorf("page %d: open: %v", at/page, err)
			continue
		}
		if err := readAll(t.Context(), db); err != nil {
			found++
			if !isCorrupt(err) {
				t.Errorf("page %d: not known as damage: %v", at/page, err)
			}
		}
		db.Close()
	}
	if found < tried/4 {
		t.Errorf("damage of %d pages of %d was found; this test needs more", found, tried)
	}
}

// TestDamagedValue: a value that this package never wrote is damage too, even if SQLite
// finds nothing wrong.
func TestDamagedValue(t *testing.T) {
	db := open(t, dbPath(t))
	ids := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	storetest.Update(t, db, func(tx store.Tx) error {
		if err := tx.PutVectors("m", storetest.Record("", "fill forms", "").Texts, storetest.Packed([]float32{1})); err != nil {
			return err
		}
		_, err := tx.(*Tx).tx.Exec("UPDATE bodies SET body = x'ff'; UPDATE vectors SET vector = x'ff'")
		return err
	})
	if _, _, err := db.Skill(t.Context(), ids[0]); !isCorrupt(err) {
		t.Errorf("skill: %v, want an error of damage", err)
	}
	if _, err := db.Rankings(t.Context(), "m", ids); !isCorrupt(err) {
		t.Errorf("vectors: %v, want an error of damage", err)
	}
}

func TestIsCorruptOnlyDamage(t *testing.T) {
	db := open(t, dbPath(t))
	_, err := db.read.Exec("nonsense")
	for _, err := range []error{nil, err, sql.ErrNoRows, context.Canceled, errors.New("x")} {
		if isCorrupt(err) {
			t.Errorf("isCorrupt(%v)", err)
		}
	}
}

// TestCancelledIsNotDamaged cancels a context while rows are read. That closes the rows
// during a scan, which must not count as damage.
func TestCancelledIsNotDamaged(t *testing.T) {
	path := dbPath(t)
	writeCatalog(t, path)
	db := open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.query(ctx, "stamps", func(rows *sql.Rows) error {
		cancel()
		for {
			var id int64
			var path, stamp, digest, name, location string
			if err := rows.Scan(&id, &path, &stamp, &digest, &name, &location); err != nil {
				return err
			}
		}
	}, sql.Named("source", 1))
	if !errors.Is(err, context.Canceled) || isCorrupt(err) {
		t.Errorf("error %v, corrupt: %t", err, isCorrupt(err))
	}
	if _, err := os.Stat(path + damagedSuffix); err == nil {
		t.Error("the file is marked as damaged")
	}
}
