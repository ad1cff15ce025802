package sqlite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
)

// matchIDs returns the IDs that a query finds, best first.
func matchIDs(t testing.TB, db *DB, query string, allowed []int64, limit int) []int64 {
	t.Helper()
	found, err := db.Match(t.Context(), query, Weights{4, 2, 2, 1}, allowed, limit)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestShadowPrecedence(t *testing.T) {
	db := open(t, dbPath(t))
	at := func(path string) Record {
		r := newRecord("pdf", "from "+path, "body")
		r.Path = path + "/SKILL.md"
		return r
	}
	// Written from the lowest precedence to the highest.
	var ids []int64
	ids = append(ids, put(t, db, Source{Label: "z", Priority: 1}, at("a"))...)
	ids = append(ids, put(t, db, Source{Label: "b", Priority: 5}, at("a"))...)
	ids = append(ids, put(t, db, Source{Label: "a", Priority: 5}, at("z"), at("b"))...)
	top := put(t, db, Source{Label: "y", Priority: 9}, refused("pdf/SKILL.md"))[0]
	for want := len(ids) - 1; want >= 0; want-- {
		if got := matchIDs(t, db, "pdf", nil, 9); !reflect.DeepEqual(got, ids[want:want+1]) {
			t.Errorf("offered %v, want %d; refused is %d", got, ids[want], top)
		}
		checkShadows(t, db, ids[:want], ids[want])
		update(t, db, func(tx *Tx) error {
			if err := tx.DeleteSkill(ids[want]); err != nil {
				return err
			}
			return tx.Shadow()
		})
	}
	if got := offered(t, db); len(got) != 0 {
		t.Errorf("offered %q: only a refused skill is left", got)
	}
}

func checkShadows(t *testing.T, db *DB, losers []int64, winner int64) {
	t.Helper()
	entries, err := db.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		e := &entries[i]
		want := int64(0)
		if slices.Contains(losers, e.Row) {
			want = winner
		}
		if e.ShadowedBy != want || e.Offered() != (e.Row == winner) {
			t.Errorf("%s/%s is shadowed by %d, want %d; offered %v", e.Source, e.Path, e.ShadowedBy, want, e.Offered())
		}
	}
}

func TestPriorityChange(t *testing.T) {
	db := open(t, dbPath(t))
	put(t, db, Source{Label: "a", Priority: 2}, newRecord("pdf", "d", "b"))
	put(t, db, Source{Label: "b", Priority: 1}, newRecord("pdf", "d", "b"))
	if got := offered(t, db); !reflect.DeepEqual(got, []string{"a:pdf"}) {
		t.Errorf("offered %q", got)
	}
	put(t, db, Source{Label: "b", Priority: 3})
	if got := offered(t, db); !reflect.DeepEqual(got, []string{"b:pdf"}) {
		t.Errorf("after the change offered %q", got)
	}
}

// TestWinnerRefused: the winner's file becomes unusable.
func TestWinnerRefused(t *testing.T) {
	db := open(t, dbPath(t))
	put(t, db, Source{Label: "a", Priority: 2}, newRecord("pdf", "d", "b"))
	put(t, db, Source{Label: "b", Priority: 1}, newRecord("pdf", "d", "b"))
	put(t, db, Source{Label: "a", Priority: 2}, refused("pdf/SKILL.md"))
	if got := offered(t, db); !reflect.DeepEqual(got, []string{"b:pdf"}) {
		t.Errorf("offered %q", got)
	}
}

// TestWinnerRenamed: the one that is left has a name for itself again.
func TestWinnerRenamed(t *testing.T) {
	db := open(t, dbPath(t))
	put(t, db, Source{Label: "a", Priority: 2}, newRecord("pdf", "d", "b"))
	put(t, db, Source{Label: "b", Priority: 1}, newRecord("pdf", "d", "b"))
	renamed := newRecord("csv", "d", "b")
	renamed.Path = "pdf/SKILL.md"
	put(t, db, Source{Label: "a", Priority: 2}, renamed)
	if got := offered(t, db); !reflect.DeepEqual(got, []string{"a:csv", "b:pdf"}) {
		t.Errorf("offered %q", got)
	}
}

// TestMatchFiltersBeforeLimit: 197 better skills are outside the scope.
func TestMatchFiltersBeforeLimit(t *testing.T) {
	db := open(t, dbPath(t))
	var records []Record
	for i := range 200 { // ever longer, so ever worse
		records = append(records, newRecord(fmt.Sprintf("skill-%03d", i), "x", "form"+strings.Repeat(" filler", 2*i)))
	}
	ids := put(t, db, Source{Label: "a"}, records...)
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
		r := newRecord(n, "fill a form", "same")
		r.Fields.Name = "same"
		byName[n] = put(t, db, Source{Label: "a"}, r)[0]
	}
	want := []int64{byName["alpha"], byName["bravo"], byName["charlie"], byName["delta"]}
	if got := matchIDs(t, db, "form", nil, 9); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestFrequencies(t *testing.T) {
	db := open(t, dbPath(t))
	ids := put(t, db, Source{Label: "a"}, newRecord("pdf", "form form", "form 填写"), newRecord("csv", "table", "form"), refused("x"))
	terms := []string{"form", "table", "absent", "填写", `quote"`, ""}
	got, all, err := db.Frequencies(t.Context(), terms)
	if want := map[string]int{"form": 2, "table": 1, "填写": 1}; err != nil || all != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v of %d, %v; want %v of 2", got, all, err, want)
	}
	update(t, db, func(tx *Tx) error { return tx.DeleteSkill(ids[0]) })
	got, all, err = db.Frequencies(t.Context(), terms)
	if want := map[string]int{"form": 1, "table": 1}; err != nil || all != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("after a removal: %v of %d, %v; want %v of 1", got, all, err, want)
	}
}

func TestIDs(t *testing.T) {
	office, top := skill.Meta{Source: "a", Path: "office/pdf/SKILL.md", Name: "pdf"}, skill.Meta{Source: "a", Path: "SKILL.md", Name: "pdf"}
	for _, tt := range []struct {
		e  Entry
		id string
	}{
		{Entry{Meta: office}, "pdf"},
		{Entry{Meta: office, ShadowedBy: 1}, "a/office/pdf"},
		{Entry{Meta: top, ShadowedBy: 1}, "a/pdf"},
		{Entry{Meta: office, Refused: true}, "a/office/pdf"},
	} {
		if got := tt.e.id(); got != tt.id {
			t.Errorf("%+v: ID %q, want %q", tt.e, got, tt.id)
		}
	}
}

// generated returns n records with words as they are spread in real texts: a
// few are everywhere, most are rare.
func generated(n int) []Record {
	rng := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(rng, 1.1, 4, 20_000)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%d ", words.Uint64())
		}
		return b.String()
	}
	records := make([]Record, n)
	for i := range records {
		records[i] = newRecord(fmt.Sprintf("skill-%d", i), text(30), text(900))
	}
	return records
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b, dbPath(b))
			put(b, db, Source{Label: "a"}, generated(n)...)
			query := "w9 OR w40 OR w77 OR w120 OR w300 OR w512 OR w1000 OR w2222 OR w5000 OR w9999"
			for b.Loop() {
				if len(matchIDs(b, db, query, nil, 100)) != 100 {
					b.Fatal("too few hits")
				}
			}
		})
	}
}
