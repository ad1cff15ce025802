package sqlite

import (
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A change replaces a skill's text in the full-text index.
type change struct {
	id       int64
	old, new *skill.Fields // nil means no text
}

// change returns the pending change of a skill. A new change removes the skill's text.
func (t *Tx) change(id int64) (*change, error) {
	if c := t.fts[id]; c != nil {
		return c, nil
	}
	old, err := t.indexed(id)
	if err != nil {
		return nil, err
	}
	t.fts[id] = &change{id: id, old: old}
	return t.fts[id], nil
}

// indexed returns the skill's text in the full-text index; nil means no text. The terms
// are not in their original order; removing them does not need it.
func (t *Tx) indexed(id int64) (*skill.Fields, error) {
	var old *skill.Fields
	err := t.query("ranked", func(rows *sql.Rows) error {
		var packed, sketch []byte
		if err := rows.Scan(&packed, &sketch); err != nil {
			return err
		}
		terms, err := store.UnpackTerms(packed)
		if err != nil {
			return err
		}
		f, err := terms.Fields()
		old = &f
		return err
	}, sql.Named("skill", id))
	return old, err
}

func (t *Tx) writeFTS() error {
	for _, id := range slices.Sorted(maps.Keys(t.fts)) {
		if err := t.writeChange(t.fts[id]); err != nil {
			return err
		}
	}
	return nil
}

// vacuum returns free pages to the file system.
func (t *Tx) vacuum() error {
	return t.query("vacuum", func(*sql.Rows) error { return nil }) // SQLite frees one page for each row that is read
}

func (t *Tx) writeChange(c *change) error {
	row := sql.Named("skill", c.id)
	if c.old != nil {
		if _, err := t.exec("forget_fts", append(texts(c.old), row)...); err != nil {
			return err
		}
	}
	if c.new != nil {
		if _, err := t.exec("put_fts", append(texts(c.new), row)...); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the fields as arguments for put_fts and forget_fts.
func texts(f *skill.Fields) []any {
	join := func(terms []string) string { return strings.Join(terms, " ") }
	return []any{
		sql.Named("name", join(f.Name)), sql.Named("description", join(f.Description)),
		sql.Named("tags", join(f.Tags)), sql.Named("body", join(f.Body)),
	}
}
