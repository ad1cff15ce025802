package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/repertoire-skills/repertoire/store"
)

// applicationID marks our files ("Rept" in ASCII), so that another program's database
// is never taken for a damaged catalog.
const applicationID = 0x52657074

// damagedSuffix ends the name of the file that marks a catalog as damaged.
const damagedSuffix = ".damaged"

// Options are the settings of Open. The zero value means all defaults.
type Options struct {
	// BusyTimeout is how long a writer waits for another process; 0 means 30 s.
	BusyTimeout time.Duration
	// BeforeChange is called, while no other process can write, before a commit that
	// changes what readers see, and before a new or migrated file is committed. Its
	// error cancels the commit. nil means no call.
	BeforeChange func() error
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Open opens the catalog in the file at path; it creates the file and its folder if they do
// not exist. It moves a damaged file aside (see DB.Recovered) and makes a new one. It fails
// if the file is another program's database, or if a newer version of this program wrote
// it. If the folder is not writable but the file is readable, it opens the catalog
// read-only. opts may be nil.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := openLocked(ctx, abs, o)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || isReadOnly(err) || isFull(err) && isMerged(abs) {
		db, roErr := openReadOnly(ctx, abs, o)
		if roErr == nil {
			db.cause = err
		}
		return db, roErr
	}
	return db, err
}

// openLocked opens the file while it holds a lock file: only one process at a time may
// create, migrate or replace a catalog.
func openLocked(ctx context.Context, path string, o Options) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	defer lock.Close()
	db, err := openFile(ctx, path, o)
	if !isCorrupt(err) {
		return db, err
	}
	aside, err := moveAside(path, o.Now())
	if err != nil {
		return nil, fmt.Errorf("moving damaged catalog aside: %w", err)
	}
	if db, err = openFile(ctx, path, o); err != nil {
		return nil, err
	}
	db.recovered = aside
	return db, nil
}

// openFile opens and migrates one file. If the file is damaged, isCorrupt reports true for
// the error.
func openFile(ctx context.Context, path string, o Options) (*DB, error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + damagedSuffix); err == nil {
		return nil, fmt.Errorf("opening catalog %s: %w", path, store.ErrDamaged)
	}
	if err := refuseForeign(ctx, path, o); err != nil {
		return nil, fmt.Errorf("opening catalog %s: %w", path, err)
	}
	if err := format(ctx, path); err != nil {
		return nil, fmt.Errorf("making catalog %s: %w", path, err)
	}
	db, err := connect(path, o, "")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, o, db.write); err != nil {
		db.Close()
		return nil, fmt.Errorf("opening catalog %s: %w", path, err)
	}
	return db, nil
}

// refuseForeign fails if the file is another program's database. It opens the file
// read-only and sets no pragma, because the journal mode alone would rewrite the
// header of the file.
func refuseForeign(ctx context.Context, path string, o Options) error {
	if ours, err := hasOurID(path); ours || err != nil {
		return err
	}
	texts, err := migrations()
	if err != nil {
		return err
	}
	db, err := connect(path, o, "mode=ro")
	if err != nil {
		return err
	}
	_, err = version(ctx, db.read, len(texts))
	return errors.Join(err, db.Close())
}

// hasOurID reports whether the header of the file holds our application ID. It does not if
// the file is new, or if everything so far is in the -wal file.
func hasOurID(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	const at = 68 // offset of the big-endian application ID
	header := make([]byte, at+4)
	n, err := io.ReadFull(f, header)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	return n == len(header) && binary.BigEndian.Uint32(header[at:]) == applicationID, nil
}

// createPrivate creates an empty file that only its owner can read, because SQLite would
// create one that everybody can read.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// format sets what can be set only while the file is empty. With large pages, long bodies
// waste half as much space. auto_vacuum lets a catalog return the pages that are
// free after a source was removed. The journal mode comes last, because it writes the first
// page.
func format(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA page_size = 32768; PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal")
	return errors.Join(err, db.Close())
}

