package repertoire_test

import (
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/source"
)

// TestVectorCache: a text is embedded once on a machine, whatever catalogs have it.
func TestVectorCache(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "vectors.db")
	for _, want := range []int{1, 0} {
		e := new(searchtest.Embedder)
		src, err := source.Files(map[string]string{"pdf/SKILL.md": "---\nname: pdf\ndescription: Fills forms.\n---\n"}, nil)
		must.Do(t, err)
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: e, VectorCache: shared, Schedule: repertoire.Never,
		})
		must.Do(t, err)
		if _, err := c.Owner().Rescan(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		must.Do(t, c.Owner().Embed(t.Context(), nil))
		if got := e.Embedded(); len(got) != want {
			t.Errorf("%d texts were embedded, want %d: %q", len(got), want, got)
		}
		must.Do(t, c.Close())
	}
}
