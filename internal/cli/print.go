package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A printer writes text for people. Names, paths and errors come from whoever wrote a
// skill, so it shows what a terminal would obey as escapes, see tidy.Visible. Each Write
// is a whole text: a character must not be cut in two.
type printer struct {
	io.Writer
	edit func(text string) string // of each text; nil changes nothing
}

func (p printer) Write(text []byte) (int, error) {
	shown := tidy.Visible(string(text))
	if p.edit != nil {
		shown = p.edit(shown)
	}
	if _, err := io.WriteString(p.Writer, shown); err != nil {
		return 0, err
	}
	return len(text), nil
}

// bare returns what a printer writes to, and any other writer as it is.
func bare(w io.Writer) io.Writer {
	if p, ok := w.(printer); ok {
		return p.Writer
	}
	return w
}

// oneLine returns a text on one line, with nothing in it that a terminal would obey.
func oneLine(s string) string { return tidy.Line(tidy.Visible(s)) }

// tilde returns a text in which paths in a home start with ~; "" means that there is no home.
func tilde(home, text string) string {
	const separator = string(filepath.Separator)
	if home == "" {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, home+separator) {
		switch before, _ := utf8.DecodeLastRuneInString(b.String()); {
		case i == 0:
		case words.IsLetter(before) || strings.ContainsRune(`/\._-`, before): // another path, such as /mnt/home/ann/
			b.WriteString(home + separator)
		default:
			b.WriteString("~" + separator)
		}
		b.WriteString(part)
	}
	return b.String()
}

// lineOf formats one line. What is formatted cannot begin another one.
func lineOf(format string, args ...any) string {
	return strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", `\n`) + "\n"
}

// message returns an error or a note on one line, because scripts take each line for a
// message.
func message(s string) string { return oneLine(strings.ReplaceAll(s, "\n", "; ")) }

// printText prints s, with a line feed at the end.
func (ui *screen) printText(s string) error {
	_, err := io.WriteString(ui.stdout, strings.TrimSuffix(s, "\n")+"\n")
	return err
}

// note prints a message that is not part of the result to standard error.
func (ui *screen) note(format string, args ...any) {
	if !ui.quiet {
		fmt.Fprintf(ui.stderr, "skills: %s\n", message(fmt.Sprintf(format, args...)))
	}
}

// noteVerbose is note for what only --verbose tells.
func (ui *screen) noteVerbose(format string, args ...any) {
	if ui.verbose {
		ui.note(format, args...)
	}
}
