package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// Sources implements store.Reader.
func (db *DB) Sources(ctx context.Context) ([]store.Source, error) {
	var list []store.Source
	err := db.query(ctx, "sources", func(rows *sql.Rows) error {
		var s store.Source
		err := rows.Scan(&s.Row, &s.Label, &s.Root, &s.Priority, &s.Apart, &s.Walked, &s.Identity, &s.Away)
		list = append(list, s)
		return err
	})
	return list, err
}

// Known implements store.Reader.
func (db *DB) Known(ctx context.Context, source int64, paths []string) (map[string]store.Known, error) {
	statement, args := "stamps", []any{sql.Named("source", source)}
	if paths != nil {
		statement, args = "stamps_of", append(args, sql.Named("paths", jsonArray(paths)))
	}
	known := make(map[string]store.Known)
	err := db.query(ctx, statement, func(rows *sql.Rows) error {
		var k store.Known
		var path string
		err := rows.Scan(&k.Row, &path, &k.Stamp, &k.Digest, &k.Name, &k.Location)
		known[path] = k
		return err
	}, args...)
	return known, err
}

// Entries implements store.Reader.
func (db *DB) Entries(ctx context.Context, ids []int64) ([]store.Entry, error) {
	statement, args := "entries", []any(nil)
	if ids != nil {
		statement, args = "entries_by_id", []any{sql.Named("ids", jsonArray(ids))}
	}
	var list []store.Entry
	err := db.query(ctx, statement, func(rows *sql.Rows) error {
		var e store.Entry
		var meta sql.RawBytes
		err := rows.Scan(&e.Row, &e.Source, &e.Path, &e.Digest, &e.Name, &e.NameKey, &e.Location, &meta, &e.Refused, &e.ShadowedBy)
		if err != nil {
			return err
		}
		if err := unpackMeta(&e.Meta, meta); err != nil {
			return err
		}
		e.SetID()
		list = append(list, e)
		return nil
	}, args...)
	return list, err
}

func unpackMeta(m *skill.Meta, data []byte) error {
	if err := m.Unpack(string(data)); err != nil {
		return fmt.Errorf("%s: %w: %w", m.Path, store.ErrDamaged, err)
	}
	return nil
}

// Skill implements store.Reader.
func (db *DB) Skill(ctx context.Context, id int64) (s *skill.Skill, ok bool, err error) {
	err = db.query(ctx, "skill", func(rows *sql.Rows) error {
		s, err = scanSkill(rows)
		return err
	}, sql.Named("skill", id))
	return s, s != nil && err == nil, err
}

func scanSkill(rows *sql.Rows) (*skill.Skill, error) {
	s := new(skill.Skill)
	var meta, problems, body []byte
	if err := rows.Scan(&s.Source, &s.Path, &s.Digest, &s.Name, &s.Location, &meta, &body, &problems); err != nil {
		return nil, err
	}
	if err := unpackMeta(&s.Meta, meta); err != nil {
		return nil, err
	}
	return s, store.Unpack(s, body, problems)
}

// Problems implements store.Reader.
func (db *DB) Problems(ctx context.Context) ([]store.Reported, error) {
	var list []store.Reported
	err := db.query(ctx, "problems", func(rows *sql.Rows) error {
		var r store.Reported
		var data []byte
		if err := rows.Scan(&r.Source, &r.Row, &data); err != nil {
			return err
		}
		problems, err := store.UnpackProblems(data)
		for _, p := range problems {
			r.Problem = p
			list = append(list, r)
		}
		return err
	})
	return list, err
}

// Rankings implements store.Reader.
func (db *DB) Rankings(ctx context.Context, model string, rows []int64) (map[int64]store.Ranking, error) {
	found := make(map[int64]store.Ranking, len(rows))
	for _, row := range rows {
		r, ok, err := db.ranked(ctx, row)
		if err == nil && ok && model != "" {
			r.Vectors, err = db.vectors(ctx, model, row)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			found[row] = r
		}
	}
	return found, nil
}

