package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// bom begins files that some editors on Windows write.
const bom = "\ufeff"

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// apply makes all splices at once; of several at one place the first comes
// first. They must not overlap.
func apply(data []byte, splices ...splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	at := 0
	for _, s := range splices {
		out.Write(data[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// eolOf returns what ends the lines of a text.
func eolOf(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns where the line of a place begins.
func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// lineEnd returns where the line of a place ends: after its line feed.
func lineEnd(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// blanks returns the blanks and tabs that a text begins with.
func blanks(text []byte) string {
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}

// indentAt returns what the line of a place begins with.
func indentAt(data []byte, at int) string { return blanks(data[lineStart(data, at):]) }

// lineColumn returns the place of an offset as people count it.
func lineColumn(data []byte, at int) (line, column int) {
	return 1 + bytes.Count(data[:at], []byte("\n")), 1 + at - lineStart(data, at)
}

// closed ends the last line of a text, unless there is none.
func closed(data []byte, eol string) []byte {
	if len(data) == 0 || bytes.HasSuffix(data, []byte("\n")) {
		return data
	}
	return append(slices.Clone(data), eol...)
}

// isBlank reports whether a text holds only white space.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// inBrackets writes values as a list.
func inBrackets[T any](values []T, quote func(T) string, comma string) string {
	parts := make([]string, len(values))
	for i, text := range values {
		parts[i] = quote(text)
	}
	return "[" + strings.Join(parts, comma) + "]"
}

// withEOL gives lines the ending eol.
func withEOL(text, eol string) string { return strings.ReplaceAll(text, "\n", eol) }
