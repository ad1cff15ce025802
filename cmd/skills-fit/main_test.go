package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
)

// topics are the words of made-up skills; a prompt of one topic wants its skill.
var topics = []string{
	"pdf form checkbox acrobat field", "cluster pod kubernetes helm deploy", "invoice tax receipt ledger vat",
	"sprite shader texture game mesh", "lesson pupil quiz school grade", "gene variant exome allele vcf",
}

// write writes files, given by name and text, to a folder of a name.
func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	dir = filepath.Join(t.TempDir(), dir)
	must.Do(t, os.Mkdir(dir, 0o700))
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// inputs writes all files that a fit reads and returns its arguments. Each topic is a skill with prompts.
func inputs(t *testing.T) []string {
	t.Helper()
	var corpus, owned strings.Builder
	for i, topic := range topics {
		w := strings.Fields(topic)
		fmt.Fprintf(&corpus, `{"repo":"o/r","path":"%d","name":"%s-%s","description":"Works on %s.","body":"How to work."}`+"\n", i, w[0], w[1], topic)
		next := strings.Fields(topics[(i+1)%len(topics)]) // another topic, so that prompts are not all told apart
		fmt.Fprintf(&owned, `{"repo":"o/r","path":"%d","prompts":["%s %s of all","%s and %s","can work wait until sunday evening"]}`+"\n", i, w[4], w[3], next[2], w[2])
	}
	for i := range 30 {
		fmt.Fprintf(&corpus, `{"repo":"o/other","path":"%d","name":"other-%d","description":"Other work on number %d of the holiday.","body":"Other."}`+"\n", i, i, i)
	}
	prompts := `{"prompts":["convert my pdf form","deploy the cluster on sunday"],"near_miss":"what is a pdf"}
{"prompts":["write an invoice with tax","draw a sprite for the game"],"near_miss":"what is a sprite"}`
	calm := `{"prompt":"what is a holiday","category":"facts"}
{"prompt":"is it a school day","category":"facts"}
{"prompt":"thank you, and what is next","category":"chat"}
{"prompt":"how do I rename a field","category":"explain"}`
	none := `{"id":"n","query":"is it a school holiday","kind":"none"}`
	set := write(t, "set", map[string]string{
		"corpus.jsonl":  `{"id":"s","name":"pdf-form","description":"Fills forms.","body":"x"}`,
		"queries.jsonl": `{"id":"q","query":"fill this form","kind":"positive"}`, "qrels.tsv": "query-id\tskill-id\trelevance\nq\ts\t1\n",
	})
	dir := write(t, "files", map[string]string{"corpus.jsonl": corpus.String(), "gate.jsonl": owned.String(), "prompts.jsonl": prompts, "calm.jsonl": calm})
	file := func(name string) string { return filepath.Join(dir, name) }
	return []string{"--corpus", file("corpus.jsonl"), "--gate", file("gate.jsonl"), "--prompts", file("prompts.jsonl"), "--calm", file("calm.jsonl"),
		"--check", file("gate.jsonl"), "--dataset", set, "--none", write(t, "none", map[string]string{"queries.jsonl": none}), "--sizes", "8,20,20,20", "--words", "40"}
}

// runFit runs the command and returns what it printed.
func runFit(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, &out, &errs); code != want {
		t.Fatalf("skills-fit %q: exit %d, want %d\n%s%s", args, code, want, &out, &errs)
	}
	return out.String(), errs.String()
}

// TestFit: both kinds of weights are fitted, with the same result each time, the prompts for work are
// written, and the report lists every catalog.
func TestFit(t *testing.T) {
	testsize.Long(t)
	work := filepath.Join(t.TempDir(), "work")
	args := append(inputs(t), "--work", work)
	got, progress := runFit(t, 0, args...)
	if again, _ := runFit(t, 0, args...); got != again {
		t.Errorf("the same fit printed\n%s\nand\n%s", got, again)
	}
	if n := strings.Count(must.Read(t, work), "\n"); n != len(topics) {
		t.Errorf("%d prompts for work, want one of each skill", n)
	}
	if !strings.Contains(progress, " prompts in 20 skills (4)\n") {
		t.Errorf("the last catalog is missing from\n%s", progress)
	}
	vectors, text, _ := strings.Cut(got, "Text: ")
	if !strings.HasPrefix(vectors, "Vectors: Logit{Base: ") || strings.Contains(got, "Sentence: ") || strings.Contains(text, "Nearness: ") {
		t.Errorf("literals are missing from\n%s", got)
	}
	for _, part := range []string{vectors, text} {
		for _, want := range []string{"\n8 skills (1) ", "\n20 skills (4) ", "\nNeedless: Prior{{0.01, ", "\nUnfit: Prior{"} {
			if !strings.Contains(part, want) {
				t.Errorf("%q is missing from\n%s", want, part)
			}
		}
	}
}

