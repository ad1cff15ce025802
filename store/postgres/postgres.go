// Package postgres is the engine of catalogs that several machines share: a store.Store in
// a PostgreSQL database, which may hold several catalogs. Its one rule: the database is the
// only truth, so it keeps nothing that another process could change, and every call works
// again as soon as the database does.
//
// A call that reads is repeated once if its connection proves to be dead. A commit is never
// repeated: if its answer is lost, the engine asks the database whether it has happened.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/repertoire-skills/repertoire/store"
)

var (
	_ store.Store  = (*DB)(nil)
	_ store.Joiner = (*DB)(nil)
)

// Options may be nil.
type Options struct {
	Catalog  string       // which catalog of the database; "" means "default"
	ReadOnly bool         // never write, even if the role may
	Logger   *slog.Logger // hears of repeated calls and of migrations; nil means nobody
}

// A DB is one catalog of a database. It connects when something needs it, and again
// whenever a connection is lost. Several goroutines may use it.
type DB struct {
	reader
	proposals
	opts Options
	name string
	conf *pgxpool.Config

	read  *pgxpool.Pool
	write *pgxpool.Pool // one connection, so that waiting writers leave the others to readers

	found  atomic.Pointer[found]
	agents atomic.Pointer[[]string] // see Know; nil means that this process is no node
	closed atomic.Bool

	mu   sync.Mutex  // guards last
	last store.State // the newest state that this process knows
}

// found is what a DB has found at its first connection.
type found struct {
	catalog  int64
	readOnly bool
}

// Limits of what one process takes from the server.
const (
	readers  = 4 // connections, unless the URL sets pool_max_conns
	idleTime = time.Minute
	closing  = time.Second // to say goodbye to the server
)

// Open returns the catalog of a database. The URL and the environment say where it is and
// how to connect, as libpq has it: a URL or keywords, PG… variables, a password file and a
// service file. Open does not connect.
func Open(url string, o *Options) (*DB, error) {
	conf, err := settings(url)
	if err != nil {
		return nil, err
	}
	db := &DB{conf: conf, opts: *cmp.Or(o, new(Options))}
	db.opts.Catalog, db.opts.Logger = cmp.Or(db.opts.Catalog, "default"), cmp.Or(db.opts.Logger, slog.New(slog.DiscardHandler))
	db.name = nameOf(conf.ConnConfig) + "#" + db.opts.Catalog
	db.reader, db.proposals = reader{db.run}, proposals{db}
	one := conf.Copy()
	one.MaxConns, one.MinConns, one.MinIdleConns = 1, 0, 0
	dialing(&one.ConnConfig.Config, deadWriter)
	if db.read, err = pgxpool.NewWithConfig(context.Background(), conf); err != nil {
		return nil, fmt.Errorf("%s: %w", db.name, err)
	}
	if db.write, err = pgxpool.NewWithConfig(context.Background(), one); err != nil {
		db.read.Close()
		return nil, fmt.Errorf("%s: %w", db.name, err)
	}
	return db, nil
}

// Name returns the URL of the database without its password, and the catalog.
func (db *DB) Name() string { return db.name }

// Close implements store.Store. It waits for calls that are under way, but not long: a
// server that does not answer must not hold up a program that ends.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		db.read.Close()
		db.write.Close()
	}()
	select {
	case <-done:
	case <-time.After(closing):
	}
	return nil
}

// Ready implements store.Store.
func (db *DB) Ready(ctx context.Context) error {
	return db.run(ctx, func(*pgx.Conn, int64) error { return nil })
}

// ReadOnly implements store.Store. Before the first connection it knows only the option.
func (db *DB) ReadOnly() bool {
	f := db.found.Load()
	return db.opts.ReadOnly || f != nil && f.readOnly
}

// State implements store.Reader.
func (db *DB) State(ctx context.Context) (store.State, error) {
	s, err := db.reader.State(ctx)
	if err == nil {
		db.noteState(s)
	}
	return s, err
}

// noteState remembers a state, unless it is older than one that is known already.
func (db *DB) noteState(s store.State) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if s.Catalog != db.last.Catalog || s.Generation.Number >= db.last.Generation.Number {
		db.last = s
	}
}

// Look implements store.Store. It returns a text about the newest state that this process
// knows: what others have written since shows only after a call of State.
func (db *DB) Look() string {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.last.Catalog == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %d", db.last.Catalog, db.last.Generation.Number, db.last.Generation.Token)
}

// Settle implements store.Store. The database needs no settling.
func (db *DB) Settle(ctx context.Context) (store.State, string, error) {
	s, err := db.State(ctx)
	if err != nil || db.ReadOnly() {
		return s, "", err
	}
	return s, db.Look(), nil
}

