package storetest

import (
	"reflect"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
)

// testRankings checks engines that have store.BulkReader.
func testRankings(t *testing.T, s store.Store) {
	if _, ok := s.(store.BulkReader); !ok {
		t.Skip("the engine has no BulkReader")
	}
	rows := append(twoSkills(t, s), Put(t, s, store.Source{Label: "bad"}, Refused("bad/SKILL.md"))...)
	Update(t, s, func(tx store.Tx) error {
		return tx.PutVectors("m", [][]byte{[]byte("one"), []byte("three")}, Packed([]float32{1, 0}, []float32{0, 1}))
	})
	readers(t, s, func(r store.Reader) {
		for _, model := range []string{"m", "other", ""} {
			want := make(map[int64]store.Ranking)
			for _, row := range rows[:2] {
				want[row] = rankingOf(t, r, model, row)
			}
			got, err := r.(store.BulkReader).Rankings(t.Context(), model, append(rows, 9999))
			wants(t, "rankings by model "+model, want)(withoutEmpty(got), err)
		}
		got, err := r.(store.BulkReader).Rankings(t.Context(), "m", nil)
		if len(got) > 0 || err != nil {
			t.Errorf("without rows: %v, %v", got, err)
		}
	})
}

// rankingOf asks for one skill what Rankings returns for many.
func rankingOf(t *testing.T, r store.Reader, model string, row int64) (all store.Ranking) {
	t.Helper()
	ranked, ok, err := r.Ranked(t.Context(), row)
	if err != nil || !ok || reflect.DeepEqual(ranked, store.Ranked{}) {
		t.Fatalf("row %d is not ranked: %v", row, err)
	}
	all.Ranked = ranked
	if model != "" {
		if all.Vectors, err = r.Vectors(t.Context(), model, row); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.Vectors) == 0 {
		all.Vectors = nil
	}
	return all
}

// withoutEmpty makes empty lists of vectors nil.
func withoutEmpty(all map[int64]store.Ranking) map[int64]store.Ranking {
	for row, r := range all {
		if len(r.Vectors) == 0 {
			r.Vectors = nil
			all[row] = r
		}
	}
	return all
}
