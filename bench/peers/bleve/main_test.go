package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/bench"
)

// TestBleve asks for skills that bench has written, once each and then for a while.
func TestBleve(t *testing.T) {
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	o := &bench.SpeedOptions{Dir: dir}
	do(o.Open(context.Background(), filepath.Join("..", "..", "..", "testdata", "skills")))
	root := filepath.Join(dir, "skills")
	origin, err := o.Write(t.Context(), 5)
	do(err)
	if origin != "corpus" {
		t.Errorf("the skills are %s", origin)
	}
	files, err := filepath.Glob(root + "/*/*/SKILL.md")
	do(err)
	var prompts, want []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		do(err)
		prompts, want = append(prompts, fields(string(text))["description"]), append(want, filepath.Base(filepath.Dir(file)))
	}
	if len(want) != 5 {
		t.Fatalf("found %d skills", len(want))
	}
	asked, err := json.Marshal(prompts)
	do(err)
	do(os.WriteFile(filepath.Join(dir, "prompts.json"), asked, 0o600))
	do(index(root, filepath.Join(dir, "index")))
	ask := func(threads, seconds string) (out struct {
		P99 float64 `json:"p99"`
		Top []string
	}) {
		t.Helper()
		var text bytes.Buffer
		do(answer(&text, filepath.Join(dir, "index"), []string{filepath.Join(dir, "prompts.json"), threads, seconds}))
		do(json.Unmarshal(text.Bytes(), &out))
		return out
	}
	if got := ask("1", "0").Top; !slices.Equal(got, want) {
		t.Errorf("the best hits are %q, want %q", got, want)
	}
	if ask("2", "0.01").P99 <= 0 {
		t.Error("no answer took any time")
	}
}
