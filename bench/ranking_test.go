package bench

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A labelled prompt and the skills that it needs.
type labelled struct {
	prompt string
	wanted []string // none for a prompt that needs no skill
}

func readQueries(t *testing.T, name string) []labelled {
	t.Helper()
	f, err := os.Open(name)
	must.Do(t, err)
	defer f.Close()
	var list []labelled
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		prompt, wanted, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			t.Fatalf("%s:%d: no tab", name, n)
		}
		q := labelled{prompt: prompt}
		if wanted != "-" {
			q.wanted = strings.Split(wanted, ",")
		}
		list = append(list, q)
	}
	must.Do(t, lines.Err())
	return list
}

// open returns a catalog of this project's own skills, without any others.
func open(t *testing.T) *repertoire.Catalog {
	t.Helper()
	src, err := source.Dir(filepath.FromSlash("../testdata/skills"), nil)
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}})
	must.Do(t, c.Owner().Calibrate(t.Context()))
	return c
}

// TestRanking holds the ranking of every prompt of testdata/queries.tsv: a
// change to ranking shows as a diff of testdata/ranking.golden, whose first
// lines sum it up.
func TestRanking(t *testing.T) {
	testsize.Long(t)
	c := open(t)
	queries := readQueries(t, filepath.FromSlash("../testdata/queries.tsv"))
	var rankings, wanted [][]string
	var lines bytes.Buffer
	offered, unasked, none := 0, 0, 0
	for _, q := range queries {
		answer, err := c.Search(t.Context(), repertoire.Query{Text: q.prompt, Limit: 10})
		must.Do(t, err)
		block, err := c.Block(t.Context(), q.prompt, repertoire.Budget{}, nil)
		must.Do(t, err)
		names, listed := namesOf(answer.Hits), namesOf(block.Skills)
		rankings, wanted = append(rankings, names), append(wanted, q.wanted)
		switch {
		case q.wanted == nil:
			none++
			unasked += min(1, len(listed))
		case anyOf(q.wanted, listed):
			offered++
		}
		fmt.Fprintln(&lines, goldenLine(q, names, listed))
	}
	m := Measure(rankings, wanted)
	var got bytes.Buffer
	fmt.Fprintf(&got, "%d prompts that need a skill: Hit@1 %.3f, R@5 %.3f, nDCG@10 %.3f, offered %.3f\n",
		m.Prompts, m.Hit1, m.Recall5, m.NDCG10, float64(offered)/float64(m.Prompts))
	fmt.Fprintf(&got, "%d prompts that need none: %d got one\n\n", none, unasked)
	got.Write(lines.Bytes())
	golden(t, filepath.FromSlash("testdata/ranking.golden"), got.Bytes())
}

// goldenLine is the prompt, a mark for a first skill that is wanted, the first
// three, and with a star those that the block lists.
func goldenLine(q labelled, names, listed []string) string {
	mark := "-"
	if q.wanted != nil {
		mark = "no"
		if len(names) > 0 && anyOf(q.wanted, names[:1]) {
			mark = "ok"
		}
	}
	var top []string
	for _, name := range names[:min(3, len(names))] {
		if anyOf(listed, []string{name}) {
			name += "*"
		}
		top = append(top, name)
	}
	return fmt.Sprintf("%s\t%s\t%s", q.prompt, mark, strings.Join(top, " "))
}

func namesOf(hits []repertoire.Hit) []string {
	var names []string
	for _, h := range hits {
		names = append(names, h.Name)
	}
	return names
}

func anyOf(wanted, among []string) bool {
	for _, w := range wanted {
		for _, a := range among {
			if w == a {
				return true
			}
		}
	}
	return false
}

// golden compares got with a file, or rewrites the file with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must.Do(t, os.WriteFile(name, got, 0o666))
	}
	want, err := os.ReadFile(name)
	must.Do(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got; go test ./bench -update rewrites it):\n%s", name, diff)
	}
}

// TestQueries checks that the labels name skills that exist.
func TestQueries(t *testing.T) {
	queries := readQueries(t, filepath.FromSlash("../testdata/queries.tsv"))
	seen := make(map[string]bool)
	for _, q := range queries {
		if seen[q.prompt] {
			t.Errorf("prompt stands twice: %q", q.prompt)
		}
		seen[q.prompt] = true
		for _, name := range q.wanted {
			if _, err := os.Stat(filepath.Join("..", "testdata", "skills", name, "SKILL.md")); err != nil {
				t.Errorf("%q wants %s: %v", q.prompt, name, err)
			}
		}
	}
}
