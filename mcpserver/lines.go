package mcpserver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// maxText is how many bytes of a text a tool returns at once: clients cut longer texts,
// or put them aside, and a model seldom wants more at once.
const maxText = 100_000

// lines is a range of lines, counted from 1; the zero value means all lines.
type lines struct{ first, last int }

var errLines = access.Mistake(`lines is not a range of lines, such as "10-40", "10-" or "10"`)

// parseLines reads "10-40", "10-" or "10".
func parseLines(s string) (l lines, err error) {
	if s == "" {
		return l, nil
	}
	from, to, ranged := strings.Cut(s, "-")
	if l.first, err = lineNumber(from); err != nil {
		return l, err
	}
	switch {
	case !ranged:
		l.last = l.first
	case to != "":
		if l.last, err = lineNumber(to); err == nil && l.last < l.first {
			err = access.Mistake("lines ends before it starts")
		}
	}
	return l, err
}

func lineNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 || s[0] == '+' {
		return 0, errLines
	}
	return int(n), nil
}

// A part is some lines of a text.
type part struct {
	text        string
	first, last int // numbers of its lines; last < first means that it has none
	of          int // number of lines in the whole text
	next        int // line to go on with; 0 means that nothing was cut off
}

// rest returns the range of the lines that were cut off from the lines l, "" for none.
func (p part) rest(l lines) string {
	switch {
	case p.next == 0:
		return ""
	case l.last == 0:
		return fmt.Sprintf("%d-", p.next)
	}
	return fmt.Sprintf("%d-%d", p.next, l.last)
}

// cut returns the lines l of s, at most maxText bytes of them. It also cuts a single
// line that is longer.
func cut(s string, l lines) part {
	p := part{first: max(1, l.first)}
	p.last = p.first - 1
	start, end := 0, 0
	for line := range strings.Lines(s) {
		p.of++
		switch {
		case p.of < p.first:
			start += len(line)
			end = start
		case p.next > 0 || l.last > 0 && p.of > l.last: // it is only counted
		case end-start+len(line) <= maxText:
			end, p.last = end+len(line), p.of
		case end == start: // it is too long itself
			end, p.last, p.next = start+len(words.Cut(line, maxText)), p.of, p.of+1
		default:
			p.next = p.of
		}
	}
	if p.next > p.of {
		p.next = 0
	}
	p.text = s[start:end]
	return p
}
