package sqlite

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestScoresForgetHistory: scores are the same as in a catalog that never held the skills
// that were edited, refused or removed.
func TestScoresForgetHistory(t *testing.T) {
	records := generated(20)
	fresh := open(t, dbPath(t))
	storetest.Put(t, fresh, store.Source{Label: "a"}, records...)

	old := open(t, dbPath(t))
	gone := storetest.Put(t, old, store.Source{Label: "a"}, storetest.Record("gone", "w1 w2 w3", strings.Repeat("w4 ", 500)))
	storetest.Put(t, old, store.Source{Label: "a"}, storetest.Record("skill-3", "w5", strings.Repeat("w6 ", 900)), storetest.Record("skill-4", "w5", "w5"))
	for i := range 30 {
		edited := *records[i%20]
		edited.Fields.Body = strings.Fields(strings.Repeat("w7 w8 ", i))
		edited.Terms, edited.Body = edited.Fields.Pack(), nil // so that it is packed again
		storetest.Put(t, old, store.Source{Label: "a"}, &edited)
	}
	storetest.Put(t, old, store.Source{Label: "a"}, storetest.Refused("skill-4/SKILL.md"), storetest.Refused("skill-5/SKILL.md"))
	storetest.Update(t, old, func(tx store.Tx) error { return tx.DeleteSkill(gone[0]) })
	storetest.Put(t, old, store.Source{Label: "a"}, records...)

	if err := checkFile(t.Context(), old); err != nil {
		t.Error(err)
	}
	for _, query := range []string{`"w1"`, `"w2" OR "w40"`, `"w4" OR "w9" OR "w100"`, `"w5"`, `"w7"`} {
		if want, got := scores(t, fresh, query), scores(t, old, query); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: scores %v, in a fresh catalog %v", query, got, want)
		}
	}
}

// scores returns the scores of all matches, best first.
func scores(t *testing.T, db *DB, query string) []float64 {
	t.Helper()
	matches, err := db.Match(t.Context(), query, skill.Weights{Name: 4, Description: 2, Tags: 2, Body: .3}, nil, 100)
	must.Do(t, err)
	var list []float64
	for _, m := range matches {
		list = append(list, m.Score)
	}
	if !slices.IsSortedFunc(list, func(a, b float64) int { return int(b - a) }) {
		t.Errorf("%s: not best first: %v", query, list)
	}
	return list
}
