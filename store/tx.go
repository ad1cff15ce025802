package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Tx is the transaction of one Update; it must not be used after it.
type Tx struct {
	ctx     context.Context
	tx      *sql.Tx
	stmts   map[string]*sql.Stmt
	changed bool  // a reader sees a difference
	sources bool  // which of two skills wins may have changed for all names
	newest  int64 // ID that a skill was ever given, 0 when not looked up

	// fts holds the changes of the full-text index, by skill. They are written
	// last: any other statement between them would make FTS5 write out what it
	// has gathered, one segment a skill.
	fts      map[int64]*change
	optimize bool // merge the whole full-text index at the end
}

// A Source is where skills come from.
type Source struct {
	ID       int64
	Label    string
	Root     string // absolute path, "" when not on disk
	Priority int    // the highest wins a name
	Walked   time.Time
}

// A Record is what the catalog keeps of one SKILL.md.
type Record struct {
	Path    string       // of the SKILL.md in its source, slash-separated
	Stamp   string       // see skill.Ref; "" to have it read again
	Skill   *skill.Skill // of a refused one only Problems matters
	Refused bool
	NameKey string   // two names with the same key are the same name
	Fields  Fields   // what full-text search sees
	Texts   [][]byte // hashes of the texts that get a vector; the first is the description's

	packed // what Pack made
}

// packed are the long values of a record as they are stored.
type packed struct{ fields, body, problems []byte }

// Pack deflates what is long in the record, which PutSkill else does itself: it
// takes half of the time of writing, and outside of the transaction several
// processors can share it. The record must not change after it.
func (r *Record) Pack() (err error) {
	if len(r.Skill.Problems) > 0 {
		if r.packed.problems, err = pack(marshal(r.Skill.Problems)); err != nil {
			return err
		}
	}
	if r.packed.body, err = packBody(r.Skill); err != nil {
		return err
	}
	r.packed.fields, err = packFields(&r.Fields)
	return err
}

// Fields are the texts of a skill as terms, analysed and separated by spaces. Of
// what is read back the terms of each field are sorted.
type Fields struct{ Name, Description, Tags, Body string }

func newTx(ctx context.Context, tx *sql.Tx) *Tx {
	return &Tx{ctx: ctx, tx: tx, stmts: make(map[string]*sql.Stmt), fts: make(map[int64]*change)}
}

