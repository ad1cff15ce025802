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

// writeSet writes a set with one skill for each topic. Each skill has a prompt with many of
// its words and a prompt with few.
func writeSet(t *testing.T, name string) string {
	t.Helper()
	var corpus, queries strings.Builder
	labels := "query-id\tskill-id\trelevance\n"
	for i, topic := range topics {
		w := strings.Fields(topic)
		fmt.Fprintf(&corpus, `{"id":"s%d","name":"%s","description":"Works on %s.","body":"How to work."}`+"\n", i, w[0]+"-"+w[1], topic)
		fmt.Fprintf(&queries, `{"id":"a%d","query":"%s %s of %s","kind":"positive"}`+"\n", i, w[4], w[3], name)
		fmt.Fprintf(&queries, `{"id":"b%d","query":"can work wait until sunday evening %s","kind":"positive"}`+"\n", i, w[2])
		labels += fmt.Sprintf("a%d\ts%d\t1\nb%d\ts%d\t1\n", i, i, i, i)
	}
	return write(t, name, map[string]string{"corpus.jsonl": corpus.String(), "queries.jsonl": queries.String(), "qrels.tsv": labels})
}

// inputs writes all files that a fit reads and returns its arguments.
func inputs(t *testing.T) []string {
	t.Helper()
	var none, corpus strings.Builder
	for i, q := range []string{"what is a good game on a rainy sunday", "is it a school holiday", "rename this field", "how to work less", "/clear"} {
		fmt.Fprintf(&none, `{"id":"n%d","query":"%s","kind":"none"}`+"\n", i, q)
	}
	none.WriteString(`{"id":"x","query":"of another kind","kind":"negative"}`)
	for i := range 30 {
		fmt.Fprintf(&corpus, `{"name":"other-%d","description":"Other work on number %d of the holiday."}`+"\n", i, i)
	}
	prompts := `{"prompts":["convert my pdf form","deploy the cluster on sunday"],"near_miss":"what is a pdf"}
{"prompts":["write an invoice with tax","draw a sprite for the game"],"near_miss":"what is a sprite"}`
	calm := `{"prompt":"what is a holiday","category":"facts"}
{"prompt":"is it a school day","category":"facts"}
{"prompt":"thank you, and what is next","category":"chat"}
{"prompt":"how do I rename a field","category":"explain"}`
	lists := write(t, "lists", map[string]string{"prompts.jsonl": prompts, "calm.jsonl": calm})
	return []string{"--dataset", writeSet(t, "one"), "--dataset", writeSet(t, "two"), "--none", write(t, "none", map[string]string{"queries.jsonl": none.String()}),
		"--corpus", filepath.Join(write(t, "corpus", map[string]string{"skills.jsonl": corpus.String()}), "skills.jsonl"), "--distractors", "0,20", "--grow", "5,30",
		"--prompts", filepath.Join(lists, "prompts.jsonl"), "--calm", filepath.Join(lists, "calm.jsonl"), "--words", "40"}
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

// TestFit: both kinds of weights are fitted, with the same result each time, and the report
// lists every set.
func TestFit(t *testing.T) {
	testsize.Long(t)
	args := inputs(t)
	got, progress := runFit(t, 0, args...)
	if again, _ := runFit(t, 0, args...); got != again {
		t.Errorf("the same fit printed\n%s\nand\n%s", got, again)
	}
	for _, want := range []string{"Vectors: search for 21 prompts in one + 20 skills\n", "Text: search for 9 prompts in the corpus + 30 skills\n"} {
		if !strings.Contains(progress, want) {
			t.Errorf("%q is missing from\n%s", want, progress)
		}
	}
	vectors, text, _ := strings.Cut(got, "Text: ")
	if !strings.HasPrefix(vectors, "Vectors: Logit{Base: ") || !strings.Contains(vectors, "Nearness: ") || !strings.HasPrefix(text, "Logit{Base: ") || strings.Contains(text, "Nearness: ") {
		t.Errorf("literals are missing from\n%s", got)
	}
	for _, part := range []string{vectors, text} {
		for _, want := range []string{"\none ", "\ntwo ", "\nall ", "\nmean ", "\nPrior: "} {
			if !strings.Contains(part, want) {
				t.Errorf("the row %q is missing from\n%s", want, part)
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
	if !strings.HasPrefix(of, "Contextual: Logit{Base: ") || !strings.Contains(of, "Sentence: ") || strings.Contains(rest, "Sentence: ") {
		t.Errorf("literals are missing from\n%s", got)
	}
	e, err := contextual.New(must.Read(t, model))
	must.Do(t, err)
	must.Do(t, e.SetExtras(must.Read(t, extras)))
	prompts, err := new(search.Calibrator).Prompts()
	must.Do(t, err)
	if e.Prepared(prompts) == nil {
		t.Error("the vectors of the prompts that need no skill are not there")
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
	empty := write(t, "empty", map[string]string{"queries.jsonl": `{"id":"x","query":"y","kind":"negative"}`})
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{2, "--dataset at least twice", all[2:]},
		{2, "--none, --corpus, --prompts and --calm", all[:8]},
		{2, "unexpected arguments: x", with("x")},
		{2, `"-1" is not a number of skills`, with("--distractors", "0,-1")},
		{2, "--distractors is empty", with("--distractors", "")},
		{2, "--limit must be at least 1", with("--limit", "0")},
		{2, "flag provided but not defined", with("--nonsense")},
		{0, "usage: skills-fit", []string{"-h"}},
		{1, `is given twice`, with("--dataset", all[1])},
		{1, "reading data set", with("--dataset", empty)},
		{1, "no prompt is of a kind that needs no skill", with("--none", empty)},
		{1, "c.jsonl:2: ", with("--corpus", broken)},
		{1, "has 30 skills, not the 31", with("--grow", "31")},
	} {
		if _, stderr := runFit(t, tt.code, tt.args...); !strings.Contains(stderr, tt.says) {
			t.Errorf("%q: %s\nwant %q", tt.args, stderr, tt.says)
		}
	}
}
