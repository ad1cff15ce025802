package bench

import (
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

const (
	corpus = `{"id":"a/cat","name":"cat","description":"Feeds the cat.","body":"Twice a day: tuna, then water.","tags":["pets"]}
{"id":"b/cat","name":"Cat","description":"Plays with the kitten.","body":"With yarn."}

{"id":"post","name":"post","description":"Fetches the letters."}
{"id":"plants","name":"plants","description":"Waters the balcony flowers.","body":"Roses need more."}
`
	queries = `{"id":"q1","query":"feed the cat with tuna","kind":"positive","lang":"latin"}
{"id":"q2","query":"fetch letters and water roses","kind":"positive","lang":"other"}
{"id":"q3","query":"rename a variable","kind":"none"}
{"id":"q4","query":"kitten yarn","kind":"route"}
{"id":"q5","query":"fetch letters","kind":"negative"}
`
	qrels = "query-id\tskill-id\trelevance\nq1\ta/cat\t1\nq2\tpost\t1\nq2\tplants\t2\nq4\tb/cat\t1\nq5\tpost\t0\n"
)

// folder writes files, given by name and text, and returns their folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pets")
	must.Do(t, os.Mkdir(dir, 0o700))
	for i := 0; i < len(files); i += 2 {
		must.Do(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
	}
	return dir
}

func pets(t *testing.T) *Dataset {
	t.Helper()
	d, err := readSet(folder(t, "corpus.jsonl", corpus, "queries.jsonl", queries, "qrels.tsv", qrels), "")
	must.Do(t, err)
	return d
}

func TestRead(t *testing.T) {
	d := pets(t)
	want := []Query{
		{ID: "q1", Text: "feed the cat with tuna", Kind: "positive", Lang: "latin", Wanted: []string{"a/cat"}},
		{ID: "q2", Text: "fetch letters and water roses", Kind: "positive", Lang: "other", Wanted: []string{"post", "plants"}},
		{ID: "q3", Text: "rename a variable", Kind: "none"},
		{ID: "q4", Text: "kitten yarn", Kind: "route", Wanted: []string{"b/cat"}},
		{ID: "q5", Text: "fetch letters", Kind: "negative"},
	}
	if diff := cmp.Diff(want, d.Queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	var ids []string
	for doc, err := range d.Corpus {
		must.Do(t, err)
		ids = append(ids, doc.ID)
		if len([]rune(doc.Skill.Description)) > skill.MaxDescription || doc.Skill.Digest == "" {
			t.Errorf("%s: %+v", doc.ID, doc.Skill)
		}
	}
	if diff := cmp.Diff([]string{"a/cat", "b/cat", "post", "plants"}, ids); diff != "" || d.Name != "pets" {
		t.Errorf("name %q, corpus (-want +got):\n%s", d.Name, diff)
	}
}

// TestReadCorpus: a corpus may be gzipped, and its skills need no id.
func TestReadCorpus(t *testing.T) {
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(`{"name":"cat"}` + "\n\n" + `{"id":"x","name":"dog"}`))
	must.Do(t, errors.Join(err, z.Close()))
	dir := folder(t, "a.jsonl", `{"name":"cat"}`+"\n{}", "b.jsonl.gz", zipped.String(), "c.gz", "plain", "d.gz", zipped.String()[:zipped.Len()-9])
	for _, tt := range []struct{ file, want string }{
		{"a.jsonl", "line 1: cat; a.jsonl:2: id and name are needed; "},
		{"b.jsonl.gz", "line 1: cat; x: dog; "},
		{"c.gz", "c.gz: unexpected EOF; "},
		{"d.gz", "line 1: cat; x: dog; d.gz:4: unexpected EOF; "},
		{"e.gz", "e.gz: no such file or directory; "},
	} {
		var got strings.Builder
		for d, err := range ReadCorpus(filepath.Join(dir, tt.file)) {
			if err != nil {
				_, text, _ := strings.Cut(err.Error(), "pets"+string(filepath.Separator))
				got.WriteString(text + "; ")
			} else {
				got.WriteString(d.ID + ": " + d.Skill.Name + "; ")
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.file, got.String(), tt.want)
		}
	}
}

// TestSearch: hits come with the IDs of their documents.
func TestSearch(t *testing.T) {
	c, err := NewCatalog(t.Context(), pets(t), nil)
	must.Do(t, err)
	defer c.Close()
	answer, ids, err := c.Search(t.Context(), search.Query{Text: "kitten yarn"})
	if err != nil || len(answer.Hits) != 1 || answer.Hits[0].Name != "Cat-2" || ids[0] != "b/cat" {
		t.Errorf("hits %v with the IDs %q, %v", answer.Hits, ids, err)
	}
}

// TestBadDatasets: errors name the file and the line.
func TestBadDatasets(t *testing.T) {
	header := "query-id\tskill-id\trelevance\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"malformed document", "corpus.jsonl", corpus + "{", "corpus.jsonl:6: unexpected end of JSON input"},
		{"no name", "corpus.jsonl", `{"id":"x"}`, "corpus.jsonl:1: id and name are needed"},
		{"second skill", "corpus.jsonl", corpus + `{"id":"post","name":"p"}`, `corpus.jsonl:6: a second skill "post"`},
		{"tags of another type", "corpus.jsonl", `{"id":"x","name":"x","tags":"y"}`, "corpus.jsonl:1: json: cannot unmarshal"},
		{"malformed query", "queries.jsonl", queries + "x", "queries.jsonl:6: invalid character"},
		{"no query", "queries.jsonl", `{"id":"q"}`, "queries.jsonl:1: id and query are needed"},
		{"second query", "queries.jsonl", queries + `{"id":"q1","query":"x"}`, `queries.jsonl:6: a second query "q1"`},
		{"no header", "qrels.tsv", "q1\tpost\t1\n", `qrels.tsv:1: the header must be`},
		{"two fields", "qrels.tsv", header + "q1\tpost\n", "qrels.tsv:2: 2 fields, want 3"},
		{"no number", "qrels.tsv", header + "q1\tpost\tyes\n", `qrels.tsv:2: relevance "yes" is no number from 0`},
		{"negative number", "qrels.tsv", header + "q1\tpost\t-1\n", "qrels.tsv:2: relevance"},
		{"unknown query", "qrels.tsv", header + "q9\tpost\t1\n", `qrels.tsv:2: no query "q9"`},
		{"unknown skill", "qrels.tsv", header + "q1\tdog\t1\n", `qrels.tsv:2: the corpus has no skill "dog"`},
	} {
		dir := folder(t, "corpus.jsonl", corpus, "queries.jsonl", queries, "qrels.tsv", qrels)
		must.Do(t, os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600))
		d, err := readSet(dir, "")
		if err == nil {
			var c *Catalog
			if c, err = NewCatalog(t.Context(), d, nil); err == nil {
				c.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestNoCorpus: a set of prompts alone needs the corpus of another.
func TestNoCorpus(t *testing.T) {
	dir := folder(t, "queries.jsonl", queries)
	if _, err := readSet(dir, ""); err == nil || !strings.Contains(err.Error(), "has no corpus.jsonl; name a folder that has one with --corpus") {
		t.Errorf("error %v", err)
	}
	if _, err := readSet(dir, dir); err == nil || !strings.Contains(err.Error(), "neither ") {
		t.Errorf("error %v", err)
	}
	d, err := readSet(dir, folder(t, "corpus.jsonl", corpus))
	must.Do(t, err)
	for doc, err := range d.Corpus {
		if err != nil || doc.ID != "a/cat" {
			t.Errorf("first skill %q, %v", doc.ID, err)
		}
		break
	}
}

func TestRun(t *testing.T) {
	d := pets(t)
	for _, mode := range []Mode{Text, Vector, Hybrid} {
		c, err := NewCatalog(t.Context(), d, &Setup{Mode: mode, Embedder: new(embedtest.Fake)})
		must.Do(t, err)
		s, err := Run(t.Context(), c, d, nil)
		must.Do(t, err)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
			t.Errorf("%s: the temporary folder is still there: %v", mode, err)
		}
		want := map[string]int{"hybrid": 4}
		if mode == Text {
			want = map[string]int{"text (no embedder)": 4}
			checkText(t, s)
		}
		if diff := cmp.Diff(want, s.Modes); diff != "" || s.Skills != 4 || s.Prompts != 3 || s.Gate.None != 1 {
			t.Errorf("%s: %d skills, %d prompts, %d that need none; modes (-want +got):\n%s", mode, s.Skills, s.Prompts, s.Gate.None, diff)
		}
	}
}

// TestRunBusy: a busy machine does not change what the built-in embedder ranks, because
// nothing waits for it with a deadline.
func TestRunBusy(t *testing.T) {
	embedder, err := static.Default()
	must.Do(t, err)
	d := pets(t)
	c, err := NewCatalog(t.Context(), d, &Setup{Mode: Hybrid, Embedder: embedder, Deadline: 1})
	must.Do(t, err)
	defer c.Close() // a file in the temporary folder
	s, err := Run(t.Context(), c, d, nil)
	must.Do(t, err)
	if diff := cmp.Diff(map[string]int{"hybrid": 4}, s.Modes); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

// checkText checks what is known about the text ranking without computing it.
func checkText(t *testing.T, s Set) {
	t.Helper()
	ranks := make(map[string][]int)
	for _, a := range s.Queries {
		ranks[a.ID] = a.Ranks
	}
	if diff := cmp.Diff(map[string][]int{"q1": {1}, "q2": {1, 2}, "q3": {}, "q4": {1}}, ranks); diff != "" {
		t.Errorf("ranks (-want +got):\n%s", diff)
	}
	if m := s.Metrics[0]; m.Name != "hit@1" || m.Estimate != (Estimate{1, 1, 1}) {
		t.Errorf("metrics: %+v", s.Metrics)
	}
	var parts []string
	for _, p := range s.Breakdown {
		parts = append(parts, p.By+"="+p.Of)
	}
	if got := strings.Join(parts, " "); got != "kind=positive kind=route lang= lang=latin lang=other" {
		t.Errorf("breakdown by %s", got)
	}
	if s.Gate.FalseInjection.Value != 0 || s.Gate.AllTokens == 0 || s.Gate.Tokens <= 0 || s.Calibration == nil || s.Calibration.Error <= 0 || s.Calibration.Error > 1 {
		t.Errorf("gate: %+v, calibration: %+v", s.Gate, s.Calibration)
	}
}

// TestShared measures a sample of a real set, where there is one. Its floor is
// far below what is measured, so that only what is broken falls under it.
func TestShared(t *testing.T) {
	dir := filepath.FromSlash("../../shared/bench/swe-skills-bench")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared data sets:", err)
	}
	d, err := readSet(dir, "")
	must.Do(t, err)
	c, err := NewCatalog(t.Context(), d, nil)
	must.Do(t, err)
	defer c.Close()
	s, err := Run(t.Context(), c, d, &Options{Limit: 15})
	must.Do(t, err)
	if s.Skills != 49 || s.Prompts != 15 || s.Metrics[0].Value < .5 {
		t.Errorf("%d skills, %d prompts, %+v", s.Skills, s.Prompts, s.Metrics)
	}
}

// TestTwins: the second skill of a name is found under another name.
func TestTwins(t *testing.T) {
	d := pets(t)
	c, err := NewCatalog(t.Context(), d, nil)
	must.Do(t, err)
	defer c.Close()
	list, err := c.search.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
		if e.ShadowedBy != "" {
			t.Errorf("%s is shadowed", e.Name)
		}
	}
	if got := strings.Join(names, " "); got != "cat Cat-2 plants post" {
		t.Errorf("names %s", got)
	}
}

func TestSample(t *testing.T) {
	d := pets(t)
	ids := func(seed uint64) string {
		var list []string
		for _, q := range d.Sample(1, seed) {
			list = append(list, q.ID)
		}
		return strings.Join(list, " ")
	}
	seen := make(map[string]bool)
	for seed := range uint64(20) {
		first, again := ids(seed), ids(seed)
		if first != again {
			t.Errorf("seed %d gives the samples %s and %s", seed, first, again)
		}
		seen[first] = true
	}
	for got := range seen {
		if got != "q1 q3" && got != "q2 q3" && got != "q3 q4" {
			t.Errorf("sample %s", got)
		}
	}
	if len(seen) != 3 {
		t.Errorf("20 seeds give the samples %v", seen)
	}
}

// TestPredict: the probability of each hit is compared with whether it was wanted.
func TestPredict(t *testing.T) {
	r := new(runner)
	if r.calibration() != nil {
		t.Error("a calibration of nothing")
	}
	r.predict([]search.Hit{{Probability: .95}, {Probability: .25}}, []string{"a", "b"}, []string{"a"})
	c := r.calibration()
	if c.Bins[9].Observed != 1 || c.Bins[2].Observed != 0 || math.Abs(c.Error-.15) > 1e-9 {
		t.Errorf("calibration %+v", c)
	}
}
