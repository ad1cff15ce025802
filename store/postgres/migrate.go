package postgres

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Migrate makes the catalog if the database has none of its name, and brings the schema up
// to date. Whoever calls it first becomes the owner of the tables; later calls that find
// nothing to do need only the role of a writer.
func (db *DB) Migrate(ctx context.Context) error {
	c, err := db.write.Acquire(ctx)
	if err != nil {
		return db.note(ctx, err)
	}
	defer c.Release()
	return db.note(ctx, db.migrate(ctx, c.Conn()))
}

func (db *DB) migrate(ctx context.Context, conn *pgx.Conn) error {
	files, err := migrations()
	if err != nil {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if _, err := tx.Exec(ctx, statement("lock_schema")); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx)
	if err != nil {
		return err
	}
	if version > len(files) {
		return checkVersion(version)
	}
	for _, file := range files[version:] {
		if _, err := tx.Exec(ctx, file, pgx.QueryExecModeSimpleProtocol); err != nil { // many statements
			return fmt.Errorf("changing the schema: %w", err)
		}
	}
	if version < len(files) {
		db.opts.Logger.Info("changed the schema", "store", db.name, "from", version, "to", len(files))
		if _, err := tx.Exec(ctx, statement("put_version"), pgx.NamedArgs{"version": len(files)}); err != nil {
			return err
		}
	}
	args := pgx.NamedArgs{"name": db.opts.Catalog, "identity": rand.Text()}
	if _, err := tx.Exec(ctx, statement("put_catalog"), args); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// A querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// versionOf returns the version of the schema, 0 if there is none.
func versionOf(ctx context.Context, q querier) (version int, err error) {
	var there bool
	if err := q.QueryRow(ctx, statement("has_schema")).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, statement("version")).Scan(&version)
	return version, err
}

// checkVersion returns an error unless this program knows a version of the schema.
func checkVersion(version int) error {
	files, err := migrations()
	switch {
	case err != nil:
		return err
	case version > len(files):
		return fmt.Errorf("a newer program has made the schema (version %d, this program knows %d); update this program", version, len(files))
	case version < len(files):
		return fmt.Errorf("an older program has made the schema (version %d, this program needs %d); push skills once with this program, as the owner of the schema", version, len(files))
	}
	return nil
}

// Roles returns SQL that makes the roles repertoire_writer and repertoire_reader. It may be
// run again, before or after the first push.
func Roles() string { return statement("roles") }
