package contextual

import (
	"math"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestExtras: vectors that come with a model are near to those that it makes, and are only for
// the model and the queries of which they are.
func TestExtras(t *testing.T) {
	e, other := embedder(t, smallWeights(1)), embedder(t, smallWeights(2))
	queries := texts[1:4]
	want := vectors(t, e, queries...)
	weights := make([]float32, e.Dim()+2)
	weights[0], weights[1], weights[5] = -.5, .25, 2
	if _, ok := e.Request(want[0], 1); ok || e.Prepared(queries) != nil || e.Subjects() != nil {
		t.Error("a model without extras has some")
	}
	data := e.EncodeExtras(&Extras{weights, queries, want, want[1:]})
	if other.SetExtras(string(data)) == nil || e.SetExtras(string(data[:100])) == nil {
		t.Error("extras of another model, or a part of them, are no error")
	}
	must.Do(t, e.SetExtras(string(data)))
	fit := e.Fit()
	weights[5] = 1
	must.Do(t, other.SetExtras(string(other.EncodeExtras(&Extras{weights, queries, want, want[1:]}))))
	if other.Fit() == fit {
		t.Errorf("extras with other weights are identified as %q, too", fit)
	}
	got := e.Prepared(queries)
	if len(got) != len(want) {
		t.Fatalf("%d vectors, want %d", len(got), len(want))
	}
	for i := range want {
		if cosine := embed.Dot(got[i], want[i]); cosine < .9998 {
			t.Errorf("%q: cosine %.5f of the vector that came and the model's", queries[i], cosine)
		}
	}
	subjects := e.Subjects()
	if len(subjects) != 2 || embed.Dot(subjects[0], want[1]) < .9998 || embed.Dot(subjects[1], want[2]) < .9998 {
		t.Errorf("%d subjects, want the two that came", len(subjects))
	}
	if e.Prepared(texts[:3]) != nil || e.Prepared(texts[1:3]) != nil {
		t.Error("vectors for other queries")
	}
	odds, ok := e.Request(want[0], 4)
	if sum := -.5 + .25*4 + 2*float64(want[0][3]); !ok || math.Abs(odds-sum) > 1e-6 {
		t.Errorf("odds %v, want %v", odds, sum)
	}
}

// TestReads: prompts in Latin script, with a word or a sign of another, can be read.
func TestReads(t *testing.T) {
	e, err := Default()
	must.Do(t, err)
	for text, want := range map[string]bool{
		"": true, "42 + 1": true, "Fix the build, please": true, "Répare le formulaire à l'école": true, "what does the α in this formula mean": true,
		"修复构建": false, "почини сборку": false, "fix ビルドを直してください": false,
	} {
		if got := e.Reads(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
