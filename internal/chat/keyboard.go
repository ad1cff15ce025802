package chat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A keyboard reads what is typed, one read at a time. A read that nobody waits for any more
// is kept for the next who asks.
type keyboard struct {
	in      io.Reader
	chunks  chan chunk // of a read that is under way; it has room for one
	reading bool
	rest    []byte   // read, and not yet returned
	err     error    // after rest
	pastes  []string // long ones, for which a mark stands in lines
}

type chunk struct {
	data []byte
	err  error
}

// more adds what is typed next to rest.
func (k *keyboard) more(ctx context.Context) error {
	if k.err != nil {
		err := k.err
		k.err = nil // a terminal goes on after its end
		return err
	}
	if !k.reading {
		k.reading = true
		go func() {
			buf := make([]byte, 4096)
			n, err := k.in.Read(buf)
			k.chunks <- chunk{buf[:n], err}
		}()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case c := <-k.chunks:
		k.reading = false
		k.rest, k.err = append(k.rest, c.data...), c.err
		return nil
	}
}

// forget drops what was read and not yet returned.
func (k *keyboard) forget() {
	k.rest = nil
	select {
	case c := <-k.chunks:
		k.reading, k.err = false, c.err
	default:
	}
}

// line returns the next line of a terminal that does the editing itself.
func (k *keyboard) line(ctx context.Context) (string, error) {
	for {
		if line, rest, ok := bytes.Cut(k.rest, []byte("\n")); ok {
			k.rest = rest
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if err := k.more(ctx); err != nil {
			line := string(k.rest)
			if k.rest = nil; err == io.EOF && line != "" {
				return line, nil
			}
			return "", err
		}
	}
}

// Signs that stand for a line feed and a tab in a line that is edited.
const (
	foldedFeed = "␤"
	foldedTab  = "␉"
)

// maxPaste is how many characters of a paste a line shows. The editor takes 4,096 at most.
const maxPaste = 400

// unfold returns the text of an edited line.
func (k *keyboard) unfold(line string) string {
	line = strings.NewReplacer(foldedFeed, "\n", foldedTab, "\t").Replace(line)
	if len(k.pastes) == 0 {
		return line
	}
	var marks []string // and what they stand for
	for i, text := range k.pastes {
		marks = append(marks, markOf(i, text), text)
	}
	return strings.NewReplacer(marks...).Replace(line)
}

// markOf returns what stands in a line for a long paste.
func markOf(i int, text string) string {
	return fmt.Sprintf("[paste %d: %d characters in %d lines]", i+1, utf8.RuneCountInString(text), strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
}

// fold returns a paste as it stands in a line.
func (k *keyboard) fold(paste string) string {
	text := tidy.Clean(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(paste))
	if utf8.RuneCountInString(text) > maxPaste {
		k.pastes = append(k.pastes, text)
		return markOf(len(k.pastes)-1, text)
	}
	return strings.NewReplacer("\n", foldedFeed, "\t", foldedTab).Replace(text)
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	ctrlC      = 3
)

// typed is the keyboard as the editor of a line reads it: up to the Enter that ends the line,
// and with pastes folded, so that a paste ends no line.
type typed struct {
	keys    *keyboard
	ctx     context.Context // of one line
	pasting bool
	paste   []byte // as far as it was read
	out     []byte // not yet returned
}

// Read implements io.Reader.
func (t *typed) Read(p []byte) (int, error) {
	if len(p) == 0 { // the editor waits for the end of a key that has none
		t.keys.rest = nil
		return 0, ErrInterrupted
	}
	for len(t.out) == 0 {
		if len(t.keys.rest) == 0 || t.partial() {
			if err := t.keys.more(t.ctx); err != nil {
				return 0, err
			}
			continue
		}
		if t.keys.rest[0] == ctrlC && !t.pasting {
			t.keys.rest = t.keys.rest[1:]
			return 0, ErrInterrupted
		}
		t.next()
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

// partial reports whether what was read may be the start of a mark of a paste.
func (t *typed) partial() bool {
	s := string(t.keys.rest[:min(len(t.keys.rest), len(pasteStart))])
	return s != "" && len(s) < len(pasteStart) && (strings.HasPrefix(pasteStart, s) || strings.HasPrefix(pasteEnd, s))
}

// next takes from the keyboard one mark of a paste, or all up to the next escape, Ctrl-C or
// Enter.
func (t *typed) next() {
	rest := t.keys.rest
	switch {
	case bytes.HasPrefix(rest, []byte(pasteStart)):
		t.pasting = true
		t.keys.rest = rest[len(pasteStart):]
	case bytes.HasPrefix(rest, []byte(pasteEnd)):
		t.out = append(t.out, t.keys.fold(string(t.paste))...)
		t.pasting, t.paste = false, nil
		t.keys.rest = rest[len(pasteEnd):]
	case t.pasting:
		n := upTo(rest, "\x1b")
		t.paste = append(t.paste, rest[:n]...)
		t.keys.rest = rest[n:]
	default:
		n := upTo(rest, "\x1b\x03")
		if i := bytes.IndexAny(rest[:n], "\r\n"); i >= 0 {
			n = i + 1
		}
		t.out = append(t.out, rest[:n]...)
		t.keys.rest = rest[n:]
	}
}

// upTo returns the index of the first of some bytes after the first byte of b, or its length.
func upTo(b []byte, some string) int {
	if i := bytes.IndexAny(b[1:], some); i >= 0 {
		return i + 1
	}
	return len(b)
}
