package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

// An Entry is the row of one SKILL.md without its text: all that ranking,
// listing and scopes need.
type Entry struct {
	skill.Meta
	Row        int64
	NameKey    string
	Refused    bool
	ShadowedBy int64 // the row of the skill that has its name, or 0
}

// A Stamp is what the catalog knows of one SKILL.md without reading it.
type Stamp struct {
	ID     int64
	Stamp  string
	Digest string
}

// A Match is one skill that full-text search found.
type Match struct {
	ID    int64
	Score float64 // BM25, higher is better
}

// Weights are the weights of the fields in a match.
type Weights struct{ Name, Description, Tags, Body float64 }

// A Vector is the vector of one text of a skill.
type Vector struct {
	Skill   int64
	Ordinal int // 0 is the description
	Values  []float32
}

// Sources returns all sources, by label.
func (db *DB) Sources(ctx context.Context) ([]Source, error) {
	var list []Source
	err := db.query(ctx, "sources", func(rows *sql.Rows) error {
		var s Source
		var walked int64
		err := rows.Scan(&s.ID, &s.Label, &s.Root, &s.Priority, &walked)
		if walked != 0 {
			s.Walked = time.Unix(0, walked)
		}
		list = append(list, s)
		return err
	})
	return list, err
}

// Stamps returns what is known of the skills of a source, by path.
func (db *DB) Stamps(ctx context.Context, source int64) (map[string]Stamp, error) {
	return db.stamps(ctx, "stamps", sql.Named("source", source))
}

// StampsOf is Stamps for some paths.
func (db *DB) StampsOf(ctx context.Context, source int64, paths []string) (map[string]Stamp, error) {
	data, err := json.Marshal(paths)
	if err != nil {
		return nil, err
	}
	return db.stamps(ctx, "stamps_of", sql.Named("source", source), sql.Named("paths", string(data)))
}

func (db *DB) stamps(ctx context.Context, statement string, args ...any) (map[string]Stamp, error) {
	known := make(map[string]Stamp)
	err := db.query(ctx, statement, func(rows *sql.Rows) error {
		var s Stamp
		var path string
		err := rows.Scan(&s.ID, &path, &s.Stamp, &s.Digest)
		known[path] = s
		return err
	}, args...)
	return known, err
}

// Entries returns the rows of all skills, by name, the offered one of each
// name first.
func (db *DB) Entries(ctx context.Context) ([]Entry, error) { return db.entries(ctx, "entries") }

func (db *DB) entries(ctx context.Context, statement string, args ...any) ([]Entry, error) {
	var list []Entry
	err := db.query(ctx, statement, func(rows *sql.Rows) error {
		var e Entry
		var tags, requires sql.RawBytes
		err := rows.Scan(&e.Row, &e.Source, &e.Path, &e.Digest, &e.TextDigest, &e.Name, &e.NameKey, &e.Description,
			&e.Location, &tags, &requires, &e.Tokens, &e.Refused, &e.ShadowedBy)
		if err != nil {
			return err
		}
		if err := errors.Join(unmarshalList(tags, &e.Tags), unmarshalList(requires, &e.Requires)); err != nil {
			return err
		}
		e.ID = e.id()
		list = append(list, e)
		return nil
	}, args...)
	return list, err
}

// unmarshalList is json.Unmarshal that does not start for the empty list,
// which is what most skills have.
func unmarshalList(data []byte, list *[]string) error {
	if len(data) <= len("[]") {
		return nil
	}
	return json.Unmarshal(data, list)
}

// Skill returns the skill with that ID as it was indexed, with its files; ok
// is false when there is none.
func (db *DB) Skill(ctx context.Context, id int64) (s *skill.Skill, ok bool, err error) {
	err = db.query(ctx, "skill", func(rows *sql.Rows) error {
		s, err = scanSkill(rows)
		return err
	}, sql.Named("skill", id))
	if err != nil || s == nil {
		return nil, false, err
	}
	s.Files, err = db.Files(ctx, id)
	return s, err == nil, err
}

func scanSkill(rows *sql.Rows) (*skill.Skill, error) {
	s := new(skill.Skill)
	var file string
	var tags, requires, problems, packed []byte
	err := rows.Scan(&s.Source, &file, &s.Digest, &s.TextDigest, &s.Tokens, &s.Name, &s.Description, &s.Location,
		&tags, &requires, &packed, &problems)
	if err != nil {
		return nil, err
	}
	s.Path = file
	s.Problems, err = unpackProblems(problems)
	err = errors.Join(err, json.Unmarshal(tags, &s.Tags), json.Unmarshal(requires, &s.Requires))
	if packed == nil || err != nil {
		return s, err // a refused one has no body
	}
	if err := unpackBody(s, packed); err != nil {
		return nil, fmt.Errorf("body of %s: %w: %w", file, errDamaged, err)
	}
	return s, nil
}

// Files returns the manifest of a skill, by path.
func (db *DB) Files(ctx context.Context, id int64) ([]skill.File, error) {
	var list []skill.File
	err := db.query(ctx, "files", func(rows *sql.Rows) error {
		var f skill.File
		err := rows.Scan(&f.Path, &f.Size, &f.SHA256)
		list = append(list, f)
		return err
	}, sql.Named("skill", id))
	return list, err
}

