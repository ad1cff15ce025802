package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/internal/sqlfile"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
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
	for i, file := range files {
		if i < version {
			continue
		}
		_, err := tx.Exec(ctx, file, pgx.QueryExecModeSimpleProtocol) // many statements
		if i+1 == packsMeta && err == nil {
			err = packMeta(ctx, tx)
		}
		if err != nil {
			return fmt.Errorf("changing the schema: %w", err)
		}
	}
	if version < len(files) {
		db.opts.Logger.Info("changed the schema", "store", db.name, "from", version, "to", len(files))
		if _, err := tx.Exec(ctx, statement("put_version"), pgx.NamedArgs{"version": len(files)}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, statement("node_rights")); err != nil {
			return fmt.Errorf("granting nodes what they may write: %w", err)
		}
	}
	args := pgx.NamedArgs{"name": db.opts.Catalog, "identity": rand.Text()}
	if _, err := tx.Exec(ctx, statement("put_catalog"), args); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// packsMeta is the version of the schema in which a skill has its columns and their packed
// form.
const packsMeta = 5

// packMeta packs the columns of skills that older programs have written.
func packMeta(ctx context.Context, tx pgx.Tx) error {
	read, err1 := steps.ReadFile("sql/steps/005_columns.sql")
	write, err2 := steps.ReadFile("sql/steps/005_pack.sql")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, string(read))
	if err != nil {
		return err
	}
	defer rows.Close()
	var catalogs, skills []int64
	var metas [][]byte
	for rows.Next() {
		var catalog, row int64
		var m skill.Meta
		lists := make([][]byte, 3)
		if err := rows.Scan(&catalog, &row, &m.Tokens, text(&m.TextDigest), text(&m.Description), &lists[0], &lists[1], &lists[2]); err != nil {
			return err
		}
		for i, to := range []any{&m.Tags, &m.Needs, &m.Triggers} {
			if len(lists[i]) > 0 {
				if err := json.Unmarshal(lists[i], to); err != nil {
					return fmt.Errorf("skill %d: %w: %w", row, store.ErrDamaged, err)
				}
			}
		}
		packed := m.Pack()
		packed[0] = 1 // older than all: it has no version, license, author and compatibility
		catalogs, skills, metas = append(catalogs, catalog), append(skills, row), append(metas, packed)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, string(write), pgx.NamedArgs{"catalogs": catalogs, "rows": skills, "metas": metas})
	return err
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

// Roles returns SQL that makes the roles repertoire_writer, repertoire_reader and repertoire_node. It
// may be run again, before or after the first push.
func Roles() string { return statement("roles") + statement("node_rights") }

// schema holds the migrations, applied in the order of their names. It is append-only: a
// released file is never edited; every change is a new file.
//
//go:embed sql/schema/*.sql
var schema embed.FS

// steps holds what a migration runs between the files of the schema.
//
//go:embed sql/steps/*.sql
var steps embed.FS

// statements holds one SQL statement in each file; a test prepares all of them. Every
// statement gets the number of the catalog as @catalog.
//
//go:embed sql/*.sql
var statements embed.FS

func statement(name string) string { return sqlfile.Statement(statements, name) }

// migrations returns the texts of the schema files, oldest first. Their number is the
// version of the schema.
func migrations() ([]string, error) { return sqlfile.Migrations(schema) }
