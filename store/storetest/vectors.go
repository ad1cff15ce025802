package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
)

func vectorChecks() []check {
	return []check{
		{"VectorsByModel", "Vectors belong to a text and a model; vectors of two models never meet, and skills with the same text share its vector.", testVectorsByModel},
		{"Spaces", "A space may be of the first texts of each skill only: the others do not count, and Vectors returns what the model has.", testSpaces},
		{"VectorValues", "A value differs by at most 1/254 of the largest of its vector.", testVectorValues},
		{"VectorsStay", "A vector belongs to its text: it is there again when a skill comes back, or when another skill has the text.", testVectorsStay},
		{"Coverage", "Coverage counts the texts of all skills or of the given rows; an empty list of rows does not mean all rows.", testCoverage},
		{"Unembedded", "Unembedded visits the skills by descending row, and a text that never gets a vector does not block the others.", testUnembedded},
		{"DropModel", "DropModel removes the vectors of one model and leaves those of others; nobody can start from an older generation after it.", testDropModel},
		{"PruneVectors", "PruneVectors removes the vectors of texts that no skill has, and no others.", testPruneVectors},
		{"Rankings", "Rankings returns what Ranked and Vectors return about each of the rows, and leaves out rows that do not exist and refused skills.", testRankings},
	}
}

// vectors returns "row/ordinal: values" for all vectors by a model, ordered by row.
func vectors(t *testing.T, r store.Reader, model string) []string {
	t.Helper()
	var rows []int64
	for _, e := range entries(t, r, nil) {
		rows = append(rows, e.Row)
	}
	slices.Sort(rows)
	list := []string{}
	for _, row := range rows {
		ranking, _ := Ranking(t, r, model, row)
		for _, v := range ranking.Vectors {
			list = append(list, fmt.Sprintf("%d/%d: %.1f", row, v.Ordinal, v.Values))
		}
	}
	return list
}

// coverage returns "embedded of texts" of these rows.
func coverage(t *testing.T, r store.Reader, model string, rows []int64) string {
	t.Helper()
	texts, embedded, err := r.Coverage(t.Context(), store.Space{Model: model}, rows)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d of %d", embedded, texts)
}

// twoSkills puts two skills: one with the texts "one" and "two", one with "two" and "three".
func twoSkills(t *testing.T, s store.Store) (rows []int64) {
	one, two, three := []byte("one"), []byte("two"), []byte("three")
	a, b := Record("pdf", "d", "b"), Record("csv", "d", "b")
	a.Texts, b.Texts = [][]byte{one, two}, [][]byte{two, three}
	b.Examples = [][]byte{[]byte("example"), one}
	rows = Put(t, s, store.Source{Label: "a"}, a, b)
	Update(t, s, func(tx store.Tx) error {
		err1 := tx.PutVectors("m", [][]byte{two, one}, Packed([]float32{9}, []float32{1}))
		err2 := tx.PutVectors("m", [][]byte{two}, Packed([]float32{2})) // the last one counts
		return errors.Join(err1, err2, tx.PutVectors("n", [][]byte{two}, Packed([]float32{5, -5})))
	})
	return rows
}

func testVectorsByModel(t *testing.T, s store.Store) {
	rows := twoSkills(t, s)
	at := func(row, ordinal int, values string) string {
		return fmt.Sprintf("%d/%d: %s", rows[row], ordinal, values)
	}
	readers(t, s, func(in store.Reader) {
		wants(t, "model m", []string{at(0, 0, "[1.0]"), at(0, 1, "[2.0]"), at(1, -2, "[1.0]"), at(1, 0, "[2.0]")})(vectors(t, in, "m"), nil)
		wants(t, "model n", []string{at(0, 1, "[5.0 -5.0]"), at(1, 0, "[5.0 -5.0]")})(vectors(t, in, "n"), nil)
		wants(t, "an absent model", []string{})(vectors(t, in, "absent"), nil)
		models, err := in.Models(t.Context())
		wants(t, "models", []store.Model{{Name: "m", Dim: 1}, {Name: "n", Dim: 2}})(models, err)
	})
}