// A Reported problem belongs to one skill of one source.
type Reported struct {
	Source string
	Skill  int64
	skill.Problem
}

// Problems returns all problems of all skills, by source and path.
func (db *DB) Problems(ctx context.Context) ([]Reported, error) {
	var list []Reported
	err := db.query(ctx, "problems", func(rows *sql.Rows) error {
		var r Reported
		var data []byte
		if err := rows.Scan(&r.Source, &r.Skill, &data); err != nil {
			return err
		}
		problems, err := unpackProblems(data)
		for _, p := range problems {
			r.Problem = p
			list = append(list, r)
		}
		return err
	})
	return list, err
}

// unpackProblems returns the problems of a skill, whose packed form is nil when it
// has none.
func unpackProblems(packed []byte) ([]skill.Problem, error) {
	if packed == nil {
		return []skill.Problem{}, nil
	}
	data, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	var list []skill.Problem
	err = json.Unmarshal(data, &list)
	return list, err
}

// Match returns the best skills for an FTS5 query over terms, best first and
// ties by name. Only skills that are offered under their name are searched,
// and of them only those whose IDs are in allowed, unless it is nil.
func (db *DB) Match(ctx context.Context, query string, w Weights, allowed []int64, limit int) ([]Match, error) {
	var filter any
	if allowed != nil {
		data, err := json.Marshal(allowed)
		if err != nil {
			return nil, err
		}
		filter = string(data)
	}
	var list []Match
	err := db.query(ctx, "match", func(rows *sql.Rows) error {
		var m Match
		err := rows.Scan(&m.ID, &m.Score)
		list = append(list, m)
		return err
	}, sql.Named("query", query), sql.Named("allowed", filter), sql.Named("limit", limit),
		sql.Named("name", w.Name), sql.Named("description", w.Description),
		sql.Named("tags", w.Tags), sql.Named("body", w.Body))
	return list, err
}

// Frequencies returns in how many skills each of the terms occurs, and how
// many skills there are. A term that occurs nowhere is not in the map.
func (db *DB) Frequencies(ctx context.Context, terms []string) (map[string]int, int, error) {
	data, err := json.Marshal(terms)
	if err != nil {
		return nil, 0, err
	}
	counts := make(map[string]int, len(terms))
	err = db.query(ctx, "frequencies", func(rows *sql.Rows) error {
		var term string
		var n int
		err := rows.Scan(&term, &n)
		counts[term] = n
		return err
	}, sql.Named("terms", string(data)))
	if err != nil {
		return nil, 0, err
	}
	total := 0
	err = db.query(ctx, "indexed", func(rows *sql.Rows) error { return rows.Scan(&total) })
	return counts, total, err
}

func scanVector(rows *sql.Rows) (v Vector, err error) {
	var data sql.RawBytes
	if err := rows.Scan(&v.Skill, &v.Ordinal, &data); err != nil {
		return v, err
	}
	if v.Values, err = unpackVector(data); err != nil {
		return v, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return v, nil
}

// Unembedded returns up to limit IDs greater than after of skills that have a
// text without a vector of the model, in rising order.
func (db *DB) Unembedded(ctx context.Context, model string, after int64, limit int) ([]int64, error) {
	var list []int64
	err := db.query(ctx, "unembedded", func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		list = append(list, id)
		return err
	}, sql.Named("model", model), sql.Named("after", after), sql.Named("limit", limit))
	return list, err
}

// HasVector reports whether the text of that hash has a vector of the model.
func (db *DB) HasVector(ctx context.Context, model string, hash []byte) (bool, error) {
	var has bool
	err := db.query(ctx, "has_vector", func(rows *sql.Rows) error { return rows.Scan(&has) },
		sql.Named("model", model), sql.Named("hash", hash))
	return has, err
}

// A Model is an embedder that vectors of the catalog are from.
type Model struct {
	Name string
	Dim  int // of its vectors, 0 when there are none
}

// Models returns the models of all vectors, by name.
func (db *DB) Models(ctx context.Context) ([]Model, error) {
	var list []Model
	err := db.query(ctx, "models", func(rows *sql.Rows) error {
		var m Model
		err := rows.Scan(&m.Name, &m.Dim)
		list = append(list, m)
		return err
	})
	return list, err
}

// Coverage returns how many texts there are and how many of them have a
// vector of the model.
func (db *DB) Coverage(ctx context.Context, model string) (texts, embedded int, err error) {
	err = db.query(ctx, "coverage", func(rows *sql.Rows) error { return rows.Scan(&texts, &embedded) },
		sql.Named("model", model))
	return texts, embedded, err
}

// Offered reports whether the skill is the one that is found under its name.
func (e *Entry) Offered() bool { return !e.Refused && e.ShadowedBy == 0 }

// id returns what names this skill and no other: its name when it is offered
// under it, else "source/folder".
func (e *Entry) id() string {
	switch dir := path.Dir(e.Path); {
	case e.Offered():
		return e.Name
	case dir == ".":
		return e.Source + "/" + e.Name
	default:
		return e.Source + "/" + dir
	}
}
