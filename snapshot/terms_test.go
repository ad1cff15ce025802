package snapshot_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// TestBeginning: a prefix finds all terms of the documents that begin with it, in order.
func TestBeginning(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for _, n := range []int{1, 8, 40} {
		docs := newGenerator(uint64(n)).documents(n, 60, 0)
		s := build(t, docs, 0)
		counts := frequencies(docs)
		prefixes := []string{"", "zzz", "\xff"}
		for term := range counts {
			prefixes = append(prefixes, term, term[:1], term[:len(term)-1], term+"0")
		}
		read(t, s, func(r *snapshot.Reader) {
			for _, prefix := range prefixes {
				want := 0
				for term := range counts {
					if strings.HasPrefix(term, prefix) {
						want++
					}
				}
				list, err := r.Beginning(prefix)
				if err != nil || len(list) != want {
					t.Fatalf("%q: %d terms, want %d; %v", prefix, len(list), want, err)
				}
				for i, term := range list {
					if term.ID != list[0].ID+uint32(i) {
						t.Fatalf("%q: term %d has the ID %d, the first %d", prefix, i, term.ID, list[0].ID)
					}
				}
				if counts[prefix] > 0 && list[0] != lookup(t, s, prefix)[0] {
					t.Fatalf("%q: %+v, want %+v", prefix, list[0], lookup(t, s, prefix)[0])
				}
			}
		})
	}
}

// checkOccurrences: the counts of a term give the scores of a search for it.
func checkOccurrences(t *testing.T, s *snapshot.Snapshot, text string) {
	t.Helper()
	counts := make([]float32, s.Len())
	term := lookup(t, s, text)[0]
	read(t, s, func(r *snapshot.Reader) {
		must.Do(t, r.Occurrences(counts, term))
	})
	hits := search(t, s, []string{text}, s.All(), s.Len())
	for _, h := range hits {
		if got := (snapshot.Retriever{}).Score(counts[h.Doc], term.IDF); math.Abs(got-h.Score) > .002*h.Score {
			t.Fatalf("%q: document %d has the score %g, want %g", text, h.Doc, got, h.Score)
		}
		counts[h.Doc] = 0
	}
	if i := slices.IndexFunc(counts, func(x float32) bool { return x != 0 }); i >= 0 || len(hits) != term.Docs {
		t.Fatalf("%q: %d hits of %d; document %d has the term, but is no hit", text, len(hits), term.Docs, i)
	}
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	docs := newGenerator(3).documents(300, 60, 0)
	s := build(t, docs, 0)
	for term := range frequencies(docs) {
		checkOccurrences(t, s, term)
	}
}
