package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.Tokens = (*DB)(nil)

// Tokens implements store.Tokens.
func (db *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	return query(ctx, db.reader, "tokens", nil, func(row pgx.Rows) (t store.Token, err error) {
		var hash []byte
		var expires *time.Time
		err = row.Scan(text(&t.Name), &hash, text(&t.Agent), &t.Created, &expires)
		t.Hash, t.Created = hex.EncodeToString(hash), t.Created.UTC()
		if expires != nil {
			t.Expires = expires.UTC()
		}
		return t, err
	})
}

// HadToken implements store.Tokens.
func (db *DB) HadToken(ctx context.Context) (bool, error) {
	had, err := query(ctx, db.reader, "had_token", nil, func(row pgx.Rows) (had bool, err error) { return had, row.Scan(&had) })
	return slices.Contains(had, true), err
}

// AddToken implements store.Tokens.
func (db *DB) AddToken(ctx context.Context, t store.Token) error {
	hash, ok := unhex(t.Hash)
	if !ok {
		return fmt.Errorf("token %s: %q is not a digest", t.Name, t.Hash)
	}
	var expires *time.Time
	if !t.Expires.IsZero() {
		expires = &t.Expires
	}
	added, err := db.changeTokens(ctx, "put_token", pgx.NamedArgs{
		"name": []byte(t.Name), "hash": hash, "agent": []byte(t.Agent), "created": t.Created, "expires": expires,
	})
	if err == nil && !added {
		err = fmt.Errorf("%s: token %s: %w", db.name, t.Name, fs.ErrExist)
	}
	return err
}

// RevokeToken implements store.Tokens.
func (db *DB) RevokeToken(ctx context.Context, name string) (bool, error) {
	return db.changeTokens(ctx, "delete_token", pgx.NamedArgs{"name": []byte(name)})
}

// changeTokens runs a statement and tells all nodes if it changed anything.
func (db *DB) changeTokens(ctx context.Context, name string, args pgx.NamedArgs) (changed bool, err error) {
	err = db.change(ctx, func(tx pgx.Tx, catalog int64) error {
		done, err := tx.Exec(ctx, statement(name), with(args, catalog))
		if changed = done.RowsAffected() > 0; err != nil || !changed {
			return err
		}
		for _, name := range []string{"note_tokens", "notify"} {
			if _, err := tx.Exec(ctx, statement(name), with(nil, catalog)); err != nil {
				return err
			}
		}
		return nil
	})
	return changed && err == nil, err
}

// change calls f in a transaction of its own, which waits for nobody who writes skills, and
// commits. It fails for who may only read skills.
func (db *DB) change(ctx context.Context, f func(tx pgx.Tx, catalog int64) error) error {
	if db.opts.ReadOnly {
		return fmt.Errorf("%s: %w", db.name, store.ErrReadOnly)
	}
	return amend(ctx, db, func(tx pgx.Tx, catalog int64) error {
		if db.ReadOnly() { // which it knows by now
			return fmt.Errorf("%w: the user %s may not write", store.ErrReadOnly, tx.Conn().Config().User)
		}
		return f(tx, catalog)
	})
}

// amend is change for what nodes may write too, if their role lets them.
func amend(ctx context.Context, db *DB, f func(tx pgx.Tx, catalog int64) error) error {
	return db.note(ctx, db.try(ctx, db.read, func(conn *pgx.Conn) (begun bool, err error) {
		found, err := db.hello(ctx, conn)
		if err != nil {
			return false, err
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return false, err
		}
		defer rollback(ctx, tx)
		if err := f(tx, found.catalog); err != nil {
			return true, needsNode(conn, err)
		}
		return true, tx.Commit(ctx)
	}))
}
