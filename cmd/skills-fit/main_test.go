package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
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
	for _, want := range []string{"hybrid search for 21 prompts in one + 20 skills\n", "text search for 9 prompts in the corpus + 30 skills\n"} {
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
