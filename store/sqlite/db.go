// Package sqlite is the engine of catalog files: a store.Store in one SQLite database,
// with an FTS5 index over the terms of the skills. Its one rule: it owns all SQL.
//
// The file is a cache: the package moves a damaged file aside and makes a new one. It
// never touches a file of another program. It knows an open file by its identity: when
// another one is at its path, all calls fail with store.ErrStale.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

var (
	_ store.Store        = (*DB)(nil)
	_ store.TextSearcher = (*DB)(nil)
	_ store.Announcer    = (*DB)(nil)
)

// A DB is an open catalog. Several goroutines may use it, and several processes may have
// the same file open.
type DB struct {
	path      string
	recovered string // new path of a damaged file; "" means there was none
	files     files  // that were opened
	look      string // of a file that was opened read-only, see Look
	readOnly  bool
	cause     error // why the file was opened read-only; nil if it was not

	write *sql.DB // one connection, its transactions take the write lock at once
	read  *sql.DB

	mu    sync.Mutex // guards stmts
	stmts map[string]*sql.Stmt

	opts     Options
	before   atomic.Pointer[func() error] // see BeforeChange
	deferred *deferred                    // set by Defer; nil means that Open made the DB
	view     *sql.Tx                      // set by View, for all reads; nil means the read pool
}

// Path returns the name of the database file.
func (db *DB) Path() string { return db.path }

// Recovered returns the path to which Open moved a damaged file; "" means that the file
// was not damaged.
func (db *DB) Recovered() string {
	if !db.isOpen() {
		return ""
	}
	return db.recovered
}

// ReadOnly implements store.Store. It returns false until the file is open, see
// Defer.
func (db *DB) ReadOnly() bool { return db.isOpen() && db.readOnly }

// ReadOnlyError returns why the catalog cannot be written: an error that wraps
// store.ErrReadOnly, and the cause if it is known.
func (db *DB) ReadOnlyError() error {
	if db.cause != nil {
		return fmt.Errorf("%s: %w: %w", db.path, store.ErrReadOnly, db.cause)
	}
	return fmt.Errorf("%s: %w", db.path, store.ErrReadOnly)
}

// CanWrite reports whether a catalog that was opened read-only can be written by now, such
// as after somebody has made room on a disk. It tries.
func (db *DB) CanWrite(ctx context.Context) bool {
	again, err := Open(ctx, db.path, &db.opts)
	if err != nil {
		return false
	}
	defer again.Close() // it has changed nothing
	return !again.readOnly
}

// Close releases the file. A transaction that is under way is rolled back.
func (db *DB) Close() error {
	if !db.forbidOpen() {
		return nil // the file was never opened
	}
	db.mu.Lock()
	for _, s := range db.stmts {
		s.Close() // an error does not matter: the connection is closed below
	}
	db.stmts = nil
	db.mu.Unlock()
	return errors.Join(db.read.Close(), db.write.Close())
}

// BeforeChange implements store.Announcer. A file that Defer has not opened yet calls f also
// before it is made or migrated.
func (db *DB) BeforeChange(f func() error) { db.before.Store(&f) }

// announce calls what BeforeChange was called with.
func (db *DB) announce() error {
	if f := db.before.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// Update implements store.Store.
func (db *DB) Update(ctx context.Context, f func(store.Tx) error) error {
	if err := db.Ready(ctx); err != nil {
		return err
	}
	if db.readOnly || db.view != nil {
		return db.ReadOnlyError()
	}
	return db.note(ctx, db.update(ctx, f))
}

func (db *DB) update(ctx context.Context, f func(store.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("starting transaction: %w", err)
	}
	// Rollback does nothing after the commit. It can only fail when the connection is
	// gone, and then the transaction is gone too.
	defer tx.Rollback()
	t := newTx(ctx, tx)
	if err := t.run(f); err != nil {
		return err
	}
	if t.changed {
		if err := db.announce(); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// isCorrupt reports whether err means that the database file is damaged.
func isCorrupt(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the end of a context closes rows while they are read
	}
	if errors.Is(err, store.ErrDamaged) {
		return true
	}
	switch resultCode(err) & 0xff { // the low byte is the primary result code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	case sqlite3.SQLITE_NOMEM:
		return true // a damaged length may ask for too much memory; a needless rebuild does no harm
	case sqlite3.SQLITE_ERROR:
		return strings.Contains(err.Error(), "no such ") // table, column: the schema is not ours
	}
	return false
}

// resultCode returns the result code of SQLite, 0 if err has none.
func resultCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// isCut reports whether a file ends before the place that another file says. If this is so
// when a catalog is opened, it stays so.
func isCut(err error) bool { return resultCode(err) == sqlite3.SQLITE_IOERR_SHORT_READ }

// isStale reports whether err means that the open files are of no use any more: somebody
// has cut, removed or replaced one of them.
func isStale(err error) bool {
	code := resultCode(err)
	return code&0xff == sqlite3.SQLITE_IOERR || code&0xff == sqlite3.SQLITE_PROTOCOL || code == sqlite3.SQLITE_READONLY_DBMOVED
}

// note returns err, as store.Store defines it: the error of a context that has ended, or
// one that matches store.ErrDamaged or store.ErrStale if the catalog must be made or opened
// again. It marks a damaged file so that the next Open makes a new one, because Open reads
// too little to find all damage itself.
func (db *DB) note(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended // database/sql then closes what is in use, and says only that it is closed
	}
	if isStale(err) {
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	if !isCorrupt(err) {
		return err
	}
	if !errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	// If another process has replaced the file meanwhile, the new file is good.
	if db.readOnly || db.checkFiles() != nil {
		return err
	}
	file, linkErr := target(db.path)
	if linkErr != nil {
		return err
	}
	if special := regular.Check(file + damagedSuffix); special != nil {
		return errors.Join(err, special)
	}
	return errors.Join(err, os.WriteFile(file+damagedSuffix, nil, 0o600))
}

// prepare returns the prepared statement with this name, on the read pool or the view.
func (db *DB) prepare(ctx context.Context, name string) (*sql.Stmt, error) {
	if err := db.Ready(ctx); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if s := db.stmts[name]; s != nil {
		return s, nil
	}
	if db.stmts == nil {
		db.stmts = make(map[string]*sql.Stmt)
	}
	var s *sql.Stmt
	var err error
	if db.view != nil {
		s, err = db.view.PrepareContext(ctx, statement(name))
	} else {
		s, err = db.read.PrepareContext(ctx, statement(name))
	}
	if err != nil {
		return nil, db.note(ctx, fmt.Errorf("preparing %s: %w", name, err))
	}
	db.stmts[name] = s
	return s, nil
}

// query runs the statement with this name and calls scan for every row.
func (db *DB) query(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	stmt, err := db.prepare(ctx, name)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return db.note(ctx, fmt.Errorf("running %s: %w", name, err))
	}
	return db.note(ctx, each(name, rows, scan))
}

// each calls scan for every row and closes rows.
func each(name string, rows *sql.Rows, scan func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			// This package wrote all values, so a value of another type is damage.
			return fmt.Errorf("reading %s: %w: %w", name, store.ErrDamaged, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("running %s: %w", name, err)
	}
	return nil
}
