package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// vectors returns "skill/ordinal: values" of all vectors of a model.
func vectors(t *testing.T, db *DB, model string) []string {
	t.Helper()
	entries, err := db.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Row, b.Row) })
	var list []string
	for _, e := range entries {
		vectors, err := db.VectorsOf(t.Context(), model, e.Row)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vectors {
			list = append(list, fmt.Sprintf("%d/%d: %.2f", v.Skill, v.Ordinal, v.Values))
		}
	}
	return list
}

func coverage(t *testing.T, db *DB, model string) string {
	t.Helper()
	texts, embedded, err := db.Coverage(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d of %d", embedded, texts)
}

func TestVectorsByModel(t *testing.T) {
	db := open(t, dbPath(t))
	one, two, three := []byte("one"), []byte("two"), []byte("three")
	a, b := newRecord("pdf", "d", "b"), newRecord("csv", "d", "b")
	a.Texts, b.Texts = [][]byte{one, two}, [][]byte{two, three}
	put(t, db, Source{Label: "a"}, a, b)
	update(t, db, func(tx *Tx) error {
		if err := tx.PutVectors("m", [][]byte{two, one}, [][]float32{{2}, {1}}); err != nil {
			return err
		}
		return tx.PutVectors("n", [][]byte{two}, [][]float32{{4, 5}})
	})
	if got, want := vectors(t, db, "m"), []string{"1/0: [1.00]", "1/1: [2.00]", "2/0: [2.00]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("model m: %q, want %q", got, want)
	}
	if got, want := vectors(t, db, "n"), []string{"1/1: [4.02 5.00]", "2/0: [4.02 5.00]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("model n: %q, want %q", got, want)
	}
	if got := vectors(t, db, "absent"); len(got) != 0 {
		t.Errorf("absent model: %q", got)
	}
	got := coverage(t, db, "m") + ", " + coverage(t, db, "n") + ", " + coverage(t, db, "absent")
	if want := "3 of 4, 2 of 4, 0 of 4"; got != want {
		t.Errorf("coverage %s, want %s", got, want)
	}
	for _, hash := range [][]byte{one, three} {
		has, err := db.HasVector(t.Context(), "m", hash)
		if err != nil || has != bytes.Equal(hash, one) {
			t.Errorf("HasVector(%s) = %v, %v", hash, has, err)
		}
	}
}

func TestDropModels(t *testing.T) {
	db := open(t, dbPath(t))
	r := newRecord("pdf", "d", "b")
	r.Texts = [][]byte{[]byte("one")}
	put(t, db, Source{Label: "a"}, r)
	update(t, db, func(tx *Tx) error {
		return errors.Join(tx.PutVectors("old", r.Texts, [][]float32{{1, 2}}), tx.PutVectors("new", r.Texts, [][]float32{{3}}))
	})
	check := func(want ...Model) {
		t.Helper()
		if got, err := db.Models(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("models %v, %v; want %v", got, err, want)
		}
	}
	generation := func() int64 {
		n, err := db.Generation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	check(Model{"new", 1}, Model{"old", 2})
	before := generation()
	update(t, db, func(tx *Tx) error { return tx.DropModels("new") })
	check(Model{"new", 1})
	if got := vectors(t, db, "new"); len(got) != 1 || len(vectors(t, db, "old")) != 0 {
		t.Errorf("vectors left: %q", got)
	}
	if generation() != before+1 {
		t.Error("readers do not notice that vectors are gone")
	}
	update(t, db, func(tx *Tx) error { return tx.DropModels("new") })
	if generation() != before+1 {
		t.Error("readers notice that nothing happened")
	}
}

func TestCoverageEmpty(t *testing.T) {
	if got := coverage(t, open(t, dbPath(t)), "m"); got != "0 of 0" {
		t.Errorf("coverage %s", got)
	}
}

// TestUnembeddedCursor walks with a skill that never gets its vector: it holds
// nobody up.
func TestUnembeddedCursor(t *testing.T) {
	db := open(t, dbPath(t))
	var records []Record
	for i := range 7 {
		records = append(records, newRecord(fmt.Sprint("s", i), fmt.Sprint("text ", i), "b"))
	}
	ids := put(t, db, Source{Label: "a"}, append(records, refused("x"))...)[:7]
	update(t, db, func(tx *Tx) error { return tx.PutVectors("m", records[3].Texts, [][]float32{{1}}) })
	want := slices.Concat(ids[:3], ids[4:])
	var seen []int64
	for after := int64(0); ; {
		list, err := db.Unembedded(t.Context(), "m", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		seen = append(seen, list...)
		after = list[len(list)-1]
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("visited %v, want %v", seen, want)
	}
	all, err := db.Unembedded(t.Context(), "other", 0, 99)
	if err != nil || !reflect.DeepEqual(all, ids) {
		t.Errorf("another model: %v, %v; want %v", all, err, ids)
	}
}

func TestPruneVectors(t *testing.T) {
	db := open(t, dbPath(t))
	a, b := newRecord("pdf", "one", "b"), newRecord("csv", "two", "b")
	ids := put(t, db, Source{Label: "a"}, a, b)
	update(t, db, func(tx *Tx) error {
		return tx.PutVectors("m", slices.Concat(a.Texts, b.Texts), [][]float32{{1}, {2}})
	})
	update(t, db, func(tx *Tx) error {
		if err := tx.DeleteSkill(ids[0]); err != nil {
			return err
		}
		return tx.PruneVectors()
	})
	for i, want := range []bool{false, true} {
		if has, err := db.HasVector(t.Context(), "m", [][]byte{a.Texts[0], b.Texts[0]}[i]); err != nil || has != want {
			t.Errorf("text %d has a vector: %v, %v; want %v", i, has, err, want)
		}
	}
}

func TestPackVector(t *testing.T) {
	for _, v := range [][]float32{
		{}, {0, 0}, {0, 1, -1, .5, -.001}, {3e38, -3e38}, {1e-30, -2e-30, 0},
	} {
		got, err := unpackVector(packVector(v))
		if err != nil || len(got) != len(v) {
			t.Errorf("%v became %v, %v", v, got, err)
			continue
		}
		for i, x := range v {
			if off := math.Abs(float64(got[i] - x)); off > 1.0001/254*float64(max(slices.Max(v), -slices.Min(v))) {
				t.Errorf("%v became %v", v, got)
				break
			}
		}
	}
	if _, err := unpackVector(make([]byte, 3)); err == nil {
		t.Error("3 bytes are a vector")
	}
}

func FuzzUnpackVector(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3, 4, 5})
	f.Add(packVector([]float32{1, -2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := unpackVector(data)
		if (err == nil) != (len(data) >= 4) {
			t.Fatalf("%d bytes: %v", len(data), err)
		}
		if err == nil && len(packVector(v)) != len(data) {
			t.Errorf("%x became %x", data, packVector(v))
		}
	})
}
