package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A reader implements store.Reader. lend calls f with a connection and the number of the
// catalog.
type reader struct {
	lend func(ctx context.Context, f func(conn *pgx.Conn, catalog int64) error) error
}

// query runs the statement with this name and returns what scan reads from each row.
func query[T any](ctx context.Context, r reader, name string, args pgx.NamedArgs, scan func(pgx.Rows) (T, error)) (list []T, err error) {
	err = r.lend(ctx, func(conn *pgx.Conn, catalog int64) error {
		list, err = collect(ctx, conn, name, with(args, catalog), scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// with adds the catalog to the arguments of a statement.
func with(args pgx.NamedArgs, catalog int64) pgx.NamedArgs {
	if args == nil {
		args = pgx.NamedArgs{}
	}
	args["catalog"] = catalog
	return args
}

func collect[T any](ctx context.Context, conn *pgx.Conn, name string, args pgx.NamedArgs, scan func(pgx.Rows) (T, error)) ([]T, error) {
	rows, err := conn.Query(ctx, statement(name), args)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", name, err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			// This package wrote all values, so a value of another type is damage.
			return nil, fmt.Errorf("reading %s: %w: %w", name, store.ErrDamaged, err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("running %s: %w", name, err)
	}
	return list, nil
}

// text returns a target of Scan for text that is kept as bytes.
func text(s *string) pgtype.BytesScanner { return scanText{s} }

type scanText struct{ s *string }

func (t scanText) ScanBytes(b []byte) error {
	*t.s = string(b)
	return nil
}

// State implements store.Reader.
func (r reader) State(ctx context.Context) (s store.State, err error) {
	err = r.lend(ctx, func(conn *pgx.Conn, catalog int64) error {
		list, err := collect(ctx, conn, "state", with(nil, catalog), scanState)
		if err == nil && len(list) == 0 {
			err = goneError()
		}
		if err == nil {
			s = list[0]
		}
		return err
	})
	return s, err
}

// goneError means that the catalog was there when this process connected.
func goneError() error { return fmt.Errorf("somebody has removed the catalog: %w", store.ErrStale) }

func scanState(row pgx.Rows) (s store.State, err error) {
	err = row.Scan(&s.Catalog, &s.Generation.Number, &s.Generation.Token, &s.Found)
	return s, err
}

// Sources implements store.Reader.
func (r reader) Sources(ctx context.Context) ([]store.Source, error) {
	return query(ctx, r, "sources", nil, func(row pgx.Rows) (s store.Source, err error) {
		err = row.Scan(&s.Row, text(&s.Label), text(&s.Root), &s.Priority, &s.Apart, &s.Walked, text(&s.Identity), &s.Away, text(&s.Origin), text(&s.Repository))
		return s, err
	})
}

// Known implements store.Reader.
func (r reader) Known(ctx context.Context, source int64, paths []string) (map[string]store.Known, error) {
	name, args := "known", pgx.NamedArgs{"source": source, "version": int(skill.MetaVersion())}
	if paths != nil {
		name, args["paths"] = "known_of", allBytes(paths)
	}
	type known struct {
		path string
		store.Known
	}
	list, err := query(ctx, r, name, args, func(row pgx.Rows) (k known, err error) {
		err = row.Scan(&k.Row, text(&k.path), text(&k.Stamp), text(&k.Digest), text(&k.Name), text(&k.Location))
		return k, err
	})
	if err != nil {
		return nil, err
	}
	found := make(map[string]store.Known, len(list))
	for _, k := range list {
		found[k.path] = k.Known
	}
	return found, nil
}

func allBytes(list []string) [][]byte {
	all := make([][]byte, len(list))
	for i, s := range list {
		all[i] = []byte(s)
	}
	return all
}

// Entries implements store.Reader.
func (r reader) Entries(ctx context.Context, rows []int64) ([]store.Entry, error) {
	if rows == nil {
		return query(ctx, r, "entries", nil, scanEntry)
	}
	return query(ctx, r, "entries_of", pgx.NamedArgs{"rows": rows}, scanEntry)
}

func scanEntry(row pgx.Rows) (e store.Entry, err error) {
	var meta pgtype.DriverBytes
	err = row.Scan(&e.Row, text(&e.Source), text(&e.Path), text(&e.Digest), text(&e.Name), text(&e.NameKey), text(&e.Location),
		&meta, &e.Refused, &e.ShadowedBy)
	if err == nil {
		err = e.Unpack(string(meta))
	}
	e.SetID()
	return e, err
}

// Skill implements store.Reader.
func (r reader) Skill(ctx context.Context, row int64) (*skill.Skill, bool, error) {
	return one(query(ctx, r, "skill", pgx.NamedArgs{"skill": row}, scanSkill))
}

// one returns the only value of a list; ok is false if there is none.
func one[T any](list []T, err error) (v T, ok bool, _ error) {
	if err != nil || len(list) == 0 {
		return v, false, err
	}
	return list[0], true, nil
}

func scanSkill(row pgx.Rows) (*skill.Skill, error) {
	s := new(skill.Skill)
	var problems, body []byte
	var meta pgtype.DriverBytes
	err := row.Scan(text(&s.Source), text(&s.Path), text(&s.Digest), text(&s.Name), text(&s.Location), &meta, &body, &problems)
	if err != nil {
		return nil, err
	}
	if err := s.Meta.Unpack(string(meta)); err != nil {
		return nil, err
	}
	return s, store.Unpack(s, body, problems)
}

// Problems implements store.Reader.
func (r reader) Problems(ctx context.Context) ([]store.Reported, error) {
	lists, err := query(ctx, r, "problems", nil, func(row pgx.Rows) (list []store.Reported, err error) {
		var to store.Reported
		var data []byte
		if err := row.Scan(text(&to.Source), &to.Row, &data); err != nil {
			return nil, err
		}
		problems, err := store.UnpackProblems(data)
		for _, p := range problems {
			to.Problem = p
			list = append(list, to)
		}
		return list, err
	})
	var all []store.Reported
	for _, list := range lists {
		all = append(all, list...)
	}
	return all, err
}

// Changes implements store.Reader.
func (r reader) Changes(ctx context.Context, since store.Generation, model string) ([]int64, bool, error) {
	args := pgx.NamedArgs{"generation": since.Number, "token": since.Token, "model": []byte(model)}
	list, err := query(ctx, r, "changes", args, func(row pgx.Rows) (changed *int64, err error) {
		err = row.Scan(&changed)
		return changed, err
	})
	var rows []int64
	for _, row := range list {
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return rows, len(list) > 0, err
}

// Vectors implements store.Reader.
func (r reader) Vectors(ctx context.Context, model string, rows []int64) (map[int64][]store.Vector, error) {
	found := make(map[int64][]store.Vector)
	_, err := query(ctx, r, "vectors", pgx.NamedArgs{"model": []byte(model), "rows": rows}, func(row pgx.Rows) (_ struct{}, err error) {
		var skill int64
		var ordinals []int
		var vectors [][]byte
		if err := row.Scan(&skill, &ordinals, &vectors); err != nil {
			return struct{}{}, err
		}
		found[skill], err = unpackVectors(ordinals, vectors)
		return struct{}{}, err
	})
	return found, err
}

// Unembedded implements store.Reader.
func (r reader) Unembedded(ctx context.Context, s store.Space, before int64, limit int) ([]store.Text, error) {
	args := pgx.NamedArgs{"model": []byte(s.Model), "from": s.From, "end": s.End(), "before": cmp.Or(before, math.MaxInt64), "limit": limit}
	return query(ctx, r, "unembedded", args, func(row pgx.Rows) (t store.Text, err error) {
		err = row.Scan(&t.Row, &t.Ordinal, &t.Hash)
		return t, err
	})
}

// Coverage implements store.Reader.
func (r reader) Coverage(ctx context.Context, s store.Space, rows []int64) (texts, embedded int, err error) {
	name, args := "coverage", pgx.NamedArgs{"model": []byte(s.Model), "from": s.From, "end": s.End()}
	if rows != nil {
		name, args["rows"] = "coverage_of", rows
	}
	_, err = query(ctx, r, name, args, func(row pgx.Rows) (_ struct{}, err error) {
		return struct{}{}, row.Scan(&texts, &embedded)
	})
	return texts, embedded, err
}

// Models implements store.Reader.
func (r reader) Models(ctx context.Context) ([]store.Model, error) {
	list, err := query(ctx, r, "models", nil, scanModel)
	var models []store.Model
	for _, m := range list {
		models = append(models, m.Model)
	}
	return models, err
}

// A model is a store.Model with its number.
type model struct {
	store.Model
	id int64
}

func scanModel(row pgx.Rows) (m model, err error) {
	err = row.Scan(&m.id, text(&m.Name), &m.Dim)
	return m, err
}

// Rankings implements store.Reader.
func (r reader) Rankings(ctx context.Context, model string, rows []int64) (map[int64]store.Ranking, error) {
	type ranking struct {
		row int64
		store.Ranking
	}
	args := pgx.NamedArgs{"model": []byte(model), "rows": rows}
	list, err := query(ctx, r, "rankings", args, func(row pgx.Rows) (k ranking, err error) {
		var terms pgtype.DriverBytes
		var ordinals []int
		var vectors [][]byte
		if err := row.Scan(&k.row, &terms, &k.Sketch, &ordinals, &vectors); err != nil {
			return k, err
		}
		if k.Terms, err = store.UnpackTerms(terms); err != nil {
			return k, err
		}
		k.Vectors, err = unpackVectors(ordinals, vectors)
		return k, err
	})
	found := make(map[int64]store.Ranking, len(list))
	for _, k := range list {
		found[k.row] = k.Ranking
	}
	return found, err
}

func unpackVectors(ordinals []int, packed [][]byte) ([]store.Vector, error) {
	list := make([]store.Vector, len(ordinals))
	for i, ordinal := range ordinals {
		values, err := store.UnpackVector(packed[i])
		if err != nil {
			return nil, err
		}
		list[i] = store.Vector{Ordinal: ordinal, Values: values}
	}
	return list, nil
}