func testSpaces(t *testing.T, s store.Store) {
	rows := twoSkills(t, s)
	Update(t, s, func(tx store.Tx) error {
		return tx.PutVectors("first", [][]byte{[]byte("one")}, Packed([]float32{1}))
	})
	readers(t, s, func(in store.Reader) {
		for _, c := range []struct {
			space   store.Space
			rows    []int64
			want    string
			missing int
		}{
			{store.Space{Model: "first"}, nil, "1 of 4", 3},
			{store.Space{Model: "first", To: 1}, nil, "1 of 2", 1},
			{store.Space{Model: "first", To: 1}, rows[1:], "0 of 1", 1},
			{store.Space{Model: "first", From: -2, To: 1}, rows[1:], "1 of 3", 2},
			{store.Space{Model: "first", From: -1, To: 1}, nil, "1 of 3", 2},
			{store.Space{Model: "m", To: 1}, nil, "2 of 2", 0},
			{store.Space{Model: "absent", To: 1}, nil, "0 of 2", 2},
		} {
			texts, embedded, err := in.Coverage(t.Context(), c.space, c.rows)
			wants(t, fmt.Sprint("coverage of ", c.space, c.rows), c.want)(fmt.Sprintf("%d of %d", embedded, texts), err)
			missing, err := in.Unembedded(t.Context(), c.space, 0, 9)
			wants(t, fmt.Sprint("without a vector in ", c.space), c.missing)(len(missing), err)
			for _, text := range missing {
				if text.Ordinal < c.space.From || text.Ordinal >= c.space.End() {
					t.Errorf("%v: text %d of a skill lacks a vector, but does not count", c.space, text.Ordinal)
				}
			}
		}
		found, err := in.Vectors(t.Context(), "first", append(rows, 99))
		wants(t, "vectors", map[int64][]store.Vector{rows[0]: {{Ordinal: 0, Values: []float32{1}}}, rows[1]: {{Ordinal: -2, Values: []float32{1}}}})(found, err)
		found, err = in.Vectors(t.Context(), "m", rows[1:])
		wants(t, "vectors of one row", map[int64][]store.Vector{rows[1]: {{Ordinal: -2, Values: []float32{1}}, {Ordinal: 0, Values: []float32{2}}}})(found, err)
		found, err = in.Vectors(t.Context(), "absent", rows)
		wants(t, "vectors of an absent model", 0)(len(found), err)
	})
}

func testVectorValues(t *testing.T, s store.Store) {
	for _, v := range [][]float32{{0, 0}, {0, 1, -1, .5, -.001}, {3e38, -3e38}, {1e-30, -2e-30, 0}, {.3, -.7, .1234}} {
		r := Record("pdf", "d", "b")
		row := Put(t, s, store.Source{Label: "a"}, r)[0]
		Update(t, s, func(tx store.Tx) error { return tx.PutVectors("m", r.Texts, Packed(v)) })
		ranking, _ := Ranking(t, s, "m", row)
		got := ranking.Vectors
		if len(got) != 1 || len(got[0].Values) != len(v) {
			t.Fatalf("%v became %v", v, got)
		}
		most := float64(max(slices.Max(v), -slices.Min(v)))
		for i, x := range v {
			if off := math.Abs(float64(got[0].Values[i] - x)); off > 1.0001/254*most {
				t.Errorf("%v became %v", v, got[0].Values)
			}
		}
	}
}

func testVectorsStay(t *testing.T, s store.Store) {
	r := Record("pdf", "d", "b")
	row := Put(t, s, store.Source{Label: "a"}, r)[0]
	Update(t, s, func(tx store.Tx) error { return tx.PutVectors("m", r.Texts, Packed([]float32{1})) })
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(row) })
	wants(t, "without the skill", "0 of 0")(coverage(t, s, "m", nil), nil)
	Put(t, s, store.Source{Label: "a"}, r, Record("csv", "d", "other body"), Record("xls", "x", "b"))
	wants(t, "with skills of the same text", "2 of 3")(coverage(t, s, "m", nil), nil)
}

func testCoverage(t *testing.T, s store.Store) {
	rows := twoSkills(t, s)
	Put(t, s, store.Source{Label: "a"}, Refused("x"))
	readers(t, s, func(in store.Reader) {
		for _, tt := range []struct {
			model string
			rows  []int64
			want  string
		}{
			{"m", nil, "3 of 4"},
			{"n", nil, "2 of 4"},
			{"absent", nil, "0 of 4"},
			{"m", []int64{}, "0 of 0"},
			{"m", rows[1:], "1 of 2"},
			{"n", []int64{rows[0], 99}, "1 of 2"},
		} {
			wants(t, fmt.Sprint(tt.model, tt.rows), tt.want)(coverage(t, in, tt.model, tt.rows), nil)
		}
	})
}

