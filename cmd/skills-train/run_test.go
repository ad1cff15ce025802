package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// topics are the words of made-up skills; a prompt of one topic wants its skill.
var topics = []string{
	"pdf form field checkbox acrobat", "cluster pod kubernetes helm deploy", "invoice tax receipt ledger vat",
	"sprite shader texture game mesh", "lesson pupil quiz school grade", "gene variant exome allele vcf",
}

// writeCorpus writes a corpus of skills on the topics and returns its name.
func writeCorpus(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	var lines bytes.Buffer
	for i := range 240 {
		words := strings.Fields(topics[i%len(topics)])
		text := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteString(words[rng.IntN(len(words))] + " the of and ")
			}
			return b.String()
		}
		line, err := json.Marshal(rawSkill{place: place{"r", fmt.Sprint(i)}, Name: fmt.Sprintf("skill-%d", i), Description: text(8), Body: text(60), License: "MIT"})
		must.Do(t, err)
		lines.Write(append(line, '\n'))
	}
	name := filepath.Join(t.TempDir(), "corpus.jsonl")
	must.Do(t, os.WriteFile(name, lines.Bytes(), 0o600))
	return name
}

// writeDev writes a labelled set of one skill a topic and returns its folder. The prompts
// of a topic are made of a format and the topic's words.
func writeDev(t *testing.T, format string) string {
	t.Helper()
	var corpus, queries, labels strings.Builder
	labels.WriteString("query-id\tskill-id\trelevance\n")
	for i, topic := range topics {
		w := strings.Fields(topic)
		fmt.Fprintf(&corpus, `{"id":"s%d","name":"%s","description":"%s %s","body":"%s"}`+"\n", i, w[0], w[0], w[1], w[0])
		fmt.Fprintf(&queries, `{"id":"q%d","query":"%s","kind":"positive"}`+"\n", i, fmt.Sprintf(format, w[3], w[4]))
		fmt.Fprintf(&labels, "q%d\ts%d\t1\n", i, i)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"corpus.jsonl": corpus.String(), "queries.jsonl": queries.String(), "qrels.tsv": labels.String()} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// runTrain runs the command and returns what it printed.
func runTrain(t *testing.T, want int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, &stdout, &stderr); code != want {
		t.Fatalf("skills-train %q: exit %d, want %d\n%s%s", args, code, want, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

// TestTrain: training lets a prompt find a skill of its topic with which it shares no words.
// Training twice gives the same result.
func TestTrain(t *testing.T) {
	corpus, dev := writeCorpus(t), writeDev(t, "the %s and %s")
	var models [2][]byte
	for i := range models {
		out := filepath.Join(t.TempDir(), "model.bin")
		printed := runTrain(t, 0, "--corpus", corpus, "--out", out, "--dev", dev, "--dim", "32", "--buckets", "50",
			"--batch", "16", "--steps", "120", "--every", "60", "--name", "test")
		if !strings.Contains(printed, "Hit@1 1.000") {
			t.Errorf("training did not find the topics:\n%s", printed)
		}
		var err error
		if models[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		checkManifest(t, out)
	}
	if !bytes.Equal(models[0], models[1]) {
		t.Error("the same training gave two models")
	}
}

// TestPrompts: what people say is learned from prompts that were written for skills, and
// from phrases in several languages, also if no skill has a word of it.
func TestPrompts(t *testing.T) {
	var prompts, phrases strings.Builder
	for i := range 60 {
		w := strings.Fields(topics[i%len(topics)])
		fmt.Fprintf(&prompts, `{"repo":"r","path":"%d","prompts":["my%s our%s","our%s please","thing"]}`+"\n", i, w[3], w[4], w[4])
		fmt.Fprintf(&phrases, `{"en":"%s and %s","de":"ein%s und%s"}`+"\n", w[3], w[4], w[3], w[4])
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"prompts": prompts.String(), "phrases": phrases.String(), "broken": "{}\n{"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	args := []string{"--corpus", writeCorpus(t), "--out", filepath.Join(dir, "model.bin"), "--dim", "32", "--buckets", "50",
		"--batch", "16", "--steps", "120", "--every", "120"}
	for format, flags := range map[string][]string{
		"my%s our%s":  {"--prompts", filepath.Join(dir, "prompts")},
		"ein%s und%s": {"--parallel", filepath.Join(dir, "phrases"), "--parallel-share", ".3"},
	} {
		dev := writeDev(t, format)
		if printed := runTrain(t, 0, append(args, "--dev", dev)...); strings.Contains(printed, "Hit@1 1.000") {
			t.Errorf("%q is found without being learned:\n%s", format, printed)
		}
		if printed := runTrain(t, 0, slices.Concat(args, []string{"--dev", dev}, flags)...); !strings.Contains(printed, "Hit@1 1.000") {
			t.Errorf("%q is not learned:\n%s", format, printed)
		}
		if printed := runTrain(t, 1, slices.Concat(args, flags[:1], []string{filepath.Join(dir, "broken")})...); !strings.Contains(printed, "broken:2: ") {
			t.Errorf("broken lines: %s", printed)
		}
	}
}

func checkManifest(t *testing.T, model string) {
	t.Helper()
	data := must.Read(t, model)
	e, err := static.New(data)
	must.Do(t, err)
	text, err := os.ReadFile(model + ".json")
	must.Do(t, err)
	var m manifest
	must.Do(t, json.Unmarshal(text, &m))
	if m.Model != e.Model() || m.Corpus.Skills != 240 || m.Corpus.Licenses["MIT"] != 240 || len(m.Corpus.SHA256) != 64 || m.Options.Dim != 32 || len(m.Dev) != 1 {
		t.Errorf("manifest %s", text)
	}
}

func TestWrongUse(t *testing.T) {
	corpus := writeCorpus(t)
	out := filepath.Join(t.TempDir(), "model.bin")
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	must.Do(t, os.WriteFile(broken, []byte("{\"name\":\"a\"}\n{\"name\":"), 0o600))
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{2, "--corpus and --out", nil},
		{2, "unexpected arguments: x", []string{"--corpus", corpus, "--out", out, "x"}},
		{2, "--batch", []string{"--corpus", corpus, "--out", out, "--batch", "1"}},
		{2, "flag provided but not defined", []string{"--nonsense"}},
		{1, "no such file", []string{"--corpus", corpus + "x", "--out", out}},
		{1, "broken.jsonl:2", []string{"--corpus", broken, "--out", out}},
		{1, "a batch needs 500", []string{"--corpus", corpus, "--out", out, "--batch", "500"}},
		{1, "reading data set", []string{"--corpus", corpus, "--out", out, "--dev", out + "x"}},
	} {
		if printed := runTrain(t, tt.code, tt.args...); !strings.Contains(printed, tt.says) {
			t.Errorf("%q: %s\nwant %q", tt.args, printed, tt.says)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a model was written")
	}
}

func TestGroups(t *testing.T) {
	long := strings.Repeat("d", 100)
	got := groupsOf([]rawSkill{{Name: "a", Description: "x"}, {Name: "b", Description: long}, {Name: "a", Description: "y"}, {Name: "c", Description: long + "e"}, {Name: "e", Description: "z"}})
	for i, want := range []int{0, 1, 0, 1, 4} {
		if got[i] != want {
			t.Errorf("skill %d is in group %d, want %d", i, got[i], want)
		}
	}
}

func TestPhrases(t *testing.T) {
	got := phrases(rawSkill{Description: `Use for "fill a form" or 「表单的填写方法」.`, Body: "Say \"please fill this in\" or \"one\" or \"x = {y} and z\"."})
	want := "fill a form|表单的填写方法|please fill this in"
	if strings.Join(got, "|") != want {
		t.Errorf("phrases %q, want %s", got, want)
	}
}
