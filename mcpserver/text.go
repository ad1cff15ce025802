package mcpserver

import (
	"strconv"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Bounds of quotations from text that somebody else wrote.
const (
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of an error
)

// line returns s on one line, with at most n characters.
func line(s string, n int) string {
	return words.Shorten(words.Line(s), n)
}

// quoted returns the start of s in quotes, for a message: text from a caller must not
// look as if this server had written it.
func quoted(s string) string { return strconv.Quote(line(s, maxQuoted)) }
