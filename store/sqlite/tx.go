package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"github.com/repertoire-skills/repertoire/store"
)

// A Tx implements store.Tx.
type Tx struct {
	ctx     context.Context
	tx      *sql.Tx
	stmts   map[string]*sql.Stmt
	changed bool  // readers will see a difference
	skills  bool  // the offered skill may change for some names
	sources bool  // the offered skill may change for any name
	newest  int64 // the highest row ever given to a skill; 0 means not looked up yet

	// fts holds the changes of the full-text index, by skill. They are written last,
	// because FTS5 collects changes in memory, and any other statement between them
	// would make it write a segment for each skill.
	fts    map[int64]*change
	shrink bool // return free pages at the end
}

func newTx(ctx context.Context, tx *sql.Tx) *Tx {
	return &Tx{ctx: ctx, tx: tx, stmts: make(map[string]*sql.Stmt), fts: make(map[int64]*change)}
}

// run calls f, then updates what depends on all its changes: the offered skills, the
// full-text index and the generation.
func (t *Tx) run(f func(store.Tx) error) error {
	if err := f(t); err != nil {
		return err
	}
	if t.skills || t.sources {
		if err := t.shadow(); err != nil {
			return err
		}
	}
	if err := t.writeFTS(); err != nil {
		return err
	}
	if t.changed {
		if _, err := t.exec("grow_generation"); err != nil {
			return err
		}
		if _, err := t.exec("note_generation"); err != nil {
			return err
		}
	}
	if t.shrink {
		return t.vacuum()
	}
	return nil
}

// State implements store.Tx.
func (t *Tx) State() (s store.State, err error) {
	stmt, err := t.stmt("state")
	if err != nil {
		return s, err
	}
	err = stmt.QueryRowContext(t.ctx).Scan(&s.Catalog, &s.Generation.Number, &s.Generation.Token, &s.Found)
	if err != nil {
		return s, fmt.Errorf("running state: %w", err)
	}
	return s, nil
}

// Forget implements store.Tx. Its caller has compiled all skills, so much has changed, and
// FTS5 has left free pages.
func (t *Tx) Forget(before store.Generation) error {
	t.shrink = true
	if _, err := t.exec("forget_changes", sql.Named("until", before.Number)); err != nil {
		return err
	}
	_, err := t.exec("forget_generations", sql.Named("before", before.Number))
	return err
}

func (t *Tx) stmt(name string) (*sql.Stmt, error) {
	if s := t.stmts[name]; s != nil {
		return s, nil
	}
	s, err := t.tx.PrepareContext(t.ctx, statement(name))
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", name, err)
	}
	t.stmts[name] = s
	return s, nil
}

// exec runs the statement with this name and returns how many rows it changed.
func (t *Tx) exec(name string, args ...any) (int64, error) {
	s, err := t.stmt(name)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", name, err)
	}
	return res.RowsAffected()
}

// query runs the statement with this name and calls scan for every row.
func (t *Tx) query(name string, scan func(*sql.Rows) error, args ...any) error {
	s, err := t.stmt(name)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return fmt.Errorf("running %s: %w", name, err)
	}
	return each(name, rows, scan)
}

// rows runs the statement with this name and returns the numbers in its rows.
func (t *Tx) rows(name string, args ...any) (list []int64, err error) {
	err = t.query(name, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		list = append(list, n)
		return err
	}, args...)
	return list, err
}

// value runs the statement with this name and returns the number in its only row.
func (t *Tx) value(name string, args ...any) (int64, error) {
	s, err := t.stmt(name)
	if err != nil {
		return 0, err
	}
	var n int64
	if err := s.QueryRowContext(t.ctx, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("running %s: %w", name, err)
	}
	return n, nil
}

// PutSource implements store.Tx.
func (t *Tx) PutSource(s store.Source) (int64, error) {
	t.changed, t.sources = true, true // scopes may name a source without skills
	return t.value("put_source", sql.Named("label", s.Label), sql.Named("root", s.Root), sql.Named("priority", s.Priority), sql.Named("apart", s.Apart), sql.Named("away", s.Away))
}

// Walked implements store.Tx. The first walk is a change, because from then on a
// skill that the catalog lacks does not exist.
func (t *Tx) Walked(source int64, at int64, identity string) error {
	args := []any{sql.Named("source", source), sql.Named("time", at), sql.Named("identity", identity)}
	first, err := t.exec("first_walked", args...)
	if t.changed = t.changed || first > 0; err != nil || first > 0 {
		return err
	}
	_, err = t.exec("walked", args...)
	return err
}

// DeleteSource implements store.Tx.
func (t *Tx) DeleteSource(source int64) error {
	rows, err := t.rows("skills_of", sql.Named("source", source))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := t.DeleteSkill(row); err != nil {
			return err
		}
	}
	n, err := t.exec("delete_source", sql.Named("source", source))
	t.changed, t.shrink = t.changed || n > 0, true
	return err
}

