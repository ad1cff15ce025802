package snapshot_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// catalog puts the terms of documents into a real catalog, and returns it and
// the documents by row.
func catalog(t *testing.T, docs []document) (*sqlite.DB, map[int64]int) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"), nil)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	ordinals := make(map[int64]int)
	err = db.Update(t.Context(), func(tx store.Tx) error {
		source, err := tx.PutSource(store.Source{Label: "a"})
		if err != nil {
			return err
		}
		for i, d := range docs {
			row, err := tx.PutSkill(source, &store.Record{
				Path: d.Path, Stamp: "stamp", NameKey: d.Key, Skill: &skill.Skill{Meta: skill.Meta{Name: d.Key}},
				Fields: d.Fields, Ranked: store.Ranked{Terms: d.Fields.Pack()},
			})
			if err != nil {
				return err
			}
			ordinals[row] = i
		}
		return nil
	})
	must.Do(t, err)
	return db, ordinals
}

// TestContract: full-text search and the snapshot give the same best 20 documents and the
// same scores, except that documents with nearly equal scores may change places (each
// score may be off by one hundredth).
func TestContract(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for _, n := range []int{3, 200, testsize.Rounds(600, 3000)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := newGenerator(uint64(n))
			docs := g.documents(n, 100, 0)
			db, ordinals := catalog(t, docs)
			s := build(t, docs, 0)
			for range 40 {
				terms := g.terms(1 + g.rng.IntN(15))
				quoted := make([]string, len(terms))
				for i, term := range terms {
					quoted[i] = `"` + term + `"`
				}
				all, err := db.Match(t.Context(), strings.Join(quoted, " OR "), weights, nil, n)
				must.Do(t, err)
				scores := make([]float64, n)
				for _, m := range all {
					scores[ordinals[m.Row]] = m.Score
				}
				hits := search(t, s, terms, s.All(), 20)
				if len(hits) != min(20, len(all)) {
					t.Fatalf("%d hits, want %d of %d", len(hits), min(20, len(all)), len(all))
				}
				for i, h := range hits {
					want := scores[h.Doc]
					if math.Abs(h.Score-want) > .01*want || want < .98*all[len(hits)-1].Score {
						t.Fatalf("%q: hit %d is %+v; its score is %g, the 20th is %g", terms, i, h, want, all[len(hits)-1].Score)
					}
				}
			}
		})
	}
}

const shared = "../../shared"

// TestRecall: the codes lose almost none of the nearest vectors of real skills and prompts.
func TestRecall(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	f, err := os.Open(filepath.Join(shared, "corpus", "skills.jsonl.gz"))
	if err != nil {
		t.Skip("without the corpus")
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	must.Do(t, err)
	e, err := static.Default()
	must.Do(t, err)
	vector := func(kind embed.Kind, text string) []float32 {
		v, err := e.Embed(t.Context(), kind, []string{text})
		must.Do(t, err)
		return v[0]
	}
	var docs []document
	for lines := json.NewDecoder(z); lines.More() && len(docs) < testsize.Rounds(1200, 6000); {
		var r struct{ Name, Description, Body string }
		must.Do(t, lines.Decode(&r))
		words := strings.Fields(r.Body)
		d := document{Document: snapshot.Document{Key: fmt.Sprintf("%05d", len(docs)), Vectors: snapshot.Vectors{
			snapshot.Description: vector(embed.Document, r.Name+": "+r.Description),
			snapshot.Full:        vector(embed.Document, strings.Join(words[:min(len(words), 400)], " ")),
		}}}
		if isUnit(d.Vectors[snapshot.Description]) && isUnit(d.Vectors[snapshot.Full]) {
			docs = append(docs, d)
		}
	}
	s := build(t, docs, e.Dim())
	read(t, s, func(r *snapshot.Reader) { checkRecall(t, r, docs, vector) })
}

func checkRecall(t *testing.T, r *snapshot.Reader, docs []document, vector func(embed.Kind, string) []float32) {
	wanted := 0
	found := make(map[int]int) // by k
	for _, text := range queries(t) {
		v := vector(embed.Query, text)
		if !isUnit(v) {
			continue
		}
		p, err := r.Prompt(snapshot.Words, v)
		must.Do(t, err)
		wanted++
		exact := nearest(t, r, docs, v, firsts(len(docs)))
		for _, k := range []int{10, 100} {
			hits, err := r.Nearest(p, firsts(len(docs)), k)
			must.Do(t, err)
			for _, want := range exact[:k] {
				if slices.ContainsFunc(hits, func(h snapshot.Hit) bool { return h.Doc == want.Doc }) {
					found[k]++
				}
			}
		}
	}
	t.Logf("of %d skills: %d of %d tens, %d of %d hundreds", len(docs), found[10], 10*wanted, found[100], 100*wanted)
	if wanted < 50 || float64(found[10]) < .99*float64(10*wanted) || float64(found[100]) < .97*float64(100*wanted) {
		t.Errorf("%d prompts, found %v", wanted, found)
	}
}

func isUnit(v []float32) bool {
	return slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

// queries returns real prompts.
func queries(t *testing.T) (list []string) {
	f, err := os.Open(filepath.Join(shared, "bench", "trigger-evals", "queries.jsonl"))
	if err != nil {
		t.Skip("without prompts")
	}
	defer f.Close()
	for lines := json.NewDecoder(bufio.NewReader(f)); lines.More() && len(list) < 100; {
		var q struct{ Query string }
		must.Do(t, lines.Decode(&q))
		list = append(list, q.Query)
	}
	return list
}
