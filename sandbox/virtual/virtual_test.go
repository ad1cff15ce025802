package virtual

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
)

var update = flag.Bool("update", false, "write the answers of the transcripts")

// demo is the skill of the tests.
func demo() fstest.MapFS {
	file := func(text string, mode os.FileMode) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(text), Mode: mode, Sys: true}
	}
	return fstest.MapFS{
		"README.md":        file("# Demo\n\nA skill for tests.\n", 0o644),
		"scripts/args.sh":  file("#!/bin/sh\necho \"$# <$1> <$*> $0\"\nfor a in \"$@\"; do echo \"- $a\"; done\n", 0o755),
		"scripts/fails.sh": file("#!/usr/bin/env bash\nset -euo pipefail\necho start\nls missing\necho never\n", 0o755),
		"scripts/plain.sh": file("echo plain\n", 0o644),
		"scripts/lib.sh":   file("shout() { echo \"$1\" | tr a-z A-Z; }\n", 0o644),
		"scripts/tool.py":  file("#!/usr/bin/env python3\nprint(1)\n", 0o755),
		"data/words.txt":   file("pear\napple\npear\nfig\n", 0o644),
		"data/pair.txt":    file("left right\n", 0o644),
		"data/map.txt":     file("a:1\nb:2:3\n", 0o644),
		"data/table.csv":   file("name,age\nzoe,9\nadam,10\nbob,7\n", 0o644),
	}
}

// answer writes a result as the transcripts have it.
func answer(r sandbox.Result, err error) string {
	var b strings.Builder
	if err != nil {
		return "[error: " + err.Error() + "]\n"
	}
	text := func(data []byte, prefix string) {
		if len(data) == 0 {
			return
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
			b.WriteString(prefix + line + "\n")
		}
	}
	text(r.Stdout, "")
	text(r.Stderr, "! ")
	if r.ExitCode != 0 {
		fmt.Fprintf(&b, "[exit %d]\n", r.ExitCode)
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "[stopped: %s]\n", r.Stopped)
	}
	return b.String()
}

func transcripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	return names
}

// replay runs the commands of a transcript in one sandbox and returns it with the answers.
func replay(t *testing.T, name, text string) string {
	s := New(Options{KeepGoing: strings.Contains(name, "utilities")})
	var got strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "## ") {
			got.WriteString(line + "\n")
		}
		cmd, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		got.WriteString(line + "\n")
		for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> "); i++ {
			got.WriteString(lines[i+1] + "\n")
			cmd += "\n" + lines[i+1][2:]
		}
		got.WriteString(answer(s.Execute(t.Context(), sandbox.Request{Skill: "demo", Files: demo(), Command: cmd})))
	}
	return got.String()
}

// TestTranscripts replays the conversations in testdata.
func TestTranscripts(t *testing.T) {
	for _, name := range transcripts(t) {
		data := must.Read(t, name)
		got := replay(t, name, data)
		if *update {
			must.Do(t, os.WriteFile(name, []byte(got), 0o644))
		} else if diff := cmp.Diff(data, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
