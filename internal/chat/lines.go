package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// ErrInterrupted means that the person pressed Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// Lines reads lines that a person types at a terminal. If the output is a terminal too, the
// lines can be edited, have a history, and may be pasted.
type Lines struct {
	in      *os.File
	out     io.Writer
	size    func() (width, height int, err error) // of the output; nil means that it is no terminal
	keys    keyboard
	history history
}

// NewLines returns a reader of in, which is a terminal.
func NewLines(in *os.File, out io.Writer) *Lines {
	l := &Lines{in: in, out: out, keys: keyboard{in: in, chunks: make(chan chunk, 1)}}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		l.size = func() (int, int, error) { return term.GetSize(int(f.Fd())) }
	}
	return l
}

// Read returns the next line, without its end. The error is io.EOF at the end of the input
// (Ctrl-D), ErrInterrupted, or the error of ctx.
func (l *Lines) Read(ctx context.Context, prompt string) (string, error) {
	l.history.closed = false
	return l.read(ctx, prompt)
}

// Ask is Read for an answer to a question, which does not enter the history. What was typed
// before the question is dropped: it is no answer to it.
func (l *Lines) Ask(ctx context.Context, question string) (string, error) {
	l.history.closed = true
	flush(int(l.in.Fd()))
	l.keys.forget()
	return l.read(ctx, question)
}

func (l *Lines) read(ctx context.Context, prompt string) (string, error) {
	if l.size == nil {
		if _, err := io.WriteString(l.out, prompt); err != nil {
			return "", err
		}
		return l.keys.line(ctx)
	}
	old, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(l.in.Fd()), old)
	// A Terminal for each line: after an error, one returns the error again and again.
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&typed{keys: &l.keys, ctx: ctx}, l.out}, prompt)
	t.History = &l.history
	t.AutoCompleteCallback = swallow
	if width, height, err := l.size(); err == nil && width > 0 {
		t.SetSize(width, height)
	}
	t.SetBracketedPasteMode(true)
	defer t.SetBracketedPasteMode(false)
	line, err := t.ReadLine()
	if err != nil {
		io.WriteString(l.out, "\r\n")
		return "", err
	}
	return l.keys.unfold(line), nil
}

// swallow drops hidden characters of a paste, which the terminal could obey.
func swallow(line string, pos int, key rune) (string, int, bool) {
	special := key < ' ' || key >= 0xd800 && key <= 0xdfff // arrows and the like
	return line, pos, !special && tidy.Visible(string(key)) != string(key)
}

// A history keeps the last lines, the newest first.
type history struct {
	lines  []string
	closed bool // what is read now is not kept
}

const maxHistory = 200

// Add implements term.History.
func (h *history) Add(line string) {
	if h.closed || strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[0] == line {
		return
	}
	h.lines = append([]string{line}, h.lines[:min(len(h.lines), maxHistory-1)]...)
}

// Len implements term.History.
func (h *history) Len() int {
	if h.closed {
		return 0
	}
	return len(h.lines)
}

// At implements term.History.
func (h *history) At(i int) string { return h.lines[i] }