// openReadOnly opens a file in a folder that is not writable. In WAL mode, SQLite would
// create files there, unless "immutable" promises that nobody writes.
func openReadOnly(ctx context.Context, path string, o Options) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening catalog: %w (its folder cannot be written)", err)
	}
	db, err := connect(path, o, "mode=ro&immutable=1")
	if err != nil {
		return nil, err
	}
	db.readOnly = true
	if err := readable(ctx, db); err != nil {
		db.Close()
		return nil, fmt.Errorf("opening catalog %s read-only: %w", path, err)
	}
	return db, nil
}

// readable fails unless the file is a catalog of this version. An older catalog cannot be
// migrated where nothing can be written.
func readable(ctx context.Context, db *DB) error {
	texts, err := migrations()
	if err != nil {
		return err
	}
	done, err := version(ctx, db.read, len(texts))
	if err == nil && done < len(texts) {
		err = fmt.Errorf("it has schema %d and must be brought to %d, but its folder cannot be written", done, len(texts))
	}
	return err
}

// pragmas are set on every connection; TestPragmas reads them back. The driver sorts
// them, but the page size must be set before the journal mode writes the first page.
// That is why connect gives the journal mode as a parameter of its own.
var pragmas = []string{
	"page_size(32768)",    // see format
	"synchronous(normal)", // a power cut may lose the last commit, never the file
	"foreign_keys(on)",    // off by default
	"temp_store(memory)",  // sorters must not need a writable temp folder
	"cache_size(-8192)",   // KiB
}

// connect makes the two pools. They open connections when they need them.
func connect(path string, o Options, query string) (*DB, error) {
	params := fmt.Sprintf("_pragma=busy_timeout(%d)", o.BusyTimeout.Milliseconds())
	if query == "" {
		// In WAL mode readers and the writer do not wait for each other.
		params += "&_journal_mode=wal&_pragma=" + strings.Join(pragmas, "&_pragma=")
	} else {
		params += "&" + query
	}
	name := dsn(path) + "?" + params
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", name+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", name+"&_query_only=1")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(max(2, runtime.GOMAXPROCS(0)))
	read.SetMaxIdleConns(max(2, runtime.GOMAXPROCS(0)))
	return &DB{path: path, opts: o, file: info, write: write, read: read}, nil
}

// dsn turns a file name into a URI for SQLite, on Windows too.
func dsn(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // "C:/x" becomes "/C:/x"
	}
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}

// migrate brings the schema up to date, in one transaction.
func migrate(ctx context.Context, o Options, db *sql.DB) error {
	texts, err := migrations()
	if err != nil {
		return err
	}
	done, err := version(ctx, db, len(texts))
	if err != nil || done == len(texts) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if o.BeforeChange != nil {
		if err := o.BeforeChange(); err != nil {
			return err
		}
	}
	for i, text := range texts[done:] {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("migration %d: %w", done+i+1, err)
		}
	}
	set := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(texts))
	if _, err := tx.ExecContext(ctx, set); err != nil {
		return err
	}
	return tx.Commit()
}

// version returns how many migrations have been applied to the file; newest is how many
// exist.
func version(ctx context.Context, db *sql.DB, newest int) (int, error) {
	var id, done, tables int
	err := db.QueryRowContext(ctx, "SELECT * FROM pragma_application_id, pragma_user_version").Scan(&id, &done)
	if err != nil {
		return 0, err
	}
	// Reading the schema here shows at once that the first page is damaged.
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case id == 0 && done == 0 && tables == 0:
		return 0, nil // new
	case id != applicationID:
		return 0, fmt.Errorf("this is another program's database (application id %#x); name another file", id)
	case done > newest:
		return 0, fmt.Errorf("it was written by a newer version (schema %d, this one knows %d); delete it to rebuild it, or name another file", done, newest)
	}
	return done, nil
}

// moveAside renames a damaged file, removes the files that belong to it, and returns
// the new name. It keeps the file because it may be worth a bug report.
func moveAside(path string, now time.Time) (string, error) {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000000000")
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm", damagedSuffix} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// isReadOnly reports whether SQLite could not write where the file is.
func isReadOnly(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN
}
