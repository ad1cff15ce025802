package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/repertoire-skills/repertoire/store"
)

// Rankings implements store.BulkReader.
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
