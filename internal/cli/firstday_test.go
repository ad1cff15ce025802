package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestFirstDay: the session of docs/first-day.md works for somebody who has nothing yet, and
// each line that the page shows is printed.
func TestFirstDay(t *testing.T) {
	_, session, ok := strings.Cut(must.Read(t, "../../docs/first-day.md"), "```console\n")
	session, _, _ = strings.Cut(session, "```")
	home := homeWith(t, "my-skills")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	commands, printed := 0, ""
	for line := range strings.Lines(session) {
		command, isCommand := strings.CutPrefix(line, "$ skills ")
		if !isCommand {
			if want := plainWords(line); !strings.Contains(printed, want) {
				t.Errorf("%q is not in what is printed:\n%s", want, printed)
			}
			continue
		}
		commands++
		words, err := shell.Fields(command, nil)
		must.Do(t, err)
		switch words[0] {
		case "try":
			words = append(words, "--deadline", "30s") // a busy machine is late
		case "setup":
			words = append(words, "--no-check", "--program", filepath.Join(home, "skills"))
		}
		printed = plainWords(strings.ReplaceAll(call(t, 0, words...), home, "~"))
	}
	if !ok || commands < 5 {
		t.Errorf("the session has %d commands", commands)
	}
}

// plainWords returns a text with single blanks and without the numbers, since times differ.
func plainWords(text string) string {
	return regexp.MustCompile(`[0-9]+(\.[0-9]+)?( m?s\b)?`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "0")
}

// homeWith makes a new home with the program as skills, and the skills of testdata in a folder. It changes to it.
func homeWith(t *testing.T, folder string) string {
	t.Helper()
	skills, err := filepath.Abs("../../testdata/skills")
	must.Do(t, err)
	fixture(t)
	home := t.TempDir()
	t.Cleanup(func() { waitForIndexes(t, home) })
	t.Setenv("HOME", home)
	t.Setenv("REPERTOIRE_CONFIG", "")
	must.Do(t, os.CopyFS(filepath.Join(home, folder), os.DirFS(skills)))
	program, err := os.Executable()
	must.Do(t, err)
	if err := os.Symlink(program, filepath.Join(home, "skills")); err != nil {
		t.Skip(err)
	}
	t.Chdir(home)
	return home
}

// TestTroubleshooting: the commands that the pages for new users name exist, with their flags.
func TestTroubleshooting(t *testing.T) {
	for _, page := range []string{"first-day", "troubleshooting"} {
		commands := regexp.MustCompile("`(skills [a-z][^`]*)`").FindAllStringSubmatch(must.Read(t, "../../docs/"+page+".md"), -1)
		if len(commands) < 5 {
			t.Errorf("%s.md has %d commands", page, len(commands))
		}
		for _, c := range commands {
			args := commandLine(t, c[1])
			cmd, _, err := new(env).command().Find(args)
			must.Do(t, err)
			if err := parse(args, cmd.Name()); err != nil {
				t.Errorf("%s.md: %s: %v", page, c[1], err)
			}
		}
	}
}

// TestTroubleshootingSays: what the page says that "skills why" says stands in the program.
func TestTroubleshootingSays(t *testing.T) {
	var program strings.Builder
	for _, pattern := range []string{"../../search/*.go", "../../*.go"} {
		files, err := filepath.Glob(pattern)
		must.Do(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				program.WriteString(must.Read(t, file))
			}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(must.Read(t, "../../docs/troubleshooting.md"), -1)
	if len(rows) < 9 {
		t.Errorf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		for part := range strings.SplitSeq(row[1], "…") {
			if part = strings.TrimSpace(part); !strings.Contains(program.String(), part) {
				t.Errorf("the program never says %q", part)
			}
		}
	}
}
