package storetest

import (
	"testing"

	"github.com/repertoire-skills/repertoire/store"
)

func testRankings(t *testing.T, s store.Store) {
	rows := append(twoSkills(t, s), Put(t, s, store.Source{Label: "bad"}, Refused("bad/SKILL.md"))...)
	Update(t, s, func(tx store.Tx) error {
		return tx.PutVectors("m", [][]byte{[]byte("one"), []byte("three")}, Packed([]float32{1, 0}, []float32{0, 1}))
	})
	readers(t, s, func(r store.Reader) {
		for _, model := range []string{"m", "other", ""} {
			want := make(map[int64]store.Ranking)
			vectors := 0
			for _, row := range rows[:2] {
				one, ok := Ranking(t, r, model, row)
				if !ok || len(one.Terms) == 0 {
					t.Errorf("row %d is not ranked", row)
				}
				want[row], vectors = one, vectors+len(one.Vectors)
			}
			if vectors > 0 != (model == "m") {
				t.Errorf("%d vectors by model %q", vectors, model)
			}
			got, err := r.Rankings(t.Context(), model, append(rows, 9999))
			for row, one := range got {
				got[row] = withoutEmpty(one)
			}
			wants(t, "rankings by model "+model, want)(got, err)
		}
		got, err := r.Rankings(t.Context(), "m", nil)
		if len(got) > 0 || err != nil {
			t.Errorf("without rows: %v, %v", got, err)
		}
	})
}

// Ranking returns what ranking needs about one skill; ok is false if there is none in the row,
// or a refused one.
func Ranking(t testing.TB, r store.Reader, model string, row int64) (one store.Ranking, ok bool) {
	t.Helper()
	all, err := r.Rankings(t.Context(), model, []int64{row})
	if err != nil {
		t.Fatal(err)
	}
	one, ok = all[row]
	return withoutEmpty(one), ok
}

// withoutEmpty makes an empty list of vectors nil.
func withoutEmpty(r store.Ranking) store.Ranking {
	if len(r.Vectors) == 0 {
		r.Vectors = nil
	}
	return r
}
