package sqlite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// matchIDs returns the rows that a query finds, best first.
func matchIDs(t testing.TB, db *DB, query string, allowed []int64, limit int) []int64 {
	t.Helper()
	found, err := db.Match(t.Context(), query, skill.Weights{Name: 4, Description: 2, Tags: 2, Body: 1}, allowed, limit)
	must.Do(t, err)
	ids := []int64{}
	for _, m := range found {
		ids = append(ids, m.Row)
	}
	return ids
}

// TestMatchOffered: of the skills of one name, a query finds the offered one.
func TestMatchOffered(t *testing.T) {
	db := open(t, dbPath(t))
	var rows []int64
	for i := range 4 { // the later, the higher
		rows = append(rows, storetest.Put(t, db, store.Source{Label: fmt.Sprint(i), Priority: i}, storetest.Record("pdf", "d", "b"))...)
	}
	storetest.Put(t, db, store.Source{Label: "top", Priority: 9}, storetest.Refused("pdf/SKILL.md"))
	for last := len(rows) - 1; last >= 0; last-- {
		if got := matchIDs(t, db, "pdf", nil, 9); !reflect.DeepEqual(got, rows[last:last+1]) {
			t.Errorf("found %v, want %d", got, rows[last])
		}
		storetest.Update(t, db, func(tx store.Tx) error { return tx.DeleteSkill(rows[last]) })
	}
	if got := matchIDs(t, db, "pdf", nil, 9); len(got) != 0 {
		t.Errorf("found %v: only a refused skill is left", got)
	}
}

// TestMatchAway: skills of a source that is away take no place of those that are offered.
func TestMatchAway(t *testing.T) {
	db := open(t, dbPath(t))
	away := store.Source{Label: "away", Priority: 1}
	storetest.Put(t, db, away, storetest.Record("form", "form", "form"), storetest.Record("form-2", "form", "form"))
	there := storetest.Put(t, db, store.Source{Label: "there"}, storetest.Record("paper", "x", "form"))
	away.Away = true
	storetest.Update(t, db, func(tx store.Tx) error { _, err := tx.PutSource(away); return err })
	if got := matchIDs(t, db, "form", nil, 1); !reflect.DeepEqual(got, there) {
		t.Errorf("found %v, want %v", got, there)
	}
}

// TestMatchFiltersBeforeLimit: 197 better skills are outside the scope.
func TestMatchFiltersBeforeLimit(t *testing.T) {
	db := open(t, dbPath(t))
	var records []*store.Record
	for i := range 200 { // ever longer, so ever worse
		records = append(records, storetest.Record(fmt.Sprintf("skill-%03d", i), "x", "form"+strings.Repeat(" filler", 2*i)))
	}
	ids := storetest.Put(t, db, store.Source{Label: "a"}, records...)
	if got := matchIDs(t, db, "form", nil, 3); !reflect.DeepEqual(got, ids[:3]) {
		t.Fatalf("best %v, want %v", got, ids[:3])
	}
	worst := ids[197:]
	if got := matchIDs(t, db, "form", []int64{worst[2], worst[0], worst[1]}, 3); !reflect.DeepEqual(got, worst) {
		t.Errorf("allowed only %v: found %v", worst, got)
	}
	if got := matchIDs(t, db, "form", []int64{}, 3); len(got) != 0 {
		t.Errorf("allowed nothing: found %v", got)
	}
}

func TestMatchTiesByName(t *testing.T) {
	db := open(t, dbPath(t))
	names := []string{"delta", "alpha", "charlie", "bravo"}
	byName := make(map[string]int64)
	for _, n := range names {
		r := storetest.Record(n, "fill a form", "same")
		r.Fields.Name = []string{"same"}
		byName[n] = storetest.Put(t, db, store.Source{Label: "a"}, r)[0]
	}
	want := []int64{byName["alpha"], byName["bravo"], byName["charlie"], byName["delta"]}
	if got := matchIDs(t, db, "form", nil, 9); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestFrequencies(t *testing.T) {
	db := open(t, dbPath(t))
	ids := storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "form form", "form 填写"), storetest.Record("csv", "table", "form"), storetest.Refused("x"))
	terms := []string{"form", "table", "absent", "填写", `quote"`, ""}
	got, all, err := db.Frequencies(t.Context(), terms)
	if want := map[string]int{"form": 2, "table": 1, "填写": 1}; err != nil || all != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v of %d, %v; want %v of 2", got, all, err, want)
	}
	storetest.Update(t, db, func(tx store.Tx) error { return tx.DeleteSkill(ids[0]) })
	got, all, err = db.Frequencies(t.Context(), terms)
	if want := map[string]int{"form": 1, "table": 1}; err != nil || all != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("after a removal: %v of %d, %v; want %v of 1", got, all, err, want)
	}
}

// generated returns n records whose words are distributed as in real texts: a few are
// everywhere, most are rare.
func generated(n int) []*store.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(rng, 1.1, 4, 20_000)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%d ", words.Uint64())
		}
		return b.String()
	}
	records := make([]*store.Record, n)
	for i := range records {
		records[i] = storetest.Record(fmt.Sprintf("skill-%d", i), text(30), text(900))
	}
	return records
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b, dbPath(b))
			storetest.Put(b, db, store.Source{Label: "a"}, generated(n)...)
			query := "w9 OR w40 OR w77 OR w120 OR w300 OR w512 OR w1000 OR w2222 OR w5000 OR w9999"
			for b.Loop() {
				if len(matchIDs(b, db, query, nil, 100)) != 100 {
					b.Fatal("too few hits")
				}
			}
		})
	}
}
