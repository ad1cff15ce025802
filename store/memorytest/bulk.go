package memorytest

import (
	"context"

	"github.com/repertoire-skills/repertoire/store"
)

// Rankings implements store.BulkReader.
func (r reader) Rankings(ctx context.Context, model string, rows []int64) (map[int64]store.Ranking, error) {
	found := make(map[int64]store.Ranking)
	for _, row := range rows {
		ranked, ok, err := r.Ranked(ctx, row)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		all := store.Ranking{Ranked: ranked}
		if model != "" {
			if all.Vectors, err = r.Vectors(ctx, model, row); err != nil {
				return nil, err
			}
		}
		found[row] = all
	}
	return found, nil
}
