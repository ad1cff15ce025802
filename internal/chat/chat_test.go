package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/term"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestParseCommand: a line is a command if it begins with a slash and a word, and else is
// for the model.
func TestParseCommand(t *testing.T) {
	for line, want := range map[string]string{
		"hello":                  "prompt",
		"/etc/hosts is broken":   "prompt",
		"/":                      "prompt",
		"/Save x":                "prompt",
		"/save x\nand more":      "prompt",
		" /save  my chat.md ":    "save my chat.md",
		"/save":                  "error /save needs the name of a file, such as chat.md or chat.json",
		"/quit":                  "quit ",
		"/exit":                  "quit ",
		"/skills now":            "error /skills takes no argument",
		"/compct":                "error no command /compct; did you mean compact?",
		"/xyzzy and more to say": "error no command /xyzzy; there are: skills, save, compact, help, quit",
	} {
		c, ok, err := ParseCommand(line)
		got := "prompt"
		switch {
		case err != nil:
			got = "error " + err.Error()
		case ok:
			got = c.Name + " " + c.Argument
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestFile: a transcript overwrites nothing but its own older version.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	said := agent.Transcript{Messages: []agent.Message{{Role: agent.User, Text: "<feed>"}}}
	for name, want := range map[string]string{"a.md": "> <feed>\n", "b.MARKDOWN": "> <feed>\n", "c.json": `"text": "<feed>"`} {
		f, err := NewFile(at(name))
		must.Do(t, err)
		for range 2 {
			must.Do(t, f.Write(said))
		}
		if text, err := os.ReadFile(at(name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if err := Save(at(name), said); err == nil || !strings.Contains(err.Error(), "is not overwritten") {
			t.Errorf("%s, again: %v", name, err)
		}
	}
	f, err := NewFile(at("late.md"))
	must.Do(t, err)
	if err := os.Symlink(at("target"), at("late.md")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := f.Write(said); err == nil || !strings.Contains(err.Error(), "is not overwritten") {
		t.Errorf("a link that appeared: %v", err)
	}
	for _, name := range []string{"x", "x.txt", "x.md.gz"} {
		if err := Save(at(name), said); err == nil || !strings.Contains(err.Error(), "ends in .md or .json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// edited returns the lines of an edited input, and the error at its end.
func edited(in io.Reader) (lines []string, err error) {
	k := &keyboard{in: in, chunks: make(chan chunk, 1)}
	for {
		t := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{&typed{keys: k, ctx: context.Background()}, io.Discard}, "> ")
		t.AutoCompleteCallback = swallow
		line, err := t.ReadLine()
		if err != nil {
			return lines, err
		}
		lines = append(lines, k.unfold(line))
	}
}

// TestEdited: what keys and pastes make of lines, however the input is cut into reads.
func TestEdited(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
		end  error
	}{
		{"one\rtwo\r\x04", []string{"one", "two"}, io.EOF},
		{"one\x7f\x7f\x7fen\x1b[Dh\r", []string{"ehn"}, io.EOF},
		{"ab\x03cd\r", nil, ErrInterrupted},
		{"say: " + pasteStart + "a\r\n\tb\nc\rd" + pasteEnd + "!\r", []string{"say: a\n\tb\nc\nd!"}, io.EOF},
		{pasteStart + "a\x03\x04\x1b[31m\x7fb\n" + pasteEnd + "\rnext\r", []string{"a[31mb\n", "next"}, io.EOF},
		{"in " + pasteStart + strings.Repeat("line\r\n", 9000) + pasteEnd + "?\r", []string{"in " + strings.Repeat("line\n", 9000) + "?"}, io.EOF},
		{pasteStart + "never ends\r", nil, io.EOF},
		{pasteStart + "x\u009b31m\u202ey" + pasteEnd + "\r", []string{"x31my"}, io.EOF},
		{"\x1b" + strings.Repeat("0", 600) + "\r", nil, ErrInterrupted},
		{"猫\r", []string{"猫"}, io.EOF},
	} {
		for name, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			lines, err := edited(cut(strings.NewReader(c.in)))
			if fmt.Sprintf("%q", lines) != fmt.Sprintf("%q", c.want) || !errors.Is(err, c.end) {
				t.Errorf("%q, %s: %q, %v; want %q, %v", c.in, name, lines, err, c.want, c.end)
			}
		}
	}
}

// FuzzEdited: no input makes the reader of lines hang or panic, and nothing that a terminal
// obeys gets into a line.
func FuzzEdited(f *testing.F) {
	f.Add("one\rtwo\x1b[A\r\x04")
	f.Add(pasteStart + "a\nb" + pasteEnd + "\r" + pasteEnd[:3])
	f.Fuzz(func(t *testing.T, in string) {
		lines, err := edited(strings.NewReader(in))
		if err == nil {
			t.Error("no end")
		}
		for _, line := range lines {
			if strings.ContainsAny(line, "\x1b\x03\r\u009b\u202e") {
				t.Errorf("%q gives the line %q", in, line)
			}
		}
	})
}

// TestPlainLines: without editing too, a read that nobody waited for any more loses nothing.
func TestPlainLines(t *testing.T) {
	r, w := io.Pipe()
	k := &keyboard{in: r, chunks: make(chan chunk, 1)}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.line(over); !errors.Is(err, context.Canceled) {
		t.Errorf("the line of a context that ended: %v", err)
	}
	go func() {
		io.WriteString(w, "one\r\ntw")
		io.WriteString(w, "o\nthree")
		w.Close()
	}()
	for _, want := range []string{"one", "two", "three"} {
		if line, err := k.line(t.Context()); line != want || err != nil {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
	}
	if _, err := k.line(t.Context()); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
}

// TestHistory: answers to questions stay out of it, and it is bounded.
func TestHistory(t *testing.T) {
	var h history
	for i := range maxHistory + 10 {
		h.Add(fmt.Sprint(i))
	}
	h.Add(fmt.Sprint(maxHistory + 9)) // twice
	h.Add(" ")
	h.closed = true
	h.Add("yes")
	if h.Len() != 0 {
		t.Error("a question shows the history")
	}
	h.closed = false
	if h.Len() != maxHistory || h.At(0) != fmt.Sprint(maxHistory+9) || h.At(maxHistory-1) != "10" {
		t.Errorf("%d lines, from %s to %s", h.Len(), h.At(0), h.At(h.Len()-1))
	}
}

// TestAdvice: each error of a server leads to something that the person can do, and no
// advice names fields of Go.
func TestAdvice(t *testing.T) {
	m := config.Model{BaseURL: "http://user:sk-secret@h/v1", Model: "m"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&agent.LimitError{Limit: 3}, "--max-iterations"},
		{&openai.Error{Status: 401}, "export OPENAI_API_KEY"},
		{&openai.Error{Status: 404}, "--base-url (it is http"},
		{&openai.Error{Status: 429}, "ask again later"},
		{&openai.Error{Message: "refused (does the server run there?)"}, "--base-url runs"},
		{&openai.Error{Status: 400, Message: "x; this model cannot call tools: set Config.Instructions of the agent"}, "--instructions"},
		{&openai.Error{Status: 400, Message: "x; shorten the conversation with Compact, or set Config.History of the agent", Err: openai.ErrContextLength}, "/compact"},
		{&openai.Error{Status: 200, Message: "no answer within 1m; raise Config.Total"}, ""},
	} {
		err := error(&agent.Error{Err: c.err})
		if _, ok := c.err.(*agent.LimitError); ok {
			err = c.err
		}
		if got := Advice(err, m); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "sk-secret") {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		if got := Problem(err); got == "" || strings.Contains(got, "Config.") || strings.HasPrefix(got, "agent: ") {
			t.Errorf("%v: the problem is %q", c.err, got)
		}
	}
	if got := Advice(&openai.Error{Status: 401}, config.Model{KeyEnv: "MY_KEY"}); !strings.Contains(got, "export MY_KEY=") {
		t.Errorf("of another variable: %s", got)
	}
}
