package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

func TestPragmas(t *testing.T) {
	want := map[string]string{
		"journal_mode": "wal", "synchronous": "1", "foreign_keys": "1", "temp_store": "2",
		"cache_size": "-8192", "busy_timeout": "1234", "page_size": "32768", "auto_vacuum": "2",
	}
	if set := len(pragmas) + 3; len(want) != set {
		t.Errorf("%d pragmas are set, %d read back", set, len(want))
	}
	db, err := Open(t.Context(), dbPath(t), &Options{BusyTimeout: 1234 * time.Millisecond})
	must.Do(t, err)
	defer db.Close()
	want["query_only"] = "0"
	checkPragmas(t, db.write, 1, want)
	want["query_only"] = "1"
	checkPragmas(t, db.read, max(2, runtime.GOMAXPROCS(0)), want)
	if _, err := db.read.ExecContext(t.Context(), "UPDATE state SET generation = 9"); err == nil {
		t.Error("a reader wrote")
	}
}

// checkPragmas reads the pragmas back on n connections. It holds them all at once, so
// that they are different connections.
func checkPragmas(t *testing.T, pool *sql.DB, n int, want map[string]string) {
	t.Helper()
	for i := range n {
		conn, err := pool.Conn(t.Context())
		must.Do(t, err)
		defer conn.Close()
		for name, value := range want {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil || got != value {
				t.Errorf("connection %d: %s = %q, %v; want %q", i, name, got, err, value)
			}
		}
	}
}

func TestOpenTwice(t *testing.T) {
	path := dbPath(t)
	a := open(t, path)
	storetest.Put(t, a, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	b := open(t, path)
	if got, want := storetest.State(t, b), storetest.State(t, a); got != want || a.Recovered()+b.Recovered() != "" {
		t.Errorf("state %+v, want %+v; recovered %q, %q", got, want, a.Recovered(), b.Recovered())
	}
	if other := open(t, dbPath(t)); storetest.State(t, other).Catalog == storetest.State(t, a).Catalog {
		t.Error("two files are the same catalog")
	}
	var id, version int
	must.Do(t, b.read.QueryRow("SELECT * FROM pragma_application_id, pragma_user_version").Scan(&id, &version))
	if id != applicationID || version != schemaVersion() {
		t.Errorf("application id %#x, user version %d", id, version)
	}
}

// TestOpenOlder: a catalog that an older version made is made again. Whoever has it open
// finds that it was replaced, and readers of what was published of it are told first.
func TestOpenOlder(t *testing.T) {
	path := dbPath(t)
	old := open(t, path)
	storetest.Put(t, old, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	before := storetest.State(t, old)
	if _, err := old.write.Exec("PRAGMA user_version = 8"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, &Options{beforeChange: func() error { return errors.New("not now") }}); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("it was replaced although that was forbidden: %v", err)
	}
	withdrawn := 0
	db, err := Open(t.Context(), path, &Options{beforeChange: func() error { withdrawn++; return nil }})
	must.Do(t, err)
	defer db.Close()
	checkWhole(t, db)
	state := storetest.State(t, db)
	if state.Found != 0 || state.Generation != (store.Generation{}) || state.Catalog == before.Catalog || withdrawn != 1 || db.Recovered() != "" {
		t.Errorf("state %+v; withdrawn %d times; recovered %q", state, withdrawn, db.Recovered())
	}
	if err := old.Ready(t.Context()); !errors.Is(err, store.ErrStale) {
		t.Errorf("whoever had it open: %v", err)
	}
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
}

// TestOpenOddName: the file name becomes part of a URI, in which these characters are
// special.
func TestOpenOddName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20é", "catalog.db")
	db := open(t, path)
	storetest.State(t, db)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestOpenEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	db := open(t, path)
	if storetest.State(t, db).Generation.Number != 0 || db.Recovered() != "" {
		t.Errorf("an empty file is not a new catalog: recovered %q", db.Recovered())
	}
}

func TestPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := dbPath(t)
	db := open(t, path)
	storetest.Put(t, db, store.Source{Label: "a"}) // so that there are -wal and -shm
	for name, want := range map[string]fs.FileMode{
		filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %o", filepath.Base(name), info.Mode().Perm(), err, want)
		}
	}
}

func TestOpenForeign(t *testing.T) {
	for name, text := range map[string]string{
		"with an application id":    "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine'); PRAGMA application_id = 7",
		"without an application id": "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalog.db")
			makeDatabase(t, path, text)
			before, err := os.ReadFile(path)
			must.Do(t, err)
			_, err = Open(t.Context(), path, nil)
			if err == nil || !strings.Contains(err.Error(), "another program's") {
				t.Fatalf("error %v, want one about another program's database", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed; %v", err)
			}
			if entries, _ := filepath.Glob(path + ".damaged*"); len(entries) != 0 {
				t.Errorf("it was moved aside: %q", entries)
			}
		})
	}
}

