package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/store"
)

// deferred is a DB that has not been opened yet.
type deferred struct {
	opts   *Options
	open   atomic.Bool
	mu     sync.Mutex // guards closed, and opening
	closed bool
}

// Defer returns the catalog in the file at path, and opens the file on first use, as Open
// does. The call that uses it returns any error of opening. A process that finds all it
// needs in published snapshots never opens the file.
func Defer(path string, opts *Options) *DB {
	if abs, err := filepath.Abs(path); err == nil { // otherwise Open returns the error
		path = abs
	}
	return &DB{path: path, deferred: &deferred{opts: opts}}
}

func (db *DB) isOpen() bool { return db.deferred == nil || db.deferred.open.Load() }

// Ready implements store.Store: it opens the file if that was deferred.
func (db *DB) Ready(ctx context.Context) error {
	switch {
	case db.view != nil:
		return nil // the transaction has begun
	case db.isOpen():
		return db.checkFiles()
	}
	d := db.deferred
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return fmt.Errorf("%s: %w", db.path, store.ErrClosed)
	case d.open.Load():
		return nil
	}
	o := *cmp.Or(d.opts, new(Options))
	o.beforeChange = db.announce
	real, err := Open(ctx, db.path, &o)
	if err != nil {
		return err
	}
	db.recovered, db.files, db.look = real.recovered, real.files, real.look
	db.readOnly, db.cause = real.readOnly, real.cause
	db.opts, db.write, db.read = real.opts, real.write, real.read
	d.open.Store(true)
	return nil
}

// forbidOpen prevents a deferred file from being opened later. It reports whether the file
// is open.
func (db *DB) forbidOpen() bool {
	if db.deferred == nil {
		return true
	}
	db.deferred.mu.Lock()
	defer db.deferred.mu.Unlock()
	db.deferred.closed = true
	return db.deferred.open.Load()
}