// View implements store.Store.
func (db *DB) View(ctx context.Context, f func(store.Reader) error) error {
	var failed error // of f, which is never called a second time
	err := db.run(ctx, func(conn *pgx.Conn, catalog int64) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer rollback(ctx, tx)
		failed = f(reader{(&held{db: db, conn: conn, catalog: catalog}).run})
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// run calls f with a connection and the number of the catalog. If the connection proves to
// be dead, it calls f once more with a new one.
func (db *DB) run(ctx context.Context, f func(conn *pgx.Conn, catalog int64) error) error {
	return db.note(ctx, db.try(ctx, db.read, func(conn *pgx.Conn) (bool, error) {
		k, err := db.hello(ctx, conn)
		if err == nil {
			err = f(conn, k.catalog)
		}
		return false, err
	}))
}

// try calls f with a connection of a pool. If the connection proves to be dead before f has
// begun what must not be done twice, try calls f once more with a new one.
func (db *DB) try(ctx context.Context, pool *pgxpool.Pool, f func(conn *pgx.Conn) (begun bool, err error)) error {
	once := func() (dead bool, err error) {
		c, err := pool.Acquire(ctx)
		if err != nil {
			return false, err
		}
		defer c.Release() // a connection that is in a transaction is closed
		begun, err := f(c.Conn())
		return !begun && c.Conn().IsClosed(), err
	}
	for attempt := 0; ; attempt++ {
		dead, err := once()
		if err == nil || !dead || attempt > 0 || ctx.Err() != nil {
			return err
		}
		db.opts.Logger.Info("trying again after a lost connection", "store", db.name, "err", err)
		pool.Reset() // the other connections are as old
	}
}

// hello returns what it has found at the first connection, or asks: whether this program
// knows the schema, which number the catalog has, and whether it can be written.
func (db *DB) hello(ctx context.Context, conn *pgx.Conn) (*found, error) {
	if f := db.found.Load(); f != nil {
		return f, nil
	}
	var version int
	var catalog *int64
	f := new(found)
	var now store.State
	err := conn.QueryRow(ctx, statement("hello"), pgx.NamedArgs{"name": db.opts.Catalog}).Scan(&version, &catalog, &f.readOnly,
		&now.Catalog, &now.Generation.Number, &now.Generation.Token, &now.Found)
	if isState(err, undefinedTable, invalidSchema, undefinedColumn) {
		return nil, unfit(ctx, conn, err)
	}
	if isState(err, insufficientPrivilege) {
		return nil, fmt.Errorf("user %s may not read catalogs; grant repertoire_reader or repertoire_writer: %s", conn.Config().User, err)
	}
	if err != nil {
		return nil, err
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	if catalog == nil {
		return nil, &missingError{fmt.Sprintf("the database has no catalog %q", db.opts.Catalog)}
	}
	f.catalog = *catalog
	db.noteState(now)
	db.found.Store(f)
	return f, nil
}

// unfit returns what is wrong with a schema that this program could not read.
func unfit(ctx context.Context, conn *pgx.Conn, cause error) error {
	version, err := versionOf(ctx, conn)
	switch {
	case err != nil:
		return err
	case version == 0:
		return &missingError{"the database holds no catalogs yet"}
	}
	return cmp.Or(checkVersion(version), cause)
}

// missingError says that there is no such catalog yet. It matches fs.ErrNotExist.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what + "; push skills to it first" }

func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

// note returns err, as store.Store defines it: the error of a context that has ended,
// store.ErrClosed, or an error that says where it happened.
func (db *DB) note(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended // pgx then closes the connection, and may say only that
	}
	if db.closed.Load() {
		return store.ErrClosed
	}
	switch {
	case isState(err, insufficientPrivilege, readOnlyTransaction):
		err = fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case isState(err, undefinedTable, invalidSchema, undefinedColumn), errors.Is(err, store.ErrStale):
		db.found.Store(nil) // the next call looks at the schema again
	}
	return fmt.Errorf("%s: %w", db.name, withRemedy(err))
}

// Error codes of PostgreSQL.
const (
	undefinedTable        = "42P01"
	undefinedColumn       = "42703"
	invalidSchema         = "3F000"
	insufficientPrivilege = "42501"
	readOnlyTransaction   = "25006"
)

// isState reports whether err has one of these codes.
func isState(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// rollback ends a transaction, unless it has been committed. The time limit is for a server
// that hangs; the connection is then closed, which has the same effect.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	tx.Rollback(ctx) // it can only fail when the connection is gone, and the transaction with it
}

// A held is a connection that is used for several calls, in a transaction.
type held struct {
	db      *DB
	mu      sync.Mutex // one statement at a time
	conn    *pgx.Conn
	catalog int64
}

func (h *held) run(ctx context.Context, f func(conn *pgx.Conn, catalog int64) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.db.note(ctx, f(h.conn, h.catalog))
}