func makeDatabase(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must.Do(t, err)
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
	must.Do(t, db.Close())
}

func TestOpenNewer(t *testing.T) {
	path := dbPath(t)
	db := open(t, path)
	if _, err := db.write.Exec("PRAGMA user_version = 9999"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, nil)
	if err == nil || !strings.Contains(err.Error(), "newer version (schema 9999") || isCorrupt(err) {
		t.Errorf("error %v, want one about a newer version", err)
	}
}

func TestOpenReadOnly(t *testing.T) {
	path := dbPath(t)
	db, err := Open(t.Context(), path, nil)
	must.Do(t, err)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	must.Do(t, db.Close())
	ro, err := openReadOnly(t.Context(), path, Options{}, fs.ErrPermission)
	must.Do(t, err)
	defer ro.Close()
	if got := storetest.Offered(t, ro); len(got) != 1 || !ro.ReadOnly() {
		t.Errorf("offered %q, read-only %v", got, ro.ReadOnly())
	}
	err = ro.Update(t.Context(), func(store.Tx) error { t.Error("ran"); return nil })
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("update: %v, want store.ErrReadOnly", err)
	}
}

func TestOpenReadOnlyRefuses(t *testing.T) {
	dir := t.TempDir()
	foreign, old := filepath.Join(dir, "foreign.db"), filepath.Join(dir, "old.db")
	makeDatabase(t, foreign, "CREATE TABLE notes (text)")
	makeDatabase(t, old, "PRAGMA application_id = 0x52657074")
	for path, want := range map[string]string{
		foreign:                         "another program's",
		old:                             "must be made again",
		filepath.Join(dir, "absent.db"): "its folder cannot be written: permission denied",
	} {
		if _, err := openReadOnly(t.Context(), path, Options{}, fs.ErrPermission); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", filepath.Base(path), err, want)
		}
	}
}

// TestUnwritableFolder: the folder that cannot be made is the cause, not that it is missing.
func TestUnwritableFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locked")
	must.Do(t, os.Mkdir(dir, 0o500))
	if os.Mkdir(filepath.Join(dir, "probe"), 0o700) == nil {
		t.Skip("this user may write into any folder: root or Windows")
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "cache", "catalog.db"), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want one of the permission", err)
	}
}

func TestOpenWaitsForLockUntilDone(t *testing.T) {
	path := dbPath(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// hotJournal is the first sector of a rollback journal that takes a database with pages of
// 32 KiB back to that many pages.
func hotJournal(pages byte) []byte {
	journal := make([]byte, 512)
	copy(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00"+string(pages)+"\x00\x00\x02\x00\x00\x00\x80\x00")
	return journal
}

// TestOpenUnborn: a file that somebody began to make is made again, whatever is in it, and
// so is one whose first change was never finished.
func TestOpenUnborn(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"formatted":        "PRAGMA page_size = 32768; PRAGMA auto_vacuum = incremental; VACUUM",
		"in WAL mode":      "PRAGMA page_size = 32768; PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal",
		"other page size":  "PRAGMA page_size = 4096; VACUUM",
		"a former version": "PRAGMA journal_mode = wal; CREATE TABLE x (y); DROP TABLE x",
	} {
		for _, journal := range [][]byte{nil, {}, hotJournal(0)} {
			t.Run(fmt.Sprintf("%s, journal of %d bytes", name, len(journal)), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "catalog.db")
				must.Do(t, os.WriteFile(path, nil, 0o600))
				if text != "" {
					makeDatabase(t, path, text)
				}
				if journal != nil {
					must.Do(t, os.WriteFile(path+"-journal", journal, 0o600))
				}
				db := open(t, path)
				if db.Recovered() != "" || db.ReadOnly() {
					t.Errorf("recovered %q, read-only %t", db.Recovered(), db.ReadOnly())
				}
				checkUsable(t, db)
				var size int
				if err := db.read.QueryRow("PRAGMA page_size").Scan(&size); err != nil || size != 32768 {
					t.Errorf("pages of %d bytes, %v", size, err)
				}
			})
		}
	}
}

// TestOpenForeignJournal: a change that another program did not finish stays as it is.
func TestOpenForeignJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	makeDatabase(t, path, "CREATE TABLE notes (text)")
	must.Do(t, os.WriteFile(path+"-journal", hotJournal(2), 0o600))
	before := contentsAt(t, path)
	if _, err := Open(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), path+"-journal belongs to a change") {
		t.Errorf("error %v, want one about the journal", err)
	}
	if after := contentsAt(t, path); !reflect.DeepEqual(before, after) {
		t.Errorf("files %q, before %q", after, before)
	}
}

// contentsAt returns the files whose names begin with path, except for the lock.
func contentsAt(t *testing.T, path string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	found := make(map[string]string)
	for _, name := range names {
		if name != path+".lock" {
			data, readErr := os.ReadFile(name)
			err = errors.Join(err, readErr)
			found[name] = string(data)
		}
	}
	must.Do(t, err)
	return found
}
