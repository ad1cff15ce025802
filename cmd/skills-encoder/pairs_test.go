package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestPairs: a prompt is asked where its skill is not, and what the gate is fitted to is not learned.
func TestPairs(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "prompts", "train.jsonl"), `{"repo":"a/b","path":"forms/SKILL.md","prompts":["fill the tax form","form"],"near_miss":"what is a form?"}
{"repo":"a/b","path":"trips/SKILL.md","prompts":["plan my trip to Oslo"]}
`)
	must.Write(t, filepath.Join(dir, "prompts", "train-siblings.jsonl"), `{"repo":"c/d","path":"x/bills/SKILL.md","prompts":["check this bill"]}
`)
	must.Write(t, filepath.Join(dir, "prompts", "train-more.jsonl"), `{"repo":"a/b","path":"kept/SKILL.md","prompts":["charts please"]}
{"repo":"a/b","path":"gone/SKILL.md","prompts":["nobody has it"]}
`)
	must.Write(t, filepath.Join(dir, "prompts", "gate.jsonl"), `{"repo":"c/d","path":"charts/SKILL.md","prompts":["a chart"]}
`)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(`{"repo":"a/b","path":"forms/SKILL.md","name":"forms","description":"Fills forms. Not for scans.","body":"# Forms\n\nUse this skill when a form is empty.\n"}
{"repo":"a/b","path":"trips/SKILL.md","name":"trips","description":"Plans trips.","body":""}
{"repo":"c/d","path":"x/bills/SKILL.md","name":"bills","description":"Checks bills and forms of the tax office.","body":""}
{"repo":"a/b","path":"kept/SKILL.md","name":"charts","description":"Draws charts.","body":""}
{"repo":"c/d","path":"charts/SKILL.md","name":"charts","description":"Draws charts.","body":""}
`))
	must.Do(t, err)
	must.Do(t, z.Close())
	must.Write(t, filepath.Join(dir, "corpus", "skills.jsonl.gz"), b.String())
	out := filepath.Join(dir, "pairs.jsonl")
	var stderr bytes.Buffer
	if code := run([]string{"--data", dir, "--out", out}, &stderr); code != 0 {
		t.Fatalf("exit status %d: %s", code, &stderr)
	}
	all := make(map[string]labelled)
	for line := range strings.Lines(must.Read(t, out)) {
		var l labelled
		must.Do(t, json.Unmarshal([]byte(line), &l))
		all[l.id()] = l
	}
	forms := all["a/b:forms/SKILL.md"]
	if len(all) != 5 || forms.Text != "forms: Fills forms. Use this skill when a form is empty." || len(forms.Prompts) != 2 || forms.NearMiss == "" {
		t.Errorf("%d skills, forms: %+v", len(all), forms)
	}
	for id, l := range all {
		for _, wrong := range l.Wrong {
			if wrong == id || len(all[wrong].Prompts) == 0 {
				t.Errorf("%s is asked where %s is", id, wrong)
			}
		}
	}
	if l := all["a/b:kept/SKILL.md"]; len(l.Prompts) > 0 {
		t.Errorf("what the gate is fitted to is learned: %+v", l)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "prompts", "gate.jsonl")))
	if code := run([]string{"--data", dir, "--out", out}, &stderr); code != 1 || !strings.Contains(stderr.String(), "gate.jsonl") {
		t.Errorf("without gate.jsonl: exit status %d: %s", code, &stderr)
	}
}
