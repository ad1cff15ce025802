package contextual_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
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
