// Package sqlite is the engine of catalog files: a store.Store in one SQLite database,
// with an FTS5 index over the terms of the skills. Its one rule: it owns all SQL.
//
// The file is a cache: the package moves a damaged file aside and makes a new one. It
// never touches a file of another program.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/repertoire-skills/repertoire/store"
)

var (
	_ store.Store        = (*DB)(nil)
	_ store.TextSearcher = (*DB)(nil)
)

// A DB is an open catalog. Several goroutines may use it, and several processes may have
// the same file open.
type DB struct {
	path      string
	recovered string      // new path of a damaged file; "" means there was none
	file      os.FileInfo // the file that was opened
	readOnly  bool
	cause     error // why the file was opened read-only; nil if it was not

	write *sql.DB // one connection, its transactions take the write lock at once
	read  *sql.DB

	mu    sync.Mutex // guards stmts
	stmts map[string]*sql.Stmt

	opts     Options
	deferred *deferred // set by Defer; nil means that Open made the DB
	view     *sql.Tx   // set by View, for all reads; nil means the read pool
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

// Update implements store.Store. It calls Options.BeforeChange before it commits a change
// that readers can see.
func (db *DB) Update(ctx context.Context, f func(store.Tx) error) error {
	if err := db.Ready(ctx); err != nil {
		return err
	}
	if db.readOnly || db.view != nil {
		return db.ReadOnlyError()
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return db.note(fmt.Errorf("starting transaction: %w", err))
	}
	// Rollback does nothing after the commit. It can only fail when the connection is
	// gone, and then the transaction is gone too.
	defer tx.Rollback()
	t := newTx(ctx, tx)
	if err := t.run(f); err != nil {
		return db.note(err)
	}
	if t.changed && db.opts.BeforeChange != nil {
		if err := db.opts.BeforeChange(); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return db.note(fmt.Errorf("committing: %w", err))
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
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff { // the low byte is the primary result code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	case sqlite3.SQLITE_NOMEM:
		return true // a damaged length may ask for too much memory; a needless rebuild does no harm
	case sqlite3.SQLITE_ERROR:
		return strings.Contains(e.Error(), "no such ") // table, column: the schema is not ours
	}
	return false
}

// note returns err. If err means that the file is damaged, the result matches
// store.ErrDamaged, and note marks the file so that the next Open makes a new one. Open
// reads too little to find all damage itself.
func (db *DB) note(err error) error {
	if !isCorrupt(err) {
		return err
	}
	if !errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if db.readOnly {
		return err
	}
	// If another process has replaced the file meanwhile, the new file is good.
	if now, statErr := os.Stat(db.path); statErr != nil || !os.SameFile(now, db.file) {
		return err
	}
	return errors.Join(err, os.WriteFile(db.path+damagedSuffix, nil, 0o600))
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
		return nil, fmt.Errorf("preparing %s: %w", name, err)
	}
	db.stmts[name] = s
	return s, nil
}

// query runs the statement with this name and calls scan for every row.
func (db *DB) query(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	stmt, err := db.prepare(ctx, name)
	if err != nil {
		return db.note(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return db.note(fmt.Errorf("running %s: %w", name, err))
	}
	return db.note(each(name, rows, scan))
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
