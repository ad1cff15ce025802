// Command skills-picture draws the picture of the README: what skills prints for the
// commands of a script. Makers run it when an output has changed:
//
//	go run ./cmd/skills-picture docs/picture.txt > docs/picture.svg
//
// A line of the script that begins with "$ skills " is a command. The picture shows it and what
// it prints. A command that begins with "! skills " prepares the next ones, and is not shown. All
// other lines are shown as they are. The commands run in a home of their own, which has the
// program as skills, and the skills of testdata in .claude/skills.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/shell"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "skills-picture:", err)
		os.Exit(1)
	}
}

// run draws the picture of the script that args names.
func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: skills-picture SCRIPT > PICTURE.svg")
	}
	script, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer script.Close()
	home, err := os.MkdirTemp("", "skills-picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.CopyFS(filepath.Join(home, ".claude", "skills"), os.DirFS("testdata/skills")); err != nil {
		return err
	}
	program := filepath.Join(home, "skills")
	if text, err := exec.Command("go", "build", "-o", program, "./cmd/skills").CombinedOutput(); err != nil {
		return fmt.Errorf("building skills: %w\n%s", err, text)
	}
	var lines []line
	for in := bufio.NewScanner(script); in.Scan(); {
		shown, err := perform(in.Text(), program, home)
		if err != nil {
			return err
		}
		lines = append(lines, shown...)
	}
	_, err = io.WriteString(out, draw(lines))
	return err
}

// perform returns what the picture shows for one line of the script.
func perform(text, program, home string) ([]line, error) {
	command, shown := strings.CutPrefix(text, "$ skills ")
	if !shown {
		var hidden bool
		if command, hidden = strings.CutPrefix(text, "! skills "); !hidden {
			return wrap(text, comment), nil
		}
	}
	words, err := shell.Fields(command, func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	cmd := exec.Command(program, words...)
	cmd.Dir = home
	// The picture must not depend on the settings of whoever draws it.
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=",
		"REPERTOIRE_CONFIG=", "REPERTOIRE_CACHE=", "REPERTOIRE_STATE=", "REPERTOIRE_DATA=", "REPERTOIRE_DB=", "CLAUDE_CONFIG_DIR=")
	printed, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", text, err, printed)
	}
	if !shown {
		return nil, nil
	}
	lines := wrap(text, prompt)
	for l := range strings.Lines(strings.ReplaceAll(string(printed), home, "~")) {
		lines = append(lines, wrap(strings.TrimRight(l, "\n"), output)...)
	}
	return lines, nil
}
