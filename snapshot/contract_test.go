package snapshot_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/snapshot"
)

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
