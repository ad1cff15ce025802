package embedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
)

// same is the least dot product of two vectors of the same text. Servers that compute
// in float16, or in batches of different sizes, give slightly different vectors.
const same = 0.999

// TestEmbedder checks that e keeps the contract of embed.Embedder. It embeds a few
// hundred short texts.
func TestEmbedder(t *testing.T, e embed.Embedder) {
	t.Run("Empty", func(t *testing.T) { testEmpty(t, e) })
	t.Run("Unit", func(t *testing.T) { testUnit(t, e) })
	t.Run("Order", func(t *testing.T) { testOrder(t, e) })
	t.Run("Deterministic", func(t *testing.T) { testDeterministic(t, e) })
	t.Run("Related", func(t *testing.T) { testRelated(t, e) })
	t.Run("OddTexts", func(t *testing.T) { testOddTexts(t, e) })
	t.Run("Cancelled", func(t *testing.T) { testCancelled(t, e) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, e) })
	t.Run("Model", func(t *testing.T) { testModel(t, e) })
}

func testEmpty(t *testing.T, e embed.Embedder) {
	for _, texts := range [][]string{nil, {}} {
		vs, err := e.Embed(t.Context(), embed.Document, texts)
		if err != nil || len(vs) != 0 {
			t.Errorf("Embed(no texts) = %d vectors, %v; want none and no error", len(vs), err)
		}
	}
}

func testUnit(t *testing.T, e embed.Embedder) {
	docs := mustEmbed(t, e, embed.Document, sentences(3))
	queries := mustEmbed(t, e, embed.Query, sentences(3))
	for i, v := range append(docs, queries...) {
		checkUnit(t, fmt.Sprintf("vector %d", i), v)
		if len(v) != len(docs[0]) {
			t.Errorf("vector %d has %d dimensions, vector 0 has %d", i, len(v), len(docs[0]))
		}
	}
}

// testOrder uses more texts than most embedders put into a batch, to check the order
// across batches.
func testOrder(t *testing.T, e embed.Embedder) {
	texts := sentences(75)
	together := mustEmbed(t, e, embed.Document, texts)
	for i := 0; i < len(texts); i += 12 {
		alone := mustEmbed(t, e, embed.Document, texts[i:i+1])[0]
		if got := nearest(alone, together); got != i {
			t.Errorf("text %d alone is nearest to vector %d of %d", i, got, len(texts))
		}
		if d := embed.Dot(alone, together[i]); d < same {
			t.Errorf("text %d alone and among others: dot = %v, want at least %v", i, d, same)
		}
	}
}

func testDeterministic(t *testing.T, e embed.Embedder) {
	for _, kind := range []embed.Kind{embed.Query, embed.Document} {
		a := mustEmbed(t, e, kind, sentences(4))
		b := mustEmbed(t, e, kind, sentences(4))
		for i := range a {
			if d := embed.Dot(a[i], b[i]); d < same {
				t.Errorf("kind %d, text %d embedded twice: dot = %v, want at least %v", kind, i, d, same)
			}
		}
	}
}

func testRelated(t *testing.T, e embed.Embedder) {
	query := mustEmbed(t, e, embed.Query, []string{"merge two pdf files"})[0]
	docs := mustEmbed(t, e, embed.Document, []string{
		"Merge, split and rotate PDF files.",
		"Write a commit message for staged changes.",
		"Plan a vegetable garden for spring.",
	})
	if got := nearest(query, docs); got != 0 {
		t.Errorf("a query about merging PDF files is nearest to document %d, want 0", got)
	}
}

// testOddTexts accepts an error, because a model may be unable to embed such a text, but
// no vector whose length is not 1.
func testOddTexts(t *testing.T, e embed.Embedder) {
	for name, text := range map[string]string{
		"empty":         "",
		"blank":         " \n\t ",
		"invalid UTF-8": "caf\xe9 \xff\xfe",
		"NUL":           "a\x00b",
		"emoji":         "👩‍👩‍👧‍👦🎉",
		"long":          strings.Repeat("word and word ", 20_000),
	} {
		vs, err := e.Embed(t.Context(), embed.Document, []string{text})
		if err != nil {
			if len(vs) != 0 {
				t.Errorf("%s text: %d vectors with the error %v", name, len(vs), err)
			}
			continue
		}
		if len(vs) != 1 {
			t.Fatalf("%s text: %d vectors, want 1", name, len(vs))
		}
		checkUnit(t, name+" text", vs[0])
	}
}

func testCancelled(t *testing.T, e embed.Embedder) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vs, err := e.Embed(ctx, embed.Document, sentences(3))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Embed with a cancelled context: error %v, want %v", err, context.Canceled)
	}
	if len(vs) > 3 {
		t.Errorf("Embed with a cancelled context: %d vectors of 3 texts", len(vs))
	}
}

func testConcurrent(t *testing.T, e embed.Embedder) {
	texts := sentences(8)
	want := mustEmbed(t, e, embed.Document, texts)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			vs, err := e.Embed(t.Context(), embed.Document, texts[i:])
			if err != nil || len(vs) != len(texts)-i {
				t.Errorf("Embed(texts[%d:]) = %d vectors, %v", i, len(vs), err)
				return
			}
			for j, v := range vs {
				if d := embed.Dot(v, want[i+j]); d < same {
					t.Errorf("text %d from a goroutine: dot = %v, want at least %v", i+j, d, same)
				}
			}
		})
	}
	wg.Wait()
}

// testModel runs last, to check that embedding has not changed the model.
func testModel(t *testing.T, e embed.Embedder) {
	before := e.Model()
	if before == "" {
		t.Error("Model() is empty")
	}
	mustEmbed(t, e, embed.Query, sentences(1))
	if after := e.Model(); after != before {
		t.Errorf("Model() was %q and became %q", before, after)
	}
}

func mustEmbed(t *testing.T, e embed.Embedder, kind embed.Kind, texts []string) []embed.Vector {
	t.Helper()
	vs, err := e.Embed(t.Context(), kind, texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(vs), len(texts))
	}
	for i, v := range vs {
		if len(v) == 0 || len(v) != len(vs[0]) {
			t.Fatalf("vector %d has %d dimensions, vector 0 has %d", i, len(v), len(vs[0]))
		}
	}
	return vs
}

func checkUnit(t *testing.T, name string, v embed.Vector) {
	t.Helper()
	// Not written as >=, so that a NaN fails too.
	if n := embed.Dot(v, v); !(math.Abs(n-1) < 1e-3) {
		t.Errorf("%s: squared length %v, want 1", name, n)
	}
}

// nearest returns the index of the vector most similar to v.
func nearest(v embed.Vector, in []embed.Vector) int {
	best := 0
	for i := range in {
		if embed.Dot(v, in[i]) > embed.Dot(v, in[best]) {
			best = i
		}
	}
	return best
}

// sentences returns n different texts on different subjects.
func sentences(n int) []string {
	verbs := []string{"Repair", "Describe", "Paint", "Measure", "Translate", "Schedule", "Compress", "Photograph", "Audit"}
	nouns := []string{"a bicycle wheel", "the tax return", "spreadsheet formulas", "an old lighthouse",
		"database migrations", "sourdough bread", "quarterly revenue", "a violin string", "network packets"}
	out := make([]string, n)
	for i := range out {
		out[i] = verbs[i%len(verbs)] + " " + nouns[i/len(verbs)%len(nouns)] + "."
	}
	return out
}