// smallEncoder writes a packed model that knows the words of topics, and returns its file.
func smallEncoder(t *testing.T) string {
	t.Helper()
	const hidden = 32
	random := rand.New(rand.NewPCG(1, 1))
	floats := func(n int, mean float32) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = mean + float32(random.NormFloat64())/4
		}
		return list
	}
	linear := func(n, m int) contextual.Linear {
		return contextual.Linear{Weights: floats(n*m, 0), Biases: floats(m, 0)}
	}
	norm := func() contextual.Norm { return contextual.Norm{Weights: floats(hidden, 1), Biases: floats(hidden, 0)} }
	w := &contextual.Weights{Name: "tiny", Hidden: hidden, Heads: 1, Positions: 8, Pieces: append([]string{"[UNK]", "[CLS]", "[SEP]"}, strings.Fields(strings.Join(topics, " "))...)}
	w.Words, w.Places, w.Norm = floats(hidden*len(w.Pieces), 0), floats(hidden*8, 0), norm()
	w.Layers = []contextual.Layer{{Attend: linear(hidden, 3*hidden), Join: linear(hidden, hidden), Joined: norm(), Up: linear(hidden, hidden), Down: linear(hidden, hidden), Out: norm()}}
	data, err := contextual.Encode(w)
	must.Do(t, err)
	return filepath.Join(write(t, "model", map[string]string{"model.bin": string(data)}), "model.bin")
}

// TestFitEncoder: with an encoder a third kind of weights is fitted, what comes with the model is
// written, and the next run embeds nothing again.
func TestFitEncoder(t *testing.T) {
	testsize.Long(t)
	model, dir := smallEncoder(t), t.TempDir()
	vectors, extras := filepath.Join(dir, "vectors"), filepath.Join(dir, "extras")
	args := append(inputs(t), "--encoder", model, "--vectors", vectors, "--extras", extras)
	got, _ := runFit(t, 0, args...)
	of, rest, _ := strings.Cut(got, "Vectors: ")
	if !strings.HasPrefix(of, "Contextual: Logit{Base: ") || strings.Contains(rest, "Sentence: ") {
		t.Errorf("literals are missing from\n%s", got)
	}
	e, err := contextual.New(must.Read(t, model))
	must.Do(t, err)
	must.Do(t, e.SetExtras(must.Read(t, extras)))
	prompts, err := new(search.Calibrator).Prompts()
	must.Do(t, err)
	if e.Prepared(prompts) == nil || len(e.Subjects()) != len(topics) {
		t.Errorf("the vectors of the prompts that set thresholds are not there, and %d of skills", len(e.Subjects()))
	}
	list, err := e.Embed(t.Context(), embed.Query, []string{"deploy the cluster on sunday", "what is a sprite"})
	must.Do(t, err)
	task, _ := e.Request(list[0], 0)
	if calm, _ := e.Request(list[1], 0); task <= calm {
		t.Errorf("a task has the odds %v, a question %v", task, calm)
	}
	before := must.Read(t, vectors)
	must.Do(t, os.WriteFile(vectors, []byte(before+"cut"), 0o600)) // by a run that was interrupted
	if again, _ := runFit(t, 0, args...); again != got {
		t.Errorf("with the kept vectors the fit printed\n%s\nand\n%s", again, got)
	}
	if after := must.Read(t, vectors); after != before+"cut" {
		t.Errorf("%d bytes of vectors after the second run, %d before", len(after), len(before))
	}
}

func TestWrongUse(t *testing.T) {
	all := inputs(t)
	with := func(args ...string) []string { return append(all[:len(all):len(all)], args...) }
	broken := filepath.Join(write(t, "broken", map[string]string{"c.jsonl": `{"name":"a"}` + "\n{"}), "c.jsonl")
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{2, "--corpus, --gate, --prompts and --calm", all[2:]},
		{2, "unexpected arguments: x", with("x")},
		{2, `"-1" is not a number of skills`, with("--sizes", "0,-1")},
		{2, "--sizes is empty", with("--sizes", "")},
		{2, "--limit must be at least 1", with("--limit", "0")},
		{2, "flag provided but not defined", with("--nonsense")},
		{0, "usage: skills-fit", []string{"-h"}},
		{1, "reading data set", with("--dataset", filepath.Dir(broken))},
		{1, "c.jsonl:2: ", with("--corpus", broken)},
		{1, "has prompts for 0 skills of the corpus", with("--gate", all[5])},
		{1, "has 30 skills without prompts, not the 31", with("--sizes", "31")},
	} {
		if _, stderr := runFit(t, tt.code, tt.args...); !strings.Contains(stderr, tt.says) {
			t.Errorf("%q: %s\nwant %q", tt.args, stderr, tt.says)
		}
	}
}
