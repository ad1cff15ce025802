package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestPublishedSchemas: the schemas in the documentation, which editors may refer to, are
// those of this program.
func TestPublishedSchemas(t *testing.T) {
	for file, args := range map[string][]string{"config.json": {"config", "schema"}, "project.json": {"config", "schema", "--project"}} {
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", file))
		must.Do(t, err)
		_, got, _ := command(t, "", args...)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("docs/schema/%s is not what \"skills config schema\" prints: write it anew (-want +got)\n%s", file, diff)
		}
	}
}
