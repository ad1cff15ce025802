package static

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const (
	testDim     = 16
	testBuckets = 64
)

// testWeights returns weights for some words. Words in the same line have similar vectors.
func testWeights() Weights {
	rng := rand.New(rand.NewPCG(1, 2))
	w := Weights{Name: "test", Dim: testDim}
	for _, line := range []string{"pdf form fill document", "deploy cluster kubernetes pod", "表单 填写"} {
		topic := randomVector(rng)
		for word := range strings.FieldsSeq(line) {
			w.Words = append(w.Words, word)
			noise := randomVector(rng)
			for i := range testDim {
				w.Vectors = append(w.Vectors, topic[i]+.3*noise[i])
			}
		}
	}
	for range testBuckets {
		w.Vectors = append(w.Vectors, randomVector(rng)...)
	}
	return w
}

func randomVector(rng *rand.Rand) []float32 {
	v := make([]float32, testDim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func encoded(t testing.TB, w Weights) string {
	t.Helper()
	data, err := Encode(w)
	must.Do(t, err)
	return string(data)
}

func open1(t testing.TB) *Embedder {
	t.Helper()
	e, err := New(encoded(t, testWeights()))
	must.Do(t, err)
	return e
}

func TestContract(t *testing.T) { embedtest.TestEmbedder(t, open1(t)) }

// TestDefault: the built-in weights are a model that keeps the contract.
func TestDefault(t *testing.T) {
	e, err := Default()
	must.Do(t, err)
	embedtest.TestEmbedder(t, e)
	if n := testing.AllocsPerRun(10, func() { Default() }); n > 20 {
		t.Errorf("opening the model allocates %v times: only its header should be read", n)
	}
}

// TestManyTexts: embedding many texts on several processors gives the same vectors as
// embedding each text alone.
func TestManyTexts(t *testing.T) {
	e := open1(t)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("pdf %d cluster%d", i, i*i)
	}
	all, err := e.Embed(t.Context(), embed.Document, texts)
	if err != nil || len(all) != len(texts) {
		t.Fatal(len(all), err)
	}
	for i, text := range texts {
		one, err := e.Embed(t.Context(), embed.Document, []string{text})
		if err != nil || !slices.Equal(one[0], all[i]) {
			t.Fatalf("text %d: %v, %v; among others %v", i, one, err, all[i])
		}
	}
}

// TestKnownWords: every word has its own row, as exact as 4 bits allow.
func TestKnownWords(t *testing.T) {
	e, w := open1(t), testWeights()
	for i, word := range w.Words {
		if _, ok := e.m.lookup(Hash([]byte(word))); !ok {
			t.Fatalf("%s is not known", word)
		}
		want := embed.Vector(w.Vectors[i*testDim:][:testDim])
		must.Do(t, embed.Unit(want))
		for j, x := range e.m.embed(word) {
			if math.Abs(float64(x-want[j])) > .08 {
				t.Errorf("%s: number %d is %v, want %v", word, j, x, want[j])
			}
		}
	}
	for i := range 10_000 {
		if _, ok := e.m.lookup(Hash(fmt.Appendf(nil, "unknown%d", i))); ok {
			t.Errorf("unknown%d is known", i)
		}
	}
}

func TestSimilarity(t *testing.T) {
	e := open1(t)
	vectors, err := e.Embed(t.Context(), embed.Query, []string{
		"Fill a PDF form", "a document form", "the kubernetes cluster", "kubernetesCluster", "表单填写", "", "?!",
		"zygomorphic", "zygomorphy", "quodlibet",
	})
	must.Do(t, err)
	dot := func(i, j int) float64 { return embed.Dot(vectors[i], vectors[j]) }
	if dot(0, 1) < .5 || dot(0, 1) < dot(0, 2)+.3 {
		t.Errorf("forms %.2f, form and cluster %.2f", dot(0, 1), dot(0, 2))
	}
	if dot(2, 3) < .7 {
		t.Errorf("an identifier is %.2f from its words", dot(2, 3))
	}
	if dot(4, 4) < .99 || dot(4, 0) > .9 {
		t.Errorf("pairs of characters: %.2f, %.2f", dot(4, 4), dot(4, 0))
	}
	if dot(5, 6) < .99 {
		t.Error("texts without words differ")
	}
	if dot(7, 8) < dot(7, 9)+.2 {
		t.Errorf("unknown words that look alike %.2f, that do not %.2f", dot(7, 8), dot(7, 9))
	}
}

func TestGrams(t *testing.T) {
	for word, want := range map[string]int{"": 1, "a": 1, "ab": 1, "abc": 2, "abcd": 3, "数": 1, "数据库": 2, strings.Repeat("x", 32): 31} {
		n := 0
		seen := make(map[uint64]bool)
		grams([]byte(word), func(h uint64) { n++; seen[h] = true })
		if n != want {
			t.Errorf("%.10q has %d grams, want %d", word, n, want)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"Fill aPDFForm":         "fill a pdf form",
		"ÄÖ 数据库":                "ao 数据 据库",
		strings.Repeat("Ж", 40): strings.Repeat("ж", 16),
	} {
		var got []string
		Tokens(text, func(token []byte) { got = append(got, string(token)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %s", text, got, want)
		}
	}
}

func TestModelName(t *testing.T) {
	w := testWeights()
	a := encoded(t, w)
	w.Vectors[0]++
	first, err := New(a)
	must.Do(t, err)
	second, err := New(encoded(t, w))
	must.Do(t, err)
	if first.Model() == second.Model() || !strings.HasPrefix(first.Model(), "static test ") {
		t.Errorf("models %q and %q", first.Model(), second.Model())
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Weights){
		"no buckets": func(w *Weights) { w.Vectors = w.Vectors[:len(w.Words)*testDim] },
		"odd dimension": func(w *Weights) {
			w.Dim, w.Vectors = testDim-1, w.Vectors[:(testDim-1)*(len(w.Words)+testBuckets)]
		},
		"odd length": func(w *Weights) { w.Vectors = w.Vectors[:len(w.Vectors)-1] },
		"no name":    func(w *Weights) { w.Name = "" },
		"same word":  func(w *Weights) { w.Words[0] = w.Words[1] },
		"NaN":        func(w *Weights) { w.Vectors[3] = float32(math.NaN()) },
		"infinity":   func(w *Weights) { w.Vectors[3] = float32(math.Inf(1)) },
	} {
		w := testWeights()
		spoil(&w)
		if _, err := Encode(w); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	data := encoded(t, testWeights())
	for name, data := range map[string]string{
		"nothing": "", "text": "not a model", "cut header": data[:20], "cut": data[:len(data)-1], "more": data + "x",
		"other version": "RPSTATC1" + data[8:], "no dimension": data[:8] + "\x00\x00\x00\x00" + data[12:],
		"odd dimension": data[:8] + "\x0f\x00\x00\x00" + data[12:],
		"large":         data[:12] + "\xff\xff\xff\xff" + data[16:],
	} {
		if _, err := New(data); !errors.Is(err, ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzNew: whatever the weights are, a model that can be opened can embed.
func FuzzNew(f *testing.F) {
	data := encoded(f, testWeights())
	f.Add(data, "fill 表单 zygomorphic")
	f.Add(data[:300], "x")
	f.Fuzz(func(t *testing.T, data, text string) {
		e, err := New(data)
		if err != nil {
			return
		}
		if v := e.m.embed(text); len(v) != e.Dim() {
			t.Errorf("a vector of %d numbers", len(v))
		}
	})
}

// TestManyRows: a text with more words than fit into the lanes of a sum has the vector of
// a short text with the same shares of words.
func TestManyRows(t *testing.T) {
	e := open1(t)
	few := e.m.embed("fill a pdf form")
	if d := embed.Dot(few, e.m.embed(strings.Repeat("fill a pdf form ", 10_000))); d < .99999 {
		t.Errorf("cosine %v, want 1", d)
	}
}

func TestAllocations(t *testing.T) {
	e := open1(t)
	few, many := "fill a pdf form", strings.Repeat("Fill a PDF form with Unknown_words ", 50)
	a := testing.AllocsPerRun(100, func() { e.m.embed(few) })
	b := testing.AllocsPerRun(100, func() { e.m.embed(many) })
	if b > a {
		t.Errorf("%v allocations for a short text, %v for a long one", a, b)
	}
}

func BenchmarkEmbed(b *testing.B) {
	e, err := Default()
	must.Do(b, err)
	for name, text := range map[string]string{
		"prompt": "How do I fill in a PDF form from a spreadsheet without losing the check boxes?",
		"skill":  strings.Repeat("fill the pdf form then deploy getUserName to the kubernetes cluster ", 80),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				e.m.embed(text)
			}
		})
	}
}
