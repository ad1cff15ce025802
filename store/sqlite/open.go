package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/repertoire-skills/repertoire/internal/regular"
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
	// Seeds returns the catalogs from one of which a new file may be copied, the best
	// first. It is called only when there is no file yet; nil means no seeds.
	Seeds func() []Seed
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	beforeChange func() error // see DB.BeforeChange; Open has none yet
}

// Open opens the catalog in the file at path; it makes the file and its folder if they do
// not exist, or if whoever began to make the file was stopped. It moves a damaged file
// aside (see DB.Recovered) and makes a new one. It replaces a catalog that an older version of
// this program made. It fails if the file is another program's
// database, if a newer version of this program wrote it, or if something other than a
// regular file is in the place of one of its files. If the file can be read but not
// written, it opens the catalog read-only. opts may be nil.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	o := *cmp.Or(opts, new(Options))
	o.BusyTimeout = cmp.Or(o.BusyTimeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := openLocked(ctx, abs, o)
	if isPermission(err) {
		if cause := unwritable(abs); cause != nil {
			return openReadOnly(ctx, abs, o, cause)
		}
	}
	if isFull(err) && sizeOfWAL(abs) == 0 {
		return openReadOnly(ctx, abs, o, err)
	}
	return db, err
}

// openLocked opens the file while it holds a lock file: only one process at a time may
// create or replace a catalog.
func openLocked(ctx context.Context, path string, o Options) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of catalog %s: %w", path, err)
	}
	if err := regular.Check(path+".lock", path); err != nil {
		return nil, fmt.Errorf("opening catalog: %w", err)
	}
	file, err := target(path)
	if err != nil {
		return nil, err
	}
	if err := regular.Check(file+walSuffix, file+shmSuffix, file+journalSuffix, file+damagedSuffix); err != nil {
		return nil, fmt.Errorf("opening catalog: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	defer lock.Close()
	aside := ""
	db, err := openFile(ctx, file, o)
	switch {
	case isCorrupt(err) || isCut(err):
		if aside, err = moveAside(file, o.Now()); err != nil {
			return nil, fmt.Errorf("moving damaged catalog aside: %w", err)
		}
		db, err = openFile(ctx, file, o)
	case errors.Is(err, errOlder):
		if err := create(ctx, file, o); err != nil {
			return nil, fmt.Errorf("replacing the catalog of an older version %s: %w", file, err)
		}
		db, err = openFile(ctx, file, o)
	}
	if err != nil {
		return nil, err
	}
	db.path, db.recovered = path, aside
	return db, nil
}

// openFile opens one file, and makes it if there is none. If the file is damaged, isCorrupt
// reports true for the error; if it has an older schema, the error is errOlder.
func openFile(ctx context.Context, path string, o Options) (*DB, error) {
	if _, err := os.Stat(path + damagedSuffix); err == nil {
		return nil, fmt.Errorf("opening catalog %s: %w", path, store.ErrDamaged)
	}
	young, err := isUnborn(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("opening catalog %s: %w", path, err)
	}
	if young {
		if err := start(ctx, path, o); err != nil {
			return nil, fmt.Errorf("making catalog %s: %w", path, err)
		}
	}
	db, err := connect(path, o, "")
	if err != nil {
		return nil, err
	}
	if err = current(ctx, db.write); err == nil {
		err = db.checkWAL(ctx)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("opening catalog %s: %w", path, err)
	}
	db.files = filesAt(path) // -wal and -shm are there since the first read
	return db, nil
}

// unwritable returns why the catalog cannot be written; nil means that it can. It tries,
// because SQLite has one error for many causes.
func unwritable(path string) error {
	if err := checkWritable(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// immutable opens a file that nobody writes: without locks, and without the files beside it.
const immutable = "mode=ro&immutable=1"

// openReadOnly opens a file that cannot be written because of cause. In WAL mode, SQLite
// would create files beside it, unless "immutable" promises that nobody writes. But if
// there is a write-ahead log, the file alone is older than the catalog.
func openReadOnly(ctx context.Context, path string, o Options, cause error) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("making catalog %s: its folder cannot be written: %w", path, cause)
	}
	query := immutable
	if sizeOfWAL(path) > 0 {
		query = "mode=ro"
	}
	db, err := connectReadable(ctx, path, o, query)
	if err != nil && query != immutable { // there may be no index of the log, and none can be made
		db, err = connectReadable(ctx, path, o, immutable)
	}
	if err != nil {
		return nil, fmt.Errorf("opening catalog %s, which cannot be written (%w): %w", path, cause, err)
	}
	db.readOnly, db.cause, db.files, db.look = true, cause, files{filesAt(path)[0]}, db.Look()
	return db, nil
}

// connectReadable is connect for a file that must be a catalog of this version.
func connectReadable(ctx context.Context, path string, o Options, query string) (*DB, error) {
	db, err := connect(path, o, query)
	if err != nil {
		return nil, err
	}
	if err := current(ctx, db.read); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// errOlder means that an older version of this program made a catalog.
var errOlder = errors.New("an older version made it, and it must be made again")

// current fails unless a file is a catalog with the schema of this version.
func current(ctx context.Context, db *sql.DB) error {
	done, err := version(ctx, db)
	if err == nil && done < schemaVersion() {
		err = errOlder
	}
	return err
}

// pragmas are set on every connection; TestPragmas reads them back. The driver sorts
// them. The journal mode is a parameter of its own, see connect.
var pragmas = []string{
	"page_size(32768)",    // see create
	"synchronous(normal)", // a power cut may lose the last commit, never the file
	"foreign_keys(on)",    // off by default
	"temp_store(memory)",  // sorters must not need a writable temp folder
	"cache_size(-8192)",   // KiB
}

// connect makes the two pools. They open connections when they need them.
func connect(path string, o Options, query string) (*DB, error) {
	params := fmt.Sprintf("_pragma=busy_timeout(%d)", o.BusyTimeout.Milliseconds())
	if query == "" {
		// In WAL mode readers and the writer do not wait for each other. A connection that
		// is opened later must not make a file where the catalog was.
		params += "&mode=rw&_journal_mode=wal&_pragma=" + strings.Join(pragmas, "&_pragma=")
	} else {
		params += "&" + query
	}
	name := URI(path) + "?" + params
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
	return &DB{path: path, opts: o, write: write, read: read}, nil
}

// URI returns the URI by which SQLite opens a file, on Windows too.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // "C:/x" becomes "/C:/x"
	}
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}

// makeTables makes the tables in an empty file, in one transaction.
func makeTables(ctx context.Context, o Options, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if o.beforeChange != nil {
		if err := o.beforeChange(); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	set := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion())
	if _, err := tx.ExecContext(ctx, set); err != nil {
		return err
	}
	return tx.Commit()
}

// version returns the version of a file's schema; 0 if the file is empty.
func version(ctx context.Context, db *sql.DB) (int, error) {
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
	case done > schemaVersion():
		return 0, fmt.Errorf("it was written by a newer version (schema %d, this one knows %d); delete it to rebuild it, or name another file", done, schemaVersion())
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
	return aside, RemoveBeside(path, walSuffix, shmSuffix, journalSuffix, damagedSuffix)
}

// isPermission reports whether err may mean that something cannot be written.
func isPermission(err error) bool {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return true
	}
	code := resultCode(err) & 0xff
	return code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN
}
