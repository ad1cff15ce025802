package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRun: each command has a page, which keeps the layout of its help; the same commit
// gives the same bytes; and the program's other name is used throughout.
func TestRun(t *testing.T) {
	once, again, other := made(t, "skills"), made(t, "skills"), made(t, "repertoire")
	if len(once) < 40 || len(once) != len(other) {
		t.Errorf("%d files, and %d for repertoire", len(once), len(other))
	}
	for name, text := range once {
		if again[name] != text {
			t.Errorf("%s is not the same a second time", name)
		}
	}
	for name, parts := range map[string][]string{
		"man/skills.1":                 {`.TH "SKILLS" "1" "Sep 2001" "Repertoire" "Repertoire"`, "/skills of the project", `\fB--root\fP`, `\fBskills-search(1)\fP`},
		"man/skills-proposals.1":       {"\n  skills proposals show ID      print a proposal", `evals/*.json`},
		"man/skills-root-add.1":        {".TH", "skills root add"},
		"man/repertoire-proposals.1":   {"\n  repertoire proposals show ID      print", `"repertoire mcp --allow-proposals"`},
		"completions/skills.bash":      {"__start_skills"},
		"completions/_skills":          {"#compdef skills"},
		"completions/skills.fish":      {"complete -c skills"},
		"completions/skills.ps1":       {"Register-ArgumentCompleter -CommandName 'skills'"},
		"completions/_repertoire":      {"#compdef repertoire"},
		"completions/repertoire.bash":  {"__start_repertoire"},
		"man/repertoire-search.1":      {"git diff | repertoire search -"},
		"man/repertoire-completion.1":  {"repertoire.fish"},
		"man/repertoire-config-show.1": {"repertoire"},
		"man/skills-publish.1":         {"skills publish"},
	} {
		text := once[name] + other[name]
		for _, part := range parts {
			if !strings.Contains(strings.NewReplacer(`\-`, "-", `\&`, "").Replace(text), part) {
				t.Errorf("%s does not contain %q:\n%.1500s", name, part, text)
			}
		}
	}
	for name, text := range other {
		if strings.Contains(text, `"skills `) {
			t.Errorf("%s calls skills", name)
		}
	}
}

// made returns the files that are made for a program.
func made(t *testing.T, name string) map[string]string {
	t.Helper()
	dir, files := t.TempDir(), make(map[string]string)
	must.Do(t, run(t.Context(), []string{dir, name}, "1000000000", io.Discard))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	must.Do(t, err)
	return files
}

func TestWrongUse(t *testing.T) {
	if err := run(t.Context(), []string{t.TempDir()}, "", io.Discard); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("without a date: %v", err)
	}
	for _, args := range [][]string{{"a", "b", "c"}, {"-site", "a", "b"}} {
		if err := run(t.Context(), args, "0", io.Discard); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