// PutStamp implements store.Tx.
func (t *Tx) PutStamp(id int64, stamp string) error {
	_, err := t.exec("put_stamp", sql.Named("skill", id), sql.Named("stamp", stamp))
	return err
}

// ForgetStamps implements store.Tx.
func (t *Tx) ForgetStamps(source int64) error {
	n, err := t.exec("forget_stamps", sql.Named("source", source))
	t.changed = t.changed || n > 0
	return err
}

// PutSkill implements store.Tx.
func (t *Tx) PutSkill(source int64, r *store.Record) (int64, error) {
	t.changed, t.skills = true, true
	if r.Body == nil {
		if err := r.Pack(); err != nil {
			return 0, fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	if t.newest == 0 {
		newest, err := t.value("newest")
		if err != nil {
			return 0, err
		}
		t.newest = newest
	}
	id, err := t.value("put_skill", append(skillArgs(r), sql.Named("source", source))...)
	if err != nil {
		return 0, err
	}
	if err := t.begin(id); err != nil {
		return 0, err
	}
	if r.Refused {
		return id, nil
	}
	return id, t.putParts(id, r)
}

// begin removes the rest of an older record after the skill's row was written. A row above
// all earlier ones is new and has no older record.
func (t *Tx) begin(id int64) error {
	if id <= t.newest {
		return t.clear(id)
	}
	t.newest, t.fts[id] = id, &change{id: id}
	return nil
}

// DeleteSkill implements store.Tx.
func (t *Tx) DeleteSkill(id int64) error {
	if err := t.clear(id); err != nil {
		return err
	}
	n, err := t.exec("delete_skill", sql.Named("skill", id))
	t.changed, t.skills = t.changed || n > 0, t.skills || n > 0
	return err
}

// clear removes a skill's data from the other tables and the full-text index.
func (t *Tx) clear(id int64) error {
	c, err := t.change(id)
	if err != nil {
		return err
	}
	c.new = nil
	for _, name := range []string{"delete_body", "delete_texts", "delete_ranked"} {
		if _, err := t.exec(name, sql.Named("skill", id)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) putParts(id int64, r *store.Record) error {
	t.fts[id].new = &r.Fields
	row := sql.Named("skill", id)
	if _, err := t.exec("put_body", row, sql.Named("body", r.Body)); err != nil {
		return err
	}
	if _, err := t.exec("put_ranked", row, sql.Named("terms", r.PackedTerms), sql.Named("sketch", append([]byte{}, r.Sketch...))); err != nil {
		return err
	}
	for i, hash := range r.Ordinals() {
		if _, err := t.exec("put_text", row, sql.Named("ordinal", i), sql.Named("hash", hash)); err != nil {
			return err
		}
	}
	return nil
}

// shadow updates which skill is offered under each name that this transaction may have
// changed.
func (t *Tx) shadow() error {
	n, err := t.exec("shadow", sql.Named("all", t.sources))
	t.changed = t.changed || n > 0
	return err
}

// PutVectors implements store.Tx.
func (t *Tx) PutVectors(model string, hashes, vectors [][]byte) error {
	if len(hashes) == 0 {
		return nil
	}
	t.changed = true
	id, err := t.value("put_model", sql.Named("model", model))
	if err != nil {
		return err
	}
	var differ [][]byte
	for i, hash := range hashes {
		n, err := t.exec("put_vector", sql.Named("model", id), sql.Named("hash", hash), sql.Named("vector", vectors[i]))
		if err != nil {
			return err
		}
		if n > 0 {
			differ = append(differ, hash)
		}
	}
	return t.noteVectors(id, differ)
}

// PruneVectors implements store.Tx.
func (t *Tx) PruneVectors() error {
	_, err := t.exec("prune_vectors")
	return err
}

// DropModel implements store.Tx.
func (t *Tx) DropModel(name string) error {
	n, err := t.exec("drop_model", sql.Named("name", name))
	if n > 0 && err == nil {
		t.changed = true
		// Any skill may have lost vectors, so a list of changes would be useless.
		_, err = t.exec("forget_generations", sql.Named("before", math.MaxInt64))
	}
	return err
}

func skillArgs(r *store.Record) []any {
	s := r.Skill
	return []any{
		sql.Named("path", r.Path), sql.Named("stamp", r.Stamp), sql.Named("digest", s.Digest),
		sql.Named("name", s.Name), sql.Named("name_key", r.NameKey), sql.Named("location", s.Location), sql.Named("meta", s.Pack()),
		sql.Named("problems", r.Problems), sql.Named("refused", r.Refused),
	}
}

// HexArray returns a list of hashes as a JSON array of hexadecimal strings.
func HexArray(hashes [][]byte) string {
	list := make([]string, len(hashes))
	for i, h := range hashes {
		list[i] = hex.EncodeToString(h)
	}
	return jsonArray(list)
}

// jsonArray returns a list as a JSON array; nil means an empty one.
func jsonArray[T string | int64](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic(err) // unreachable: strings and numbers have a JSON form
	}
	return string(data)
}