func (t *Tx) run(f func(*Tx) error) error {
	if err := f(t); err != nil {
		return err
	}
	if !t.changed {
		return nil
	}
	if err := t.writeFTS(); err != nil {
		return err
	}
	_, err := t.exec("grow_generation")
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

// exec runs the statement of that name and returns how many rows it changed.
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

// value runs the statement of that name and returns the number in its one row.
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

// PutSource adds the source of that label, or updates it, and returns its ID.
func (t *Tx) PutSource(s Source) (int64, error) {
	t.changed, t.sources = true, true // scopes name sources, those without skills too
	return t.value("put_source", sql.Named("label", s.Label), sql.Named("root", s.Root), sql.Named("priority", s.Priority))
}

// Walked notes that the source was walked completely at that time. For the first
// time that is a change: what the catalog lacks is not there from then on.
func (t *Tx) Walked(source int64, at time.Time) error {
	args := []any{sql.Named("source", source), sql.Named("time", at.UnixNano())}
	first, err := t.exec("first_walked", args...)
	if t.changed = t.changed || first > 0; err != nil || first > 0 {
		return err
	}
	_, err = t.exec("walked", args...)
	return err
}

// DeleteSource removes a source that has no skills any more.
func (t *Tx) DeleteSource(source int64) error {
	t.changed = true
	_, err := t.exec("delete_source", sql.Named("source", source))
	return err
}

// PutStamp notes that a skill was looked at and had not changed.
func (t *Tx) PutStamp(id int64, stamp string) error {
	_, err := t.exec("put_stamp", sql.Named("skill", id), sql.Named("stamp", stamp))
	return err
}

// ForgetStamps makes the next walk of a source read all of its skills again,
// whatever their stamps and digests are.
func (t *Tx) ForgetStamps(source int64) error {
	n, err := t.exec("forget_stamps", sql.Named("source", source))
	t.changed = t.changed || n > 0
	return err
}

// PutSkill adds or replaces the skill at r.Path of the source and returns its
// ID. Precedence is settled only by the next call of Shadow.
func (t *Tx) PutSkill(source int64, r Record) (int64, error) {
	t.changed = true
	if r.packed.body == nil {
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
	id, err := t.value("put_skill", append(skillArgs(&r), sql.Named("source", source))...)
	if err != nil {
		return 0, err
	}
	if err := t.begin(id); err != nil {
		return 0, err
	}
	if r.Refused {
		return id, nil
	}
	return id, t.putParts(id, &r)
}

// begin clears what was there of a skill before its row was written. Most often
// nothing was: the row is new when its ID is above all that were given out.
func (t *Tx) begin(id int64) error {
	if id <= t.newest {
		return t.clear(id)
	}
	t.newest, t.fts[id] = id, &change{id: id}
	return nil
}

// DeleteSkill removes a skill and all that belongs to it.
func (t *Tx) DeleteSkill(id int64) error {
	t.changed = true
	if err := t.clear(id); err != nil {
		return err
	}
	_, err := t.exec("delete_skill", sql.Named("skill", id))
	return err
}

// clear removes what PutSkill writes beside the row of a skill.
func (t *Tx) clear(id int64) error {
	c, err := t.change(id)
	if err != nil {
		return err
	}
	c.new = nil
	for _, name := range []string{"delete_body", "delete_files", "delete_texts", "delete_fields"} {
		if _, err := t.exec(name, sql.Named("skill", id)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) putParts(id int64, r *Record) error {
	t.fts[id].new = &r.Fields
	row := sql.Named("skill", id)
	if _, err := t.exec("put_body", row, sql.Named("body", r.packed.body)); err != nil {
		return err
	}
	if _, err := t.exec("put_fields", row, sql.Named("fields", r.packed.fields)); err != nil {
		return err
	}
	for _, f := range r.Skill.Files {
		_, err := t.exec("put_file", row, sql.Named("path", f.Path), sql.Named("size", f.Size), sql.Named("sha256", f.SHA256))
		if err != nil {
			return err
		}
	}
	for i, hash := range r.Texts {
		if _, err := t.exec("put_text", row, sql.Named("ordinal", i), sql.Named("hash", hash)); err != nil {
			return err
		}
	}
	return nil
}

// Shadow settles which skill of each name is offered, as far as this transaction
// may have changed it.
func (t *Tx) Shadow() error {
	n, err := t.exec("shadow", sql.Named("all", t.sources))
	t.changed = t.changed || n > 0
	return err
}

// PutVectors stores the vectors of texts, given by hash. Vectors of different
// models never meet: the model is part of the key.
func (t *Tx) PutVectors(model string, hashes [][]byte, vectors [][]float32) error {
	t.changed = t.changed || len(hashes) > 0
	id, err := t.value("put_model", sql.Named("model", model))
	if err != nil {
		return err
	}
	for i, hash := range hashes {
		_, err := t.exec("put_vector", sql.Named("model", id), sql.Named("hash", hash), sql.Named("vector", packVector(vectors[i])))
		if err != nil {
			return err
		}
	}
	return t.noteVectors(id, hashes)
}

// PruneVectors removes the vectors of texts that no skill has any more.
func (t *Tx) PruneVectors() error {
	_, err := t.exec("prune_vectors")
	return err
}

// DropModels removes the vectors of all models but one.
func (t *Tx) DropModels(keep string) error {
	n, err := t.exec("drop_models", sql.Named("keep", keep))
	if n > 0 && err == nil {
		t.changed = true
		_, err = t.exec("break_feed") // the vectors of all skills are gone
	}
	return err
}

func skillArgs(r *Record) []any {
	s := r.Skill
	return []any{
		sql.Named("path", r.Path), sql.Named("stamp", r.Stamp), sql.Named("digest", s.Digest),
		sql.Named("name", s.Name), sql.Named("name_key", r.NameKey), sql.Named("description", s.Description),
		sql.Named("location", s.Location), sql.Named("tags", string(marshal(orEmpty(s.Tags)))),
		sql.Named("requires", string(marshal(orEmpty(s.Requires)))), sql.Named("tokens", words.Tokens(s.Body)),
		sql.Named("problems", r.packed.problems), sql.Named("refused", r.Refused),
	}
}

// marshal returns v as JSON. A value that JSON does not have (.inf) is a reported
// problem of the skill; only the copy of its frontmatter is lost here.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

// orEmpty makes nil an empty list, which JSON tells apart.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
