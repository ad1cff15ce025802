package skilltest

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/agent/agenttest"
)

// A Test is one file of tests. It has a Command or a Prompt.
type Test struct {
	Name  string // path of its file in the skill
	About string // the text before its sections

	Command string // to run, as in a [sandbox.Request]
	Stdin   string
	Exit    int     // wanted
	Stdout  *string // wanted; nil means anything
	Stderr  *string // the same

	Prompt string           // for an agent whose model follows Turns
	Turns  []agenttest.Turn // that the model takes, all of them
	Answer *string          // of the agent, wanted; nil means anything

	Files []File // in the workspace before
	Want  []File // that the workspace must have afterwards
}

// A File is a file of the workspace.
type File struct {
	Path string // slash-separated
	Data string
}

// Parse reads a test: a txtar archive with these sections, each at most once but for files
// and turns.
//
//	What this shows.
//	-- command --
//	scripts/convert.sh notes.txt
//	-- stdin --
//	-- stdout --
//	1 page
//	-- stderr --
//	-- exit --
//	0
//	-- files/notes.txt --
//	A file that is in the workspace before.
//	-- want/notes.html --
//	A file that must be there afterwards.
//
// Instead of a command it may have a conversation, whose turns are as in [agenttest.Parse]:
//
//	-- prompt --
//	Convert my notes.
//	-- turn --
//	call run_skill_script: {"skill": "notes", "command": "scripts/convert.sh notes.txt"}
//	-- turn --
//	want: 1 page
//
//	Your notes have one page.
//	-- answer --
//	Your notes have one page.
func Parse(name string, data []byte) (*Test, error) {
	archive := txtar.Parse([]byte(strings.ReplaceAll(string(data), "\r\n", "\n")))
	t := &Test{Name: name, About: strings.TrimSpace(string(archive.Comment))}
	var seen []string
	line := 1 + strings.Count(string(archive.Comment), "\n")
	for _, f := range archive.Files {
		err := t.section(f.Name, string(f.Data))
		if slices.Contains(seen, f.Name) && f.Name != "turn" {
			err = errors.New("it is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: section %q: %w", name, line, f.Name, err)
		}
		seen = append(seen, f.Name)
		line += 1 + strings.Count(string(f.Data), "\n")
	}
	if err := t.check(seen); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// section reads one section.
func (t *Test) section(name, text string) (err error) {
	switch name {
	case "command":
		t.Command = strings.TrimSpace(text)
	case "stdin":
		t.Stdin = text
	case "exit":
		t.Exit, err = strconv.Atoi(strings.TrimSpace(text))
	case "stdout":
		t.Stdout = &text
	case "stderr":
		t.Stderr = &text
	case "prompt":
		t.Prompt = strings.TrimSpace(text)
	case "answer":
		t.Answer = &text
	case "turn":
		var turn agenttest.Turn
		if turn, err = agenttest.ParseTurn(text); err == nil {
			t.Turns = append(t.Turns, turn)
		}
	default:
		return t.file(name, text)
	}
	return err
}

// file reads a section that is a file.
func (t *Test) file(name, text string) error {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case folder != "files" && folder != "want":
		return errors.New("there is no such section; the sections are command, stdin, stdout, stderr, exit, prompt, turn, answer, files/PATH and want/PATH")
	case rest != path.Clean(rest) || !filepath.IsLocal(filepath.FromSlash(rest)):
		return errors.New("its path leaves the workspace, or is not in its shortest form")
	case folder == "files":
		t.Files = append(t.Files, File{rest, text})
	default:
		t.Want = append(t.Want, File{rest, text})
	}
	return nil
}

// check returns an error for sections that do not go together.
func (t *Test) check(seen []string) error {
	has := func(names ...string) string {
		i := slices.IndexFunc(seen, func(s string) bool { return slices.Contains(names, s) })
		if i < 0 {
			return ""
		}
		return seen[i]
	}
	run := has("stdin", "stdout", "stderr", "exit")
	talk := has("turn", "answer")
	switch {
	case t.Command == "" && t.Prompt == "":
		return errors.New(`it has neither a section "command" nor a section "prompt", or an empty one`)
	case t.Command != "" && t.Prompt != "":
		return errors.New(`it has a command and a prompt; make two files of it`)
	case t.Prompt != "" && run != "":
		return fmt.Errorf("section %q belongs to a command, and it has a prompt", run)
	case t.Command != "" && talk != "":
		return fmt.Errorf("section %q belongs to a prompt, and it has a command", talk)
	case t.Prompt != "" && len(t.Turns) == 0:
		return errors.New(`it has no section "turn", which is what the model does`)
	}
	return nil
}
