package sections_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

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

// TestQuestions measures how often the section with the answer is among the first three. A third
// of the skills is kept aside: nothing is tuned on it.
func TestQuestions(t *testing.T) {
	testsize.Long(t)
	list, texts := questions(t)
	type tally struct{ questions, first, three, tokens int }
	var tuned, aside tally
	var making, asking []time.Duration
	files := make(map[string]*sections.File)
	for _, q := range list {
		id := q.Repo + "/" + q.Path
		if files[id] == nil {
			start := time.Now()
			f, err := sections.New(t.Context(), "SKILL.md", texts[id])
			must.Do(t, err)
			files[id], making = f, append(making, time.Since(start))
		}
		start := time.Now()
		hits, err := sections.Rank(t.Context(), q.Question, []*sections.File{files[id]}, 3)
		must.Do(t, err)
		asking = append(asking, time.Since(start))
		n := &tuned
		if words.Hash(id)%3 == 0 {
			n = &aside
		}
		n.questions++
		found := len(hits)
		for i, h := range hits {
			s := files[id].Sections[h.Section]
			n.tokens += s.Tokens
			if 2*(min(s.Last, q.Last)-max(s.First, q.First)+1) > q.Last-q.First { // at least half of the answer
				found = min(found, i)
			}
		}
		if found == 0 {
			n.first++
		}
		if found < 3 {
			n.three++
		} else if testing.Verbose() {
			t.Logf("missed: %s:%d-%d: %s", id, q.First, q.Last, q.Question)
		}
	}
	for name, n := range map[string]tally{"tuned on": tuned, "kept aside": aside} {
		if n.questions == 0 {
			t.Fatalf("%s: no questions", name)
		}
		all := float64(n.questions)
		t.Logf("%s: %d questions: right section first %.3f, within the first three %.3f; %d tokens in three", name,
			n.questions, float64(n.first)/all, float64(n.three)/all, n.tokens/n.questions)
		if float64(n.three)/all < .75 {
			t.Errorf("%s: %.3f within the first three", name, float64(n.three)/all)
		}
	}
	t.Logf("%d skills; making the sections of one took %v on average, asking %v", len(files), mean(making), mean(asking))
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
