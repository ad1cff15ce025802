package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/runner"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
)

// echo is an executor for tests in which nothing runs.
type echo struct{}

func (echo) Execute(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Stdout: []byte(r.Command)}, nil
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPartial: a skill with more files than are compared cannot be trusted. It could change
// those that are not, and would stay trusted.
func TestPartial(t *testing.T) {
	dir := t.TempDir()
	add := func(name, text string) {
		name = filepath.Join(dir, "pdf", filepath.FromSlash(name))
		try(t, os.MkdirAll(filepath.Dir(name), 0o755))
		try(t, os.WriteFile(name, []byte(text), 0o755))
	}
	add("SKILL.md", "---\nname: pdf\ndescription: Convert PDF files to images.\nallowed-tools: scripts/*\n---\nConvert.\n")
	add("scripts/z.sh", "#!/bin/sh\necho fine\n")
	s, err := source.Dir(dir, &source.Options{Label: "team"})
	try(t, err)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{s}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never})
	try(t, err)
	defer c.Close()
	_, err = c.Rescan(t.Context(), nil)
	try(t, err)
	trusted := trust.Open(t.TempDir())
	r, err := runner.New(c, nil, echo{}, trusted)
	try(t, err)
	for _, test := range []struct {
		more    int // further files
		refused bool
	}{{0, false}, {600, true}} {
		for i := range test.more {
			add(fmt.Sprintf("a/%d.txt", i), "x")
		}
		l, err := c.Listing(t.Context(), "pdf", nil, true)
		try(t, err)
		seen := trust.Seen{Skill: trust.Skill{Digest: l.Digest, Name: "pdf", Folder: l.Folder, Date: time.Unix(0, 0)}}
		if err := trusted.Add(t.Context(), seen); (err != nil) != test.refused || l.Partial != test.refused {
			t.Errorf("%d more files: trusting gives %v, partial %t", test.more, err, l.Partial)
		}
		answer, _ := r.Call(t.Context(), "run_skill_script", `{"skill_name":"pdf","command":"scripts/z.sh"}`)
		if strings.Contains(answer, `"error"`) != test.refused || test.refused && !strings.Contains(answer, "too many files") {
			t.Errorf("%d more files: %s", test.more, answer)
		}
	}
}
