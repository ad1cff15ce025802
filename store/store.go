// Package store is the catalog file: one SQLite database with the skills, the
// full-text index over them and their vectors. It owns all SQL. The file is a
// cache: whatever is in it can be made again from the sources.
package store

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
)

// A DB is an open catalog. It may be used from several goroutines, and several
// processes may have the same file open.
type DB struct {
	path      string
	recovered string      // where a damaged file was moved to, or ""
	file      os.FileInfo // of the file that was opened
	readOnly  bool

	write *sql.DB // one connection, its transactions take the write lock at once
	read  *sql.DB

	mu    sync.Mutex // guards stmts
	stmts map[string]*sql.Stmt

	deferred *deferred // of Defer
	view     *sql.Tx   // of View: what all reads go through
}

// Path returns the name of the database file.
func (db *DB) Path() string { return db.path }

// Recovered returns the name under which a damaged file was kept when the
// catalog was opened, or "" when there was none.
func (db *DB) Recovered() string {
	if !db.isOpen() {
		return ""
	}
	return db.recovered
}

// ReadOnly reports whether the file can only be read, because its folder does
// not let anybody write. It is false before the file is opened, see Defer.
func (db *DB) ReadOnly() bool { return db.isOpen() && db.readOnly }

// Close releases the file. A transaction that is under way is rolled back.
func (db *DB) Close() error {
	if !db.giveUp() {
		return nil // it was never opened
	}
	db.mu.Lock()
	for _, s := range db.stmts {
		s.Close() // the connection is closed below, whatever this says
	}
	db.stmts = nil
	db.mu.Unlock()
	return errors.Join(db.read.Close(), db.write.Close())
}

// Generation returns a number that grows with every change a reader must see.
func (db *DB) Generation(ctx context.Context) (int64, error) {
	var n int64
	err := db.query(ctx, "generation", func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Update runs f in a transaction that holds the write lock from its start. It
// commits when f returns nil and then, if f changed anything that a reader
// sees, the generation has grown by one; otherwise nothing happened.
func (db *DB) Update(ctx context.Context, f func(*Tx) error) error {
	return db.transact(ctx, func(t *Tx) error {
		if err := t.run(f); err != nil || !t.changed {
			return err
		}
		return withdraw(db.path)
	})
}

// transact runs f in a transaction that holds the write lock from its start.
func (db *DB) transact(ctx context.Context, f func(*Tx) error) error {
	if err := db.Ready(ctx); err != nil {
		return err
	}
	if db.readOnly || db.view != nil {
		return fmt.Errorf("%s: %w", db.path, ErrReadOnly)
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return db.note(fmt.Errorf("starting transaction: %w", err))
	}
	// After the commit this does nothing. It can only fail when the connection
	// is gone, and then the transaction is gone with it.
	defer tx.Rollback()
	if err := f(newTx(ctx, tx)); err != nil {
		return db.note(err)
	}
	if err := tx.Commit(); err != nil {
		return db.note(fmt.Errorf("committing: %w", err))
	}
	return nil
}

// ErrReadOnly says that the catalog cannot be written where it is.
var ErrReadOnly = errors.New("catalog is read-only")

// errDamaged says that a value is not what this package wrote.
var errDamaged = errors.New("catalog is damaged")

// IsCorrupt reports whether err says that the database file is damaged, in
// which case opening it again moves it aside.
func IsCorrupt(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the end of a context closes rows while they are read
	}
	if errors.Is(err, errDamaged) {
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
		return true // what a length of nonsense asks for; to rebuild is harmless if it was not
	case sqlite3.SQLITE_ERROR:
		return strings.Contains(e.Error(), "no such ") // table, column: the schema is not ours
	}
	return false
}

// note marks the file as damaged when err says so: opening it does not read all
// of it, so that Open would not find out by itself. It returns err.
func (db *DB) note(err error) error {
	if !IsCorrupt(err) || db.readOnly {
		return err
	}
	// Another process may have replaced the file since; that one is good.
	if now, statErr := os.Stat(db.path); statErr != nil || !os.SameFile(now, db.file) {
		return err
	}
	return errors.Join(err, os.WriteFile(db.path+damagedSuffix, nil, 0o600))
}

// prepare returns the prepared statement of that name on the read pool.
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

// query runs the statement of that name on the read pool and calls scan for
// every row.
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
			// The statements are ours, so a value of another kind is not.
			return fmt.Errorf("reading %s: %w: %w", name, errDamaged, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("running %s: %w", name, err)
	}
	return nil
}
