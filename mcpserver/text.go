package mcpserver

import (
	"strconv"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Bounds of what is said about something that somebody else wrote.
const (
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of an error
)

// line is words.Line of at most n characters.
func line(s string, n int) string {
	return words.Shorten(words.Line(s), n)
}

// quoted returns the start of s in quotes, for a message: what a caller sent
// must not look like words of this server.
func quoted(s string) string { return strconv.Quote(line(s, maxQuoted)) }
