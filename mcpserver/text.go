package mcpserver

import (
	"strconv"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds of what is said about something that somebody else wrote.
const (
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of an error
)

// line is skill.Line of at most n characters.
func line(s string, n int) string {
	return shorten(skill.Line(s), n)
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// quoted returns the start of s in quotes, for a message: what a caller sent
// must not look like words of this server.
func quoted(s string) string { return strconv.Quote(line(s, maxQuoted)) }
