package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// change is what full-text search is to forget and to learn of one skill.
type change struct {
	id       int64
	old, new *Fields // nil for nothing
}

// change returns the change of a skill, which at first forgets what is known.
func (t *Tx) change(id int64) (*change, error) {
	if c := t.fts[id]; c != nil {
		return c, nil
	}
	old, err := t.fields(id)
	if err != nil {
		return nil, err
	}
	t.fts[id] = &change{id: id, old: old}
	return t.fts[id], nil
}

// fields returns what full-text search was told of a skill, nil for nothing.
func (t *Tx) fields(id int64) (*Fields, error) {
	s, err := t.stmt("fields")
	if err != nil {
		return nil, err
	}
	var data []byte
	err = s.QueryRowContext(t.ctx, sql.Named("skill", id)).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("running fields: %w", err)
	}
	f, err := unpackFields(data)
	if err != nil {
		return nil, fmt.Errorf("fields of skill %d: %w: %w", id, errDamaged, err)
	}
	return f, nil
}

func (t *Tx) writeFTS() error {
	for _, id := range slices.Sorted(maps.Keys(t.fts)) {
		if err := t.writeChange(t.fts[id]); err != nil {
			return err
		}
	}
	if !t.optimize {
		return nil
	}
	if _, err := t.exec("optimize_fts"); err != nil {
		return err
	}
	return t.vacuum()
}

// vacuum gives back what was merged: else the file keeps a second full-text
// index of free pages.
func (t *Tx) vacuum() error {
	s, err := t.stmt("vacuum")
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx)
	if err != nil {
		return fmt.Errorf("running vacuum: %w", err)
	}
	return each("vacuum", rows, func(*sql.Rows) error { return nil }) // a row for every page
}

func (t *Tx) writeChange(c *change) error {
	row := sql.Named("skill", c.id)
	if c.old != nil {
		if _, err := t.exec("forget_fts", append(c.old.args(), row)...); err != nil {
			return err
		}
	}
	if c.new != nil {
		if _, err := t.exec("put_fts", append(c.new.args(), row)...); err != nil {
			return err
		}
	}
	return nil
}

// list returns the fields in the order in which they are packed.
func (f *Fields) list() [4]*string { return [4]*string{&f.Name, &f.Description, &f.Tags, &f.Body} }

// bodyField is the place of the body in that list.
const bodyField = 3

func (f *Fields) args() []any {
	return []any{sql.Named("name", f.Name), sql.Named("description", f.Description), sql.Named("tags", f.Tags), sql.Named("body", f.Body)}
}

// Optimize makes full-text search as fast as it can be, at a cost that grows
// with all of the index: worth it after a large change.
func (t *Tx) Optimize() {
	t.changed = true
	t.optimize = true
}
