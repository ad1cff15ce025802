package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/repertoire-skills/repertoire/store"
)

// State implements store.Reader.
func (db *DB) State(ctx context.Context) (s store.State, err error) {
	err = db.query(ctx, "state", func(rows *sql.Rows) error {
		return rows.Scan(&s.Catalog, &s.Generation.Number, &s.Generation.Token, &s.Found)
	})
	return s, err
}

// Changes implements store.Reader.
func (db *DB) Changes(ctx context.Context, since store.Generation, model string) (ids []int64, ok bool, err error) {
	err = db.query(ctx, "changes", func(rows *sql.Rows) error {
		ok = true
		var id sql.NullInt64
		err := rows.Scan(&id)
		if id.Valid {
			ids = append(ids, id.Int64)
		}
		return err
	}, sql.Named("number", since.Number), sql.Named("token", since.Token), sql.Named("model", model))
	if err != nil {
		return nil, false, err
	}
	return ids, ok, nil
}

// View implements store.Store.
func (db *DB) View(ctx context.Context, f func(store.Reader) error) error {
	if err := db.Ready(ctx); err != nil {
		return err
	}
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.note(ctx, fmt.Errorf("starting to read: %w", err))
	}
	defer tx.Rollback() // nothing was written, so nothing is lost
	return f(&DB{path: db.path, files: db.files, readOnly: db.readOnly, view: tx})
}

// noteVectors makes Changes return the skills with these texts.
func (t *Tx) noteVectors(model int64, hashes [][]byte) error {
	if len(hashes) == 0 {
		return nil
	}
	_, err := t.exec("note_vectors", sql.Named("model", model), sql.Named("hashes", HexArray(hashes)))
	return err
}
