package snapshot_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// A document is a document of a test, with its terms before packing.
type document struct {
	snapshot.Document
	Fields skill.Fields
}

// generation is the generation of all snapshots in tests.
var generation = store.Generation{Number: 42, Token: -7}

// weights are the weights that ranking uses.
var weights = skill.Weights{Name: 4, Description: 2, Tags: 2, Body: .3}

// dim is the dimension of the vectors of generated documents.
const dim = 96

// generator makes documents whose words are distributed as in real texts: a few are
// everywhere, most are rare.
type generator struct {
	rng   *rand.Rand
	words *rand.Zipf
}

func newGenerator(seed uint64) *generator {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &generator{rng, rand.NewZipf(rng, 1.1, 4, 60_000)}
}

func (g *generator) terms(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%d", g.words.Uint64())
	}
	return list
}

func (g *generator) vector(dim int) []float32 {
	v := make([]float32, dim)
	sum := 0.
	for i := range v {
		v[i] = float32(g.rng.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// documents returns n documents with bodies of up to 2*body terms. Every ninth has no
// vectors, if the others have any, and every eleventh is hidden.
func (g *generator) documents(n, body, dim int) []document {
	docs := make([]document, n)
	for i := range docs {
		d := &docs[i]
		d.Fields = skill.Fields{
			Name: g.terms(1 + g.rng.IntN(3)), Description: g.terms(g.rng.IntN(40)),
			Tags: g.terms(g.rng.IntN(3)), Body: g.terms(g.rng.IntN(2*body + 1)),
		}
		d.Fields.Shown = len(d.Fields.Description) - g.rng.IntN(4)*len(d.Fields.Description)/8
		d.Sketch = words.NewSketch(strings.Join(d.Fields.Body, " "))
		d.Row, d.Key = int64(3*i+7), fmt.Sprintf("skill-%06d", i)
		d.ID, d.Name = "ref of "+d.Key, strings.Join(d.Fields.Name, "-")
		d.Description = strings.Join(d.Fields.Description, " ")
		d.Source = fmt.Sprintf("source-%d", g.rng.IntN(3))
		d.Location, d.Path, d.Digest = "/"+d.Key, d.Key+"/SKILL.md", "digest of "+d.Key
		if i%2 == 0 { // like most real skills
			d.ID, d.Name = d.Key, d.Key
			d.Path = fmt.Sprintf("group-%d/%s/SKILL.md", i%7, d.Key)
			d.Location, d.TextDigest = filepath.FromSlash("/skills/"+d.Path), fmt.Sprintf("%064x", i)
			d.Digest = "sha256:" + d.TextDigest
		}
		d.Hidden = i%11 == 10
		d.Tokens = g.rng.IntN(1e6)
		for range g.rng.IntN(3) {
			d.Tags = append(d.Tags, fmt.Sprintf("Tag %d", g.rng.IntN(5)))
		}
		if g.rng.IntN(4) == 0 {
			d.Needs = skill.Needs{Skills: []string{"git", "jq"}, Env: []string{"HOME"}}
		}
		if i%5 == 0 {
			d.Triggers = skill.Triggers{Keywords: []string{d.Name, "Filling forms"}, Verbs: []string{"merge"}, Patterns: []string{`w\d+x`}}
		}
		if dim > 0 && i%9 != 8 {
			d.Vectors = snapshot.Vectors{g.vector(dim), g.vector(dim)}
		}
	}
	return docs
}

// each passes the documents on one by one, with packed terms, and clears each afterwards,
// because a writer must not keep them.
func each(docs []document) iter.Seq2[*snapshot.Document, error] {
	return func(yield func(*snapshot.Document, error) bool) {
		for _, d := range docs {
			d.Terms = d.Fields.Pack()
			if !yield(&d.Document, nil) {
				return
			}
			d = document{}
		}
	}
}

// write writes documents to a new file.
func write(tb testing.TB, m snapshot.Meta, docs []document) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ranking.snapshot")
	must.Do(tb, snapshot.Write(atomicfile.OS{}, path, m, each(docs)))
	return path
}

// open opens a file until the end of the test.
func open(tb testing.TB, path string) *snapshot.Snapshot {
	tb.Helper()
	s, err := snapshot.Open(path)
	must.Do(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// build writes and opens documents.
func build(tb testing.TB, docs []document, dim int) *snapshot.Snapshot {
	tb.Helper()
	return open(tb, write(tb, snapshot.Meta{Generation: generation, Models: model("test", dim), Weights: weights}, docs))
}

// read reads a snapshot; an error fails the test.
func read(tb testing.TB, s *snapshot.Snapshot, f func(r *snapshot.Reader)) {
	tb.Helper()
	err := s.Read(func(r *snapshot.Reader) error { f(r); return nil })
	must.Do(tb, err)
}

// lookup looks terms up.
func lookup(tb testing.TB, s *snapshot.Snapshot, terms ...string) (list []snapshot.Term) {
	tb.Helper()
	err := s.Read(func(r *snapshot.Reader) (err error) {
		list, err = r.Lookup(nil, terms)
		return err
	})
	must.Do(tb, err)
	return list
}

// model returns the model of the words.
func model(name string, dim int) [snapshot.Spaces]snapshot.Model {
	return [snapshot.Spaces]snapshot.Model{{Name: name, Dim: dim}}
}

// firsts returns the set of the first n documents.
func firsts(n int) (s snapshot.Skills) {
	for i := range n {
		s.Add(i)
	}
	return s
}

// search looks the terms up and returns the best k documents.
func search(tb testing.TB, s *snapshot.Snapshot, terms []string, allowed snapshot.Skills, k int) (hits []snapshot.Hit) {
	tb.Helper()
	err := s.Read(func(r *snapshot.Reader) error {
		list, err := r.Lookup(nil, terms)
		if err == nil {
			hits, err = r.Search(list, allowed, k)
		}
		return err
	})
	must.Do(tb, err)
	return hits
}

// bm25 returns the score of each document, computed from the definition.
func bm25(docs []document, terms []string) []float64 {
	counts, total := frequencies(docs), 0
	lists := func(d *document) [4][]string {
		return [4][]string{d.Fields.Name, d.Fields.Description, d.Fields.Tags, d.Fields.Body}
	}
	length := make([]float64, len(docs))
	for i := range docs {
		for _, l := range lists(&docs[i]) {
			length[i] += float64(len(l))
			total += len(l)
		}
	}
	n, scores := float64(len(docs)), make([]float64, len(docs))
	for _, term := range terms {
		df := float64(counts[term])
		idf := max(math.Log((n-df+.5)/(df+.5)), 1e-6)
		for i := range docs {
			w := 0.
			for f, l := range lists(&docs[i]) {
				for _, other := range l {
					if other == term {
						w += []float64{weights.Name, weights.Description, weights.Tags, weights.Body}[f]
					}
				}
			}
			scores[i] += idf * 2.2 * w / (w + 1.2*(.25+.75*length[i]/(float64(total)/n)))
		}
	}
	return scores
}
