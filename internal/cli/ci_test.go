package cli

import (
	"os"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestCIPage: the examples of docs/ci.md are YAML, and the commands of the page exist with
// their flags.
func TestCIPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	must.Do(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Errorf("found %d examples", len(blocks))
	}
	for _, b := range blocks {
		var v map[string]any
		if err := yaml.Unmarshal(b[1], &v); err != nil || len(v) == 0 {
			t.Errorf("example %.40q: %v", b[1], err)
		}
	}
	commands := regexp.MustCompile("(?:(?:run|entry): |`)(skills [^`>\n]+)").FindAllSubmatch(page, -1)
	if len(commands) < 5 {
		t.Errorf("found %d commands only", len(commands))
	}
	for _, c := range commands {
		line := commandLine(t, string(c[1]))
		if err := parse(line, line[0]); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}
