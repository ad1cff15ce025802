package chat

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// A keyboard reads what is typed, one read at a time. A read that nobody waits for any more
// is kept for the next who asks.
type keyboard struct {
	in      io.Reader
	chunks  chan chunk // of a read that is under way; it has room for one
	reading bool
	rest    []byte // read, and not yet returned
	err     error  // after rest
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

// unfold returns the text of an edited line.
func unfold(line string) string {
	return strings.NewReplacer(foldedFeed, "\n", foldedTab, "\t").Replace(line)
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	ctrlC      = 3
)

// typed is the keyboard as the editor of a line reads it: up to the Enter that ends the line,
// and with the line feeds of a paste folded, so that a paste ends no line.
type typed struct {
	keys  *keyboard
	ctx   context.Context // of one line
	paste bool
	cr    bool   // the last byte of the paste was a carriage return
	out   []byte // folded, and not yet returned
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
		if t.keys.rest[0] == ctrlC && !t.paste {
			t.keys.rest = t.keys.rest[1:]
			return 0, ErrInterrupted
		}
		t.fold()
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

// partial reports whether what was read may be the start of a mark.
func (t *typed) partial() bool {
	s := string(t.keys.rest)
	return s != "" && len(s) < len(pasteStart) && (strings.HasPrefix(pasteStart, s) || strings.HasPrefix(pasteEnd, s))
}

// fold moves bytes from the keyboard to out: one mark, or all up to the next one, Ctrl-C or
// Enter.
func (t *typed) fold() {
	rest := t.keys.rest
	for i := 0; ; i++ {
		s := rest[i:]
		switch {
		case len(s) == 0 || i > 0 && s[0] == '\x1b' || s[0] == ctrlC && !t.paste:
			t.keys.rest = s
			return
		case bytes.HasPrefix(s, []byte(pasteStart)), bytes.HasPrefix(s, []byte(pasteEnd)):
			t.paste, t.cr = s[4] == '0', false
			t.keys.rest = s[len(pasteStart):]
			return
		case t.paste:
			t.pasted(s[0])
		default:
			t.out = append(t.out, s[0])
			if s[0] == '\r' || s[0] == '\n' {
				t.keys.rest = s[1:]
				return
			}
		}
	}
}

// pasted adds a byte of a paste.
func (t *typed) pasted(b byte) {
	switch {
	case b == '\r' || b == '\n' && !t.cr:
		t.out = append(t.out, foldedFeed...)
	case b == '\t':
		t.out = append(t.out, foldedTab...)
	case b >= ' ' && b != 0x7f:
		t.out = append(t.out, b)
	}
	t.cr = b == '\r'
}
