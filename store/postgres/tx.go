package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

// Update implements store.Store.
func (db *DB) Update(ctx context.Context, f func(store.Tx) error) error {
	return db.writing(ctx, func(w *writer) error { return w.update(ctx, f) })
}

// Join implements store.Joiner.
func (db *DB) Join(ctx context.Context, f func(store.Store) error) error {
	return db.writing(ctx, func(w *writer) error { return f(&joined{writer: w}) })
}

// A writer is one transaction. It has locked the catalog, so nobody else changes what it
// keeps.
type writer struct {
	held
	reader
	tx       pgx.Tx
	identity string
	before   store.Generation // of the transaction
	existing int              // skills before the transaction
	changed  bool             // readers will see a difference
	files    fileChanges
	found    atomic.Int64 // how many skills there are more than before
	newest   int64        // the highest row that was ever used
	written  int64        // the highest row of a skill that the database has
	kept     kept
}

// kept is what a writer has read. It is nil where nothing has been read.
type kept struct {
	sources map[int64]store.Source
	rows    map[int64]map[string]int64 // of skills, by source and path
	places  map[int64]place            // of the skills in rows
	models  map[string]int64
}

// A place is where a skill is.
type place struct {
	source int64
	path   string
}

// State implements store.Reader. Its generation is the one before the transaction.
func (w *writer) State(ctx context.Context) (store.State, error) {
	return store.State{Catalog: w.identity, Generation: w.before, Found: w.existing + int(w.found.Load())}, ctx.Err()
}

// generation is the number of the generation that the transaction makes.
func (w *writer) generation() int64 { return w.before.Number + 1 }

// writing calls f in a transaction that has locked the catalog, and commits.
func (db *DB) writing(ctx context.Context, f func(*writer) error) error {
	if db.opts.ReadOnly {
		return fmt.Errorf("%s: %w", db.name, store.ErrReadOnly)
	}
	var failed error
	err := db.lock(ctx, func(w *writer) error {
		defer rollback(ctx, w.tx)
		if failed = f(w); failed != nil {
			return nil
		}
		return w.finish(ctx)
	})
	if failed != nil {
		return failed
	}
	return db.note(ctx, err)
}

// lock calls f in a transaction that has locked the catalog. A connection that proves to be
// dead before costs another one.
func (db *DB) lock(ctx context.Context, f func(*writer) error) error {
	return db.try(ctx, db.write, func(conn *pgx.Conn) (begun bool, err error) {
		w, err := db.begin(ctx, conn)
		if err != nil {
			return false, err
		}
		return true, f(w)
	})
}

func (db *DB) begin(ctx context.Context, conn *pgx.Conn) (*writer, error) {
	found, err := db.hello(ctx, conn)
	if err != nil {
		return nil, err
	}
	if found.readOnly { // it may have changed: a role gets rights, and a replica becomes the server
		db.found.Store(nil)
		if found, err = db.hello(ctx, conn); err != nil {
			return nil, err
		}
	}
	if found.readOnly {
		return nil, fmt.Errorf("%w: the user %s may not write", store.ErrReadOnly, conn.Config().User)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{held: held{db: db, conn: conn, catalog: found.catalog}, tx: tx}
	w.reader = reader{w.held.run}
	list, err := collect(ctx, conn, "lock", with(nil, found.catalog), func(row pgx.Rows) (_ struct{}, err error) {
		return struct{}{}, row.Scan(&w.identity, &w.before.Number, &w.before.Token, &w.newest, &w.existing)
	})
	if err == nil && len(list) == 0 {
		err = goneError()
	}
	w.written = w.newest
	return w, err
}

// update calls f with a Tx, then writes what depends on all its changes.
func (w *writer) update(ctx context.Context, f func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &Tx{ctx: ctx, w: w, stamps: make(map[int64]string), puts: make(map[int64]put), files: newFilePuts()}
	if err := f(t); err != nil {
		return err
	}
	return w.db.note(ctx, t.settle())
}

// finish ends the generation and commits.
func (w *writer) finish(ctx context.Context) error {
	now, err := w.State(ctx)
	if err != nil {
		return err
	}
	if err := w.settleFiles(ctx); err != nil {
		return err
	}
	if w.changed {
		now.Generation = store.Generation{Number: w.generation(), Token: rand.Int64()}
		batch := new(pgx.Batch)
		args := pgx.NamedArgs{
			"catalog": w.catalog, "generation": now.Generation.Number, "token": now.Generation.Token,
			"newest": w.newest, "found": now.Found,
		}
		batch.Queue(statement("grow"), args)
		batch.Queue(statement("note_generation"), args)
		batch.Queue(statement("notify"), args)
		if err := w.conn.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("ending the generation: %w", err)
		}
	}
	// Whoever gives up now would not know whether anything has changed.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = w.tx.Commit(limited)
	if err != nil && w.changed && w.conn.IsClosed() {
		err = w.db.lookForCommit(limited, now.Generation, err)
	}
	if err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	w.db.noteState(now)
	return nil
}

