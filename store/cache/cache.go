// Package cache keeps what was costly to make from a text, such as the vectors of a model on
// a server, for all catalogs of a machine, by a hash of the text. A catalog that is made
// anew, and one that has a skill in common with another, need not pay twice.
//
// The one rule: what is here can be made again. The file may be deleted at any time, and who
// cannot read or write it goes on without.
package cache

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/sqlfile"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// MaxBytes is what a cache takes on disk at most, apart from what a transaction under way
// adds: vectors of 1,536 values of 150,000 skills.
const MaxBytes = 512 << 20

// What sql/schema.sql writes: applicationID marks our files ("RepC" in ASCII), and a file of
// another version is made anew.
const (
	applicationID = 0x52657043
	version       = 1
)

//go:embed sql/*.sql
var statements embed.FS

// A Cache is one SQLite file. Several goroutines and processes may use it at once. It opens
// the file when it is first asked.
type Cache struct {
	path string
	max  int64
	now  func() time.Time

	mu sync.Mutex // guards db
	db *sql.DB    // nil until it is open
}

// New returns the cache in the file at path, of which it opens nothing yet.
func New(path string) *Cache { return &Cache{path: path, max: MaxBytes, now: time.Now} }

// Vectors returns the packed vectors of the texts with these hashes, by hash; it leaves out
// those that it does not have. See store.PackVector.
func (c *Cache) Vectors(ctx context.Context, model string, hashes [][]byte) (map[string][]byte, error) {
	found := make(map[string][]byte)
	list, today := sqlite.HexArray(hashes), c.today()
	err := c.use(ctx, func(db *sql.DB) error {
		clear(found)
		rows, err := db.QueryContext(ctx, sqlfile.Statement(statements, "vectors"), sql.Named("model", model), sql.Named("hashes", list))
		if err != nil {
			return err
		}
		defer rows.Close()
		old := false
		for rows.Next() {
			var hash, vector []byte
			var used int64
			if err := rows.Scan(&hash, &vector, &used); err != nil {
				return err
			}
			found[string(hash)] = vector
			old = old || used < today
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || !old {
			return err
		}
		_, err = db.ExecContext(ctx, sqlfile.Statement(statements, "touch"), sql.Named("model", model), sql.Named("hashes", list), sql.Named("today", today))
		if !isCorrupt(err) {
			err = nil // the file cannot be written, or is locked: what was read is right
		}
		return err
	})
	return found, err
}

// PutVectors adds packed vectors. The text with hashes[i] has vectors[i]. Where there is no room,
// it removes those whose last use is longest ago.
func (c *Cache) PutVectors(ctx context.Context, model string, hashes, vectors [][]byte) error {
	return c.use(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after the commit
		exec := func(name string, args ...any) {
			if err == nil {
				_, err = tx.ExecContext(ctx, sqlfile.Statement(statements, name), args...)
			}
		}
		exec("put_model", sql.Named("model", model))
		for i := range hashes {
			exec("put", sql.Named("model", model), sql.Named("hash", hashes[i]), sql.Named("vector", vectors[i]), sql.Named("today", c.today()))
		}
		for err == nil {
			var size int64
			if err = tx.QueryRowContext(ctx, sqlfile.Statement(statements, "size")).Scan(&size); size <= c.max {
				break
			}
			exec("evict")
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	})
}

// today counts days since 1970.
func (c *Cache) today() int64 { return c.now().Unix() / (24 * 60 * 60) }

// Close closes the file; a later call opens it again.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.db
	c.db = nil
	if db == nil {
		return nil
	}
	return db.Close()
}

// use calls f with the open file. When f says that the file is damaged, use makes it anew
// and calls f once more.
func (c *Cache) use(ctx context.Context, f func(*sql.DB) error) error {
	db, err := c.open(ctx)
	if err == nil {
		err = f(db)
	}
	if isCorrupt(err) || errors.Is(err, errVersion) {
		if err = errors.Join(c.Close(), sqlite.RemoveBeside(c.path, "", "-wal", "-shm")); err == nil {
			if db, err = c.open(ctx); err == nil {
				err = f(db)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cache of vectors %s: %w", c.path, err)
	}
	return nil
}

// errVersion means that another version of this program made the file.
var errVersion = errors.New("another version of the program made it")

// open opens the file, unless it is open.
func (c *Cache) open(ctx context.Context) (*sql.DB, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db != nil {
		return c.db, nil
	}
	for end := time.Now().Add(patience); ; time.Sleep(patience / 100) {
		db, err := c.connect()
		if err != nil {
			return nil, err
		}
		if err = prepare(ctx, db); err == nil {
			c.db = db
			return db, nil
		}
		// Only one can make a new file use a log, and SQLite lets nobody wait for that.
		if err = errors.Join(err, db.Close()); !hasCode(err, sqlite3.SQLITE_BUSY) || time.Now().After(end) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// patience is how long a new file is waited for that somebody else is making.
const patience = 2 * time.Second

// connect makes a file that only its owner can read, if there is none, and connects to it.
func (c *Cache) connect() (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return nil, err
	}
	if err := regular.Check(c.path, c.path+"-wal", c.path+"-shm"); err != nil {
		return nil, err
	}
	if err := sqlite.CreatePrivate(c.path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqlite.URI(c.path)+"?_txlock=immediate&_journal_mode=wal&_pragma=busy_timeout(2000)&_pragma=synchronous(normal)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// prepare makes the tables if the file is empty.
func prepare(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	var id, done, tables int
	err = tx.QueryRowContext(ctx, sqlfile.Statement(statements, "state")).Scan(&id, &done, &tables)
	switch {
	case err != nil:
		return err
	case id == applicationID && done == version:
		return nil
	case id == applicationID:
		return errVersion
	case id != 0 || tables != 0:
		return fmt.Errorf("this is another program's database (application id %#x)", id)
	}
	if _, err := tx.ExecContext(ctx, sqlfile.Statement(statements, "schema")); err != nil {
		return err
	}
	return tx.Commit()
}

// isCorrupt reports whether err says that the file is damaged. It is stricter than a catalog,
// which is made again for nothing: vectors may have cost money.
func isCorrupt(err error) bool {
	return hasCode(err, sqlite3.SQLITE_CORRUPT) || hasCode(err, sqlite3.SQLITE_NOTADB)
}

// hasCode reports whether an error of SQLite has a code, apart from what extends it.
func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == code
}
