package sections_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/sections"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// corpus is where the skills are that the questions are about. It is not part of the repository.
const corpus = "../../../shared/corpus/skills.jsonl.gz"

// A question has its answer in some lines of a SKILL.md, counted without the frontmatter.
type question struct {
	Repo, Path  string
	First, Last int
	Question    string
}

// ways calls f for ranking by words alone, and with the built-in encoder.
func ways(t *testing.T, f func(t *testing.T, m measure)) {
	e, err := contextual.Default()
	must.Do(t, err)
	t.Run("words", func(t *testing.T) { f(t, measure{}) })
	t.Run("encoder", func(t *testing.T) { f(t, measure{encoder: e}) })
}

// TestQuestions measures how often the section with the answer is among the first three. A third
// of the skills is kept aside: nothing is tuned on it.
func TestQuestions(t *testing.T) {
	testsize.Long(t)
	list, texts := questions(t)
	ways(t, func(t *testing.T, m measure) {
		var making, asking []time.Duration
		files := make(map[string]*sections.File)
		for i, q := range list {
			if m.encoder != nil && i%*every != 0 {
				continue // it takes 50 ms a question on average
			}
			id := q.Repo + "/" + q.Path
			if files[id] == nil {
				start := time.Now()
				f, err := sections.New(t.Context(), "SKILL.md", texts[id])
				must.Do(t, err)
				files[id], making = f, append(making, time.Since(start))
			}
			start := time.Now()
			m.ask(t, id, q, []string{q.Path}, []*sections.File{files[id]})
			asking = append(asking, time.Since(start))
		}
		least := .75
		if m.encoder != nil {
			least = .8
		}
		m.report(t, least)
		t.Logf("%d skills; making the sections of one took %v on average, asking %v", len(files), mean(making), mean(asking))
	})
}

var every = flag.Int("every", testsize.Rounds(24, 8), "with the encoder, ask one of so many questions about the corpus")

// TestOwnQuestions measures the same over all files of skills that were written for it, with
// references and scripts.
func TestOwnQuestions(t *testing.T) {
	skills, err := filepath.Glob("testdata/own/*.txtar")
	must.Do(t, err)
	ways(t, func(t *testing.T, m measure) {
		every, least := 1, 50
		if m.encoder != nil {
			every, least = testsize.Rounds(4, 1), testsize.Rounds(12, 50)
		}
		for i, name := range skills {
			if i%every == 0 {
				m.askOwn(t, name)
			}
		}
		if n := m.tuned.questions + m.aside.questions; n < least {
			t.Errorf("%d questions", n)
		}
		share := .45
		if m.encoder != nil {
			share = .6
		}
		m.report(t, share)
	})
}

// askOwn asks the questions about a skill, which are in its last file.
func (m *measure) askOwn(t *testing.T, name string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	must.Do(t, err)
	last := len(archive.Files) - 1
	var paths []string
	var files []*sections.File
	for _, f := range archive.Files[:last] {
		cut, err := sections.New(t.Context(), f.Name, string(f.Data))
		must.Do(t, err)
		paths, files = append(paths, f.Name), append(files, cut)
	}
	for line := range strings.Lines(string(archive.Files[last].Data)) {
		q := ownQuestion(t, line)
		if !slices.Contains(paths, q.Path) {
			t.Fatalf("%s: there is no file for %s", name, line)
		}
		m.ask(t, strings.TrimSuffix(filepath.Base(name), ".txtar"), q, paths, files)
	}
}

// ownQuestion reads "path:first-last question".
func ownQuestion(t *testing.T, line string) (q question) {
	t.Helper()
	place, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	path, lines, _ := strings.Cut(place, ":")
	_, err := fmt.Sscanf(lines, "%d-%d", &q.First, &q.Last)
	must.Do(t, err)
	q.Path, q.Question = path, text
	return q
}

// A measure counts answers about the skills that ranking was tuned on, and about the others.
type measure struct {
	encoder      embed.Embedder // nil means none
	tuned, aside tally
}

type tally struct{ questions, first, three, tokens int }

// ask asks a question about the files of a skill.
func (m *measure) ask(t *testing.T, skill string, q question, paths []string, files []*sections.File) {
	t.Helper()
	hits, _, err := sections.Rank(t.Context(), sections.Query{Text: q.Question, Limit: 3, Encoder: m.encoder}, files)
	must.Do(t, err)
	n := &m.tuned
	if words.Hash(skill)%3 == 0 {
		n = &m.aside
	}
	n.questions++
	found := len(hits)
	for i, h := range hits {
		s := files[h.File].Sections[h.Section]
		n.tokens += s.Tokens
		if paths[h.File] == q.Path && 2*(min(s.Last, q.Last)-max(s.First, q.First)+1) > q.Last-q.First { // at least half of the answer
			found = min(found, i)
		}
	}
	if found == 0 && len(hits) > 0 {
		n.first++
	}
	if found < len(hits) {
		n.three++
	} else if testing.Verbose() {
		t.Logf("missed: %s: %s:%d-%d: %s", skill, q.Path, q.First, q.Last, q.Question)
	}
}

// report fails if fewer than a share of the questions found their section within the first three.
func (m *measure) report(t *testing.T, least float64) {
	t.Helper()
	for name, n := range map[string]tally{"tuned on": m.tuned, "kept aside": m.aside} {
		if n.questions == 0 {
			t.Fatalf("%s: no questions", name)
		}
		all := float64(n.questions)
		t.Logf("%s: %d questions: right section first %.3f, within the first three %.3f; %d tokens in three", name,
			n.questions, float64(n.first)/all, float64(n.three)/all, n.tokens/n.questions)
		if float64(n.three)/all < least {
			t.Errorf("%s: %.3f within the first three", name, float64(n.three)/all)
		}
	}
}

func mean(list []time.Duration) (sum time.Duration) {
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(len(list))
}

// questions reads the questions, and the texts that they are about by repository and path.
func questions(t *testing.T) (list []question, texts map[string]string) {
	t.Helper()
	f, err := os.Open(corpus)
	if err != nil {
		t.Skip("the corpus is not here")
	}
	defer f.Close()
	texts = make(map[string]string)
	for _, line := range strings.Split(strings.TrimSpace(must.Read(t, "testdata/questions.jsonl")), "\n") {
		var q question
		must.Do(t, json.Unmarshal([]byte(line), &q))
		list, texts[q.Repo+"/"+q.Path] = append(list, q), ""
	}
	z, err := gzip.NewReader(f)
	must.Do(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s struct{ Repo, Path, Body string }
		must.Do(t, json.Unmarshal(lines.Bytes(), &s))
		if _, wanted := texts[s.Repo+"/"+s.Path]; wanted {
			texts[s.Repo+"/"+s.Path] = s.Body
		}
	}
	must.Do(t, lines.Err())
	return list, texts
}
