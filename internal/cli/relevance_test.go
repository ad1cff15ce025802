package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRelevancePage: the tables of bench/FIGURES.md are those that bench prints, and
// the commands beside them are right.
func TestRelevancePage(t *testing.T) {
	page, err := os.ReadFile("../../bench/FIGURES.md")
	must.Do(t, err)
	commands := regexp.MustCompile(`<!-- begin: (skills .*) -->`).FindAllStringSubmatch(string(page), -1)
	if len(commands) < 2 {
		t.Errorf("%d commands", len(commands))
	}
	for _, c := range commands {
		if err := parse(commandLine(t, c[1]), "bench"); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"corpus.jsonl":  `{"id":"a","name":"roses","description":"Prunes the roses."}` + "\n" + `{"id":"b","name":"lawn"}` + "\n",
		"queries.jsonl": `{"id":"1","query":"prune","style":"terse"}` + "\n" + `{"id":"2","query":"lawn"}` + "\n" + `{"id":"3","query":"thanks","kind":"none"}` + "\n",
		"qrels.tsv":     "query-id\tskill-id\trelevance\n1\ta\t1\n2\tb\t1\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out := call(t, 0, "bench", "--mode", "text", "--dataset", dir, "--distractors", filepath.Join(dir, "corpus.jsonl"), "--markdown")
	headers := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "| set |") {
			headers++
			if !strings.Contains(string(page), line) {
				t.Errorf("the page lacks the table %s", line)
			}
		}
	}
	if headers != 5 {
		t.Errorf("%d tables:\n%s", headers, out)
	}
}
