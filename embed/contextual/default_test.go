package contextual_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestGolden: vectors computed with 7-bit numbers are near to those that the trainer computed with
// float32.
func TestGolden(t *testing.T) {
	e, err := contextual.Default()
	must.Do(t, err)
	data, err := os.ReadFile("testdata/golden.jsonl")
	must.Do(t, err)
	sum, n := 0.0, 0
	for line := range strings.Lines(string(data)) {
		var golden struct{ Text, Vector string }
		must.Do(t, json.Unmarshal([]byte(line), &golden))
		bytes, err := base64.StdEncoding.DecodeString(golden.Vector)
		must.Do(t, err)
		want := make(embed.Vector, len(bytes))
		for i, b := range bytes {
			want[i] = float32(int8(b))
		}
		must.Do(t, embed.Unit(want))
		vectors, err := e.Embed(t.Context(), embed.Query, []string{golden.Text})
		must.Do(t, err)
		near := embed.Dot(vectors[0], want)
		if near < .985 {
			t.Errorf("%q: cosine %.4f", golden.Text, near)
		}
		sum, n = sum+near, n+1
	}
	if n < 64 || sum/float64(n) < .994 {
		t.Errorf("mean cosine %.4f of %d texts", sum/float64(n), n)
	}
	t.Logf("mean cosine %.5f", sum/float64(n))
}

// TestEmbedParts: the vector of a text is the same with its parts, and each part is nearer to its own
// subject than the other part is.
func TestEmbedParts(t *testing.T) {
	e, err := contextual.Default()
	must.Do(t, err)
	parts := []string{"write the post mortem of the outage", "and make slides for the monday meeting"}
	text := strings.Join(parts, " ")
	vectors, err := e.EmbedParts(t.Context(), text, append(parts, "make slides", ""))
	must.Do(t, err)
	of, err := e.Embed(t.Context(), embed.Query, []string{text, "incident reports", "presentations"})
	must.Do(t, err)
	if len(vectors) != 5 || !slices.Equal(vectors[0], of[0]) {
		t.Fatalf("%d vectors", len(vectors))
	}
	if vectors[3] != nil || vectors[4] != nil { // it stands before the part before it; it has no piece
		t.Error("there are vectors of parts that are not there")
	}
	for i := range parts {
		if own, other := embed.Dot(vectors[1+i], of[1+i]), embed.Dot(vectors[2-i], of[1+i]); own <= other {
			t.Errorf("%q: %.3f, the other part %.3f", parts[i], own, other)
		}
	}
	long := strings.Repeat("a word and more of them ", 200)
	if vectors, err = e.EmbedParts(t.Context(), parts[0]+long+parts[1]+long, parts); err != nil || vectors[1] == nil || vectors[2] != nil {
		t.Errorf("of a long text: %v %v, %v", vectors[1] != nil, vectors[2] != nil, err)
	}
}
