package search_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// TestExtras: what comes with the built-in encoder belongs to its weights and to the prompts
// that need no skill, and is near to what the encoder says of them.
func TestExtras(t *testing.T) {
	e, err := contextual.Default()
	must.Do(t, err)
	prompts, err := new(search.Calibrator).Prompts()
	must.Do(t, err)
	ready := e.Prepared(prompts)
	if ready == nil {
		t.Fatal("extras.bin does not belong to model.bin and background.jsonl; bench/FIGURES.md has the command that makes it")
	}
	some := prompts[:5]
	vectors, err := e.Embed(t.Context(), embed.Query, some)
	must.Do(t, err)
	for i, v := range vectors {
		if cosine := embed.Dot(v, ready[i]); cosine < .999 {
			t.Errorf("%q: cosine %.4f of the vector that comes with the encoder and its own", some[i], cosine)
		}
	}
	if _, ok := e.Request(vectors[0], 0); !ok {
		t.Error("the encoder cannot tell what a prompt asks for")
	}
}
