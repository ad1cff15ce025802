package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A State says how far a catalog file has come.
type State struct {
	Catalog    string // tells this file from every other one
	Generation int64  // grows with every change that a reader must see
	Feed       int64  // Changes knows what changed after this generation
}

// State returns that of the file.
func (db *DB) State(ctx context.Context) (s State, err error) {
	err = db.query(ctx, "state", func(rows *sql.Rows) error { return rows.Scan(&s.Catalog, &s.Generation, &s.Feed) })
	return s, err
}

// Changes returns the IDs of the skills that changed after a generation, which
// is not before the feed of the State, in rising order: what a search sees of
// them, their vectors of the model, or that they are there at all.
func (db *DB) Changes(ctx context.Context, after int64, model string) ([]int64, error) {
	var ids []int64
	err := db.query(ctx, "changes", func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, sql.Named("after", after), sql.Named("model", model))
	return ids, err
}

// View runs f with a DB that can only be read and whose reads all see the
// catalog as it is at the first of them, whoever writes meanwhile. It ends with
// f.
func (db *DB) View(ctx context.Context, f func(*DB) error) error {
	if err := db.Ready(ctx); err != nil {
		return err
	}
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.note(fmt.Errorf("starting to read: %w", err))
	}
	defer tx.Rollback() // nothing was written, so nothing is lost
	return f(&DB{path: db.path, file: db.file, readOnly: db.readOnly, view: tx})
}

// publishedSuffix is that of the file that says which files belong to the
// present generation.
const publishedSuffix = ".current"

// Published returns the name of the file that Publish writes for the catalog at
// path. It is there only while nothing has changed since: whoever changes the
// catalog removes it before the change can be seen.
func Published(path string) string { return path + publishedSuffix }

func withdraw(path string) error {
	if err := os.Remove(Published(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("withdrawing what is published of the catalog: %w", err)
	}
	return nil
}

// Publish runs write, which writes the file that Published names, if the
// catalog is still of this generation, and reports whether it was. Nobody can
// change the catalog meanwhile. Changes up to the generation feed are forgotten:
// no reader starts from an older one any more.
func (db *DB) Publish(ctx context.Context, generation, feed int64, write func() error) (bool, error) {
	current := false
	err := db.transact(ctx, func(t *Tx) error {
		now, err := t.value("generation")
		if err != nil || now != generation {
			return err
		}
		current = true
		if feed > 0 {
			if _, err := t.exec("forget_changes", sql.Named("until", feed)); err != nil {
				return err
			}
			if _, err := t.exec("advance_feed", sql.Named("until", feed)); err != nil {
				return err
			}
		}
		return write()
	})
	return current && err == nil, err
}

// EntriesByID returns the rows of those skills that are there, in the order of
// Entries.
func (db *DB) EntriesByID(ctx context.Context, ids []int64) ([]Entry, error) {
	data, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return db.entries(ctx, "entries_by_id", sql.Named("ids", string(data)))
}

// VectorsOf returns the vectors of the model of one skill, by ordinal. The values
// are those that were put to within 1/254 of the largest.
func (db *DB) VectorsOf(ctx context.Context, model string, id int64) ([]Vector, error) {
	var list []Vector
	err := db.query(ctx, "vectors_of", func(rows *sql.Rows) error {
		v, err := scanVector(rows)
		list = append(list, v)
		return err
	}, sql.Named("model", model), sql.Named("skill", id))
	return list, err
}

// Fields returns what full-text search knows of a skill, the terms of each field
// sorted; ok is false when it knows nothing.
func (db *DB) Fields(ctx context.Context, id int64) (f Fields, ok bool, err error) {
	err = db.query(ctx, "fields", func(rows *sql.Rows) error {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return err
		}
		unpacked, err := unpackFields(data)
		if err != nil {
			return fmt.Errorf("skill %d: %w", id, err)
		}
		f, ok = *unpacked, true
		return nil
	}, sql.Named("skill", id))
	return f, ok, err
}

// noteVectors makes the skills with these texts part of Changes.
func (t *Tx) noteVectors(model int64, hashes [][]byte) error {
	list := make([]string, len(hashes))
	for i, h := range hashes {
		list[i] = hex.EncodeToString(h)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = t.exec("note_vectors", sql.Named("model", model), sql.Named("hashes", string(data)))
	return err
}

// Count returns how many SKILL.md files there are.
func (db *DB) Count(ctx context.Context) (found int, err error) {
	err = db.query(ctx, "count", func(rows *sql.Rows) error { return rows.Scan(&found) })
	return found, err
}

// Missing returns how many texts of these skills have no vector of the model.
func (db *DB) Missing(ctx context.Context, model string, ids []int64) (n int, err error) {
	data, err := json.Marshal(ids)
	if err != nil {
		return 0, err
	}
	err = db.query(ctx, "missing", func(rows *sql.Rows) error { return rows.Scan(&n) },
		sql.Named("ids", string(data)), sql.Named("model", model))
	return n, err
}

// Dim returns the dimension of the vectors of a model, 0 when there are none.
func (db *DB) Dim(ctx context.Context, model string) (int, error) {
	models, err := db.Models(ctx)
	for _, m := range models {
		if m.Name == model {
			return m.Dim, err
		}
	}
	return 0, err
}