// ranked returns what text ranking needs about a skill. ok is false if there is none in this
// row, or a refused one.
func (db *DB) ranked(ctx context.Context, row int64) (r store.Ranking, ok bool, err error) {
	err = db.query(ctx, "ranked", func(rows *sql.Rows) error {
		ok = true
		var terms sql.RawBytes
		if err := rows.Scan(&terms, &r.Sketch); err != nil {
			return err
		}
		var err error
		r.Terms, err = store.UnpackTerms(terms)
		return err
	}, sql.Named("skill", row))
	return r, ok, err
}

// Match implements store.TextSearcher. The query is an FTS5 query made of terms.
func (db *DB) Match(ctx context.Context, query string, w skill.Weights, allowed []int64, limit int) ([]store.Match, error) {
	var filter any
	if allowed != nil {
		filter = jsonArray(allowed)
	}
	var list []store.Match
	err := db.query(ctx, "match", func(rows *sql.Rows) error {
		var m store.Match
		err := rows.Scan(&m.Row, &m.Score)
		list = append(list, m)
		return err
	}, sql.Named("query", query), sql.Named("allowed", filter), sql.Named("limit", limit),
		sql.Named("name", w.Name), sql.Named("description", w.Description),
		sql.Named("tags", w.Tags), sql.Named("body", w.Body))
	return list, err
}

// Frequencies implements store.TextSearcher.
func (db *DB) Frequencies(ctx context.Context, terms []string) (map[string]int, int, error) {
	counts := make(map[string]int, len(terms))
	err := db.query(ctx, "frequencies", func(rows *sql.Rows) error {
		var term string
		var n int
		err := rows.Scan(&term, &n)
		counts[term] = n
		return err
	}, sql.Named("terms", jsonArray(terms)))
	if err != nil {
		return nil, 0, err
	}
	total := 0
	err = db.query(ctx, "indexed", func(rows *sql.Rows) error { return rows.Scan(&total) })
	return counts, total, err
}

// vectors returns the vectors of a skill by a model, ordered by ordinal.
func (db *DB) vectors(ctx context.Context, model string, id int64) ([]store.Vector, error) {
	var list []store.Vector
	err := db.query(ctx, "vectors_of", func(rows *sql.Rows) error {
		var v store.Vector
		var data sql.RawBytes
		if err := rows.Scan(&v.Ordinal, &data); err != nil {
			return err
		}
		var err error
		v.Values, err = store.UnpackVector(data)
		list = append(list, v)
		return err
	}, sql.Named("model", model), sql.Named("skill", id))
	return list, err
}

// Vectors implements store.Reader.
func (db *DB) Vectors(ctx context.Context, model string, rows []int64) (map[int64][]store.Vector, error) {
	found := make(map[int64][]store.Vector)
	for _, row := range rows {
		list, err := db.vectors(ctx, model, row)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			found[row] = list
		}
	}
	return found, nil
}

// Unembedded implements store.Reader.
func (db *DB) Unembedded(ctx context.Context, s store.Space, before int64, limit int) ([]store.Text, error) {
	var list []store.Text
	err := db.query(ctx, "unembedded", func(rows *sql.Rows) error {
		var t store.Text
		err := rows.Scan(&t.Row, &t.Ordinal, &t.Hash)
		list = append(list, t)
		return err
	}, sql.Named("model", s.Model), sql.Named("from", s.From), sql.Named("end", s.End()), sql.Named("before", cmp.Or(before, math.MaxInt64)), sql.Named("limit", limit))
	return list, err
}

// Models implements store.Reader.
func (db *DB) Models(ctx context.Context) ([]store.Model, error) {
	var list []store.Model
	err := db.query(ctx, "models", func(rows *sql.Rows) error {
		var m store.Model
		err := rows.Scan(&m.Name, &m.Dim)
		list = append(list, m)
		return err
	})
	return list, err
}

// Coverage implements store.Reader.
func (db *DB) Coverage(ctx context.Context, s store.Space, ids []int64) (texts, embedded int, err error) {
	statement, args := "coverage", []any{sql.Named("model", s.Model), sql.Named("from", s.From), sql.Named("end", s.End())}
	if ids != nil {
		statement, args = "coverage_of", append(args, sql.Named("rows", jsonArray(ids)))
	}
	err = db.query(ctx, statement, func(rows *sql.Rows) error { return rows.Scan(&texts, &embedded) }, args...)
	return texts, embedded, err
}