// lookForCommit returns nil if a commit whose answer was lost has happened. It locks the
// catalog, and so waits until the server has ended the other transaction.
func (db *DB) lookForCommit(ctx context.Context, g store.Generation, lost error) error {
	conn, err := pgx.ConnectConfig(ctx, db.conf.ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("the connection was lost, so the change may or may not be there: %w", lost)
	}
	defer conn.Close(ctx)
	w, err := db.begin(ctx, conn)
	if err != nil {
		return errors.Join(lost, err)
	}
	defer rollback(ctx, w.tx)
	args := pgx.NamedArgs{"catalog": w.catalog, "generation": g.Number, "token": g.Token}
	var there bool
	if err := conn.QueryRow(ctx, statement("known_generation"), args).Scan(&there); err != nil || there {
		return err
	}
	return lost
}

// A joined is the Store that Join makes: all its Updates belong to one transaction.
type joined struct {
	*writer
	updating sync.Mutex // held by the Update that runs
	updates  atomic.Int64
}

// Ready implements store.Store.
func (j *joined) Ready(context.Context) error { return nil }

// Look implements store.Store. Nobody else can write the catalog.
func (j *joined) Look() string {
	return fmt.Sprintf("%s %d %d joined", j.identity, j.before.Number, j.updates.Load())
}

// Settle implements store.Store.
func (j *joined) Settle(ctx context.Context) (store.State, string, error) {
	s, err := j.State(ctx)
	return s, j.Look(), err
}

// ReadOnly implements store.Store.
func (j *joined) ReadOnly() bool { return false }

// Close implements store.Store. The transaction ends with the call of Join.
func (j *joined) Close() error { return nil }

// View implements store.Store: nobody else writes meanwhile.
func (j *joined) View(ctx context.Context, f func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(j.writer)
}

// Update implements store.Store. Each Update is a savepoint, so that one that fails leaves
// nothing behind.
func (j *joined) Update(ctx context.Context, f func(store.Tx) error) error {
	j.updating.Lock()
	defer j.updating.Unlock()
	w := j.writer
	var point pgx.Tx
	err := w.run(ctx, func(*pgx.Conn, int64) (err error) {
		point, err = w.tx.Begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	changed, found, written := w.changed, w.found.Load(), w.written
	done := false
	defer func() {
		if !done {
			w.run(ctx, func(*pgx.Conn, int64) error { rollback(ctx, point); return nil })
			w.changed, w.written, w.kept = changed, written, kept{}
			w.found.Store(found)
		}
	}()
	if err := w.update(ctx, f); err != nil {
		return err
	}
	done = true
	j.updates.Add(1)
	return w.run(ctx, func(*pgx.Conn, int64) error { return point.Commit(ctx) })
}