func testUnembedded(t *testing.T, s store.Store) {
	var records []*store.Record
	for i := range 7 {
		r := Record(fmt.Sprint("s", i), fmt.Sprint("text ", i), "b")
		r.Texts = append(r.Texts, []byte(fmt.Sprint("body ", i)))
		records = append(records, r)
	}
	rows := Put(t, s, store.Source{Label: "a"}, append(records, Refused("x"))...)[:7]
	Update(t, s, func(tx store.Tx) error {
		hashes := append(records[3].Texts, records[4].Texts[0])
		return tx.PutVectors("m", hashes, Packed([]float32{1}, []float32{1}, []float32{1}))
	})
	var want []store.Text
	for i, row := range slices.Backward(rows) {
		for ordinal, hash := range slices.Backward(records[i].Texts) {
			if i != 3 && (i != 4 || ordinal != 0) {
				want = append(want, store.Text{Row: row, Ordinal: ordinal, Hash: hash})
			}
		}
	}
	readers(t, s, func(in store.Reader) {
		var seen []store.Text
		for before := int64(0); ; {
			list, err := in.Unembedded(t.Context(), store.Space{Model: "m"}, before, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			if n := list[0].Row - list[len(list)-1].Row; n < 1 && len(list) > 2 || before != 0 && list[0].Row >= before {
				t.Errorf("below %d came %+v", before, list)
			}
			seen = append(seen, list...)
			before = list[len(list)-1].Row
		}
		wants(t, "visited", want)(seen, nil)
		all, err := in.Unembedded(t.Context(), store.Space{Model: "other"}, 0, 99)
		wants(t, "texts without a vector of another model", 14)(len(all), err)
		last, err := in.Unembedded(t.Context(), store.Space{Model: "m"}, rows[1], 99)
		wants(t, "the first skill", want[len(want)-2:])(last, err)
	})
}

func testDropModel(t *testing.T, s store.Store) {
	r := Record("pdf", "d", "b")
	Put(t, s, store.Source{Label: "a"}, r)
	Update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutVectors("old", r.Texts, Packed([]float32{1, 2})), tx.PutVectors("new", r.Texts, Packed([]float32{3})))
	})
	before := State(t, s).Generation
	Update(t, s, func(tx store.Tx) error { return tx.DropModel("old") })
	models, err := s.Models(t.Context())
	wants(t, "models", []store.Model{{Name: "new", Dim: 1}})(models, err)
	if got := vectors(t, s, "new"); len(got) != 1 || len(vectors(t, s, "old")) != 0 {
		t.Errorf("vectors left: %q", got)
	}
	after := State(t, s).Generation
	known(t, s, before, false, "the generation before")
	known(t, s, after, true, "the generation after")
	Update(t, s, func(tx store.Tx) error { return tx.DropModel("old") })
	known(t, s, after, true, "after a second time")
	// Vectors of a model that comes back are changes again.
	row := Put(t, s, store.Source{Label: "b"})
	Update(t, s, func(tx store.Tx) error { return tx.PutVectors("old", r.Texts, Packed([]float32{1, 2})) })
	rows, ok, err := s.Changes(t.Context(), after, "old")
	if err != nil || !ok || len(rows) != 1 || len(row) != 0 {
		t.Errorf("changes %v, %v, %v", rows, ok, err)
	}
}

func testPruneVectors(t *testing.T, s store.Store) {
	a, b := Record("pdf", "one", "b"), Record("csv", "two", "b")
	rows := Put(t, s, store.Source{Label: "a"}, a, b)
	Update(t, s, func(tx store.Tx) error {
		return tx.PutVectors("m", slices.Concat(a.Texts, b.Texts), Packed([]float32{1}, []float32{2}))
	})
	Update(t, s, func(tx store.Tx) error { return errors.Join(tx.DeleteSkill(rows[0]), tx.PruneVectors()) })
	Put(t, s, store.Source{Label: "a"}, a)
	wants(t, "coverage", "1 of 2")(coverage(t, s, "m", nil), nil)
	missing, err := s.Unembedded(t.Context(), store.Space{Model: "m"}, 0, 9)
	if err != nil || len(missing) != 1 || !slices.Equal(missing[0].Hash, a.Texts[0]) {
		t.Errorf("texts without a vector: %+v, %v", missing, err)
	}
	Update(t, s, func(tx store.Tx) error { return errors.Join(tx.DeleteSource(sourceRow(t, s, "a")), tx.PruneVectors()) })
	models, err := s.Models(t.Context())
	wants(t, "models without vectors", []store.Model{{Name: "m"}})(models, err)
}

// Packed packs vectors as a store keeps them.
func Packed(vectors ...[]float32) [][]byte {
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		list[i] = store.PackVector(v)
	}
	return list
}
