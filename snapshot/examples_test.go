package snapshot_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// sentenceModels are models of both spaces.
var sentenceModels = [snapshot.Spaces]snapshot.Model{{Name: "words", Dim: dim}, {Name: "sentences", Dim: dim}}

// TestExamples: a document is found by the nearest of its examples, if that is near enough, and
// with a bound as if the others were not there.
func TestExamples(t *testing.T) {
	t.Parallel()
	g := newGenerator(3)
	docs := g.documents(70, 5, 0)
	prompt := g.vector(dim)
	near := func(cosine float64) []float32 { // a vector with this cosine to the prompt
		other := g.vector(dim)
		dot := 0.
		for i := range other {
			dot += float64(other[i]) * float64(prompt[i])
		}
		v := make([]float32, dim)
		for i := range v {
			rest := (float64(other[i]) - dot*float64(prompt[i])) / math.Sqrt(1-dot*dot)
			v[i] = float32(cosine*float64(prompt[i]) + math.Sqrt(1-cosine*cosine)*rest)
		}
		return v
	}
	docs[3].Examples = [][]float32{near(.2), near(1), near(.6)}
	docs[5].Examples = [][]float32{near(.8)}
	docs[66].Examples = [][]float32{near(.1), near(.29)}
	docs[67].Examples = [][]float32{near(.5)}
	s := open(t, write(t, snapshot.Meta{Generation: generation, Models: sentenceModels, Weights: weights}, docs))
	read(t, s, func(r *snapshot.Reader) {
		p, err := r.Prompt(snapshot.Sentences, prompt)
		must.Do(t, err)
		for _, c := range []struct {
			least, most float64
			allowed     snapshot.Skills
			want        map[int]float64
		}{
			{.3, math.Inf(1), s.All(), map[int]float64{3: 1, 5: .8, 67: .5}},
			{.3, .99, s.All(), map[int]float64{3: .6, 5: .8, 67: .5}},
			{.7, math.Inf(1), s.All(), map[int]float64{3: 1, 5: .8}},
			{.3, math.Inf(1), firsts(5), map[int]float64{3: 1}},
			{.3, math.Inf(1), nil, map[int]float64{}},
		} {
			hits, err := r.Examples(p, c.allowed, c.least, c.most)
			must.Do(t, err)
			if len(hits) != len(c.want) || !slices.IsSortedFunc(hits, func(a, b snapshot.Hit) int { return a.Doc - b.Doc }) {
				t.Errorf("%v to %v: %v", c.least, c.most, hits)
			}
			for _, h := range hits {
				if math.Abs(h.Score-c.want[h.Doc]) > .01 {
					t.Errorf("%v to %v: document %d has %.3f, want %.3f", c.least, c.most, h.Doc, h.Score, c.want[h.Doc])
				}
			}
		}
		w, err := r.Prompt(snapshot.Words, prompt)
		must.Do(t, err)
		if _, err := r.Examples(w, s.All(), 0, 1); err == nil {
			t.Error("the vector of an embedder was compared with vectors of the encoder")
		}
	})
}

// TestExamplesRefused: what is no unit vector of the dimension, or too many, cannot be written.
func TestExamplesRefused(t *testing.T) {
	t.Parallel()
	g := newGenerator(4)
	for name, examples := range map[string][][]float32{
		"dimension": {g.vector(dim - 1)}, "length": {make([]float32, dim)}, "many": slices.Repeat([][]float32{g.vector(dim)}, skill.MaxExamples+1),
	} {
		docs := g.documents(2, 5, 0)
		docs[1].Examples = examples
		if _, err := snapshot.Encode(snapshot.Meta{Generation: generation, Models: sentenceModels, Weights: weights}, each(docs)); err == nil || errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
