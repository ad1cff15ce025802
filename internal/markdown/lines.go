package markdown

import (
	"fmt"
	"strconv"
	"strings"
)

func blank(s string) bool { return strings.TrimLeft(s, " \t") == "" }

// indent returns how many columns of blanks a line begins with.
func indent(s string) (columns int) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns
		}
	}
	return columns
}

// dedent removes n columns of blanks from the start of a line, or as many as there are.
func dedent(s string, n int) string {
	columns, i := 0, 0
	for ; i < len(s) && columns < n; i++ {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return s[i:]
		}
	}
	return strings.Repeat(" ", max(0, columns-n)) + s[i:] // what a tab has more
}

// quoted returns a line of a quote without its mark.
func quoted(s string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimLeft(s, " \t"), ">")
	if !ok || indent(s) >= 4 {
		return s, false
	}
	return dedent(rest, 1), true
}

// A mark begins an item of a list.
type mark struct {
	mark       byte // "-", "+" or "*" of a bullet; "." or ")" after a number
	size       int
	number     int
	interrupts bool // it ends a paragraph above it
}

// list returns the list that an item with this mark begins, and its attributes.
func (m mark) list() (c container, attributes string) {
	switch {
	case m.mark != '.' && m.mark != ')':
		return container{tag: "ul", mark: m.mark}, ""
	case m.number != 1:
		attributes = fmt.Sprintf(` start="%d"`, m.number)
	}
	return container{tag: "ol", mark: m.mark}, attributes
}

// markOf returns the mark that a line without blanks before it begins with.
func markOf(s string) (m mark, ok bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 9 || digits >= len(s) {
		return m, false
	}
	m = mark{mark: s[digits], size: digits + 1}
	if digits > 0 {
		m.number, _ = strconv.Atoi(s[:digits])
	}
	if ok = strings.IndexByte("-+*", m.mark) >= 0; digits > 0 {
		ok = m.mark == '.' || m.mark == ')'
	}
	rest := s[m.size:]
	m.interrupts = !blank(rest) && (digits == 0 || m.number == 1)
	return m, ok && (blank(rest) || indent(rest) > 0)
}

// isRule says that a line is three or more of one mark.
func isRule(s string) bool {
	if s == "" || strings.IndexByte("-*_", s[0]) < 0 {
		return false
	}
	return strings.Count(s, s[:1]) >= 3 && strings.Trim(s, " \t"+s[:1]) == ""
}

// headingOf returns level and text of a heading; 0 if the line is none.
func headingOf(s string) (level int, text string) {
	rest := strings.TrimLeft(s, "#")
	level = len(s) - len(rest)
	if level > 6 || rest != "" && indent(rest) == 0 {
		return 0, ""
	}
	text = strings.TrimSpace(rest)
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.TrimRight(closed, " \t") != closed {
		text = strings.TrimSpace(closed)
	}
	return level, text
}

// fenceOf returns the marks with which a line begins code; "" if it does not.
func fenceOf(s string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(s, mark)
		if n := len(s) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return s[:n]
		}
	}
	return ""
}

// begins says that a line does not go on with a paragraph of a container that it is not in.
func begins(s string) bool {
	text := strings.TrimSpace(s)
	if text == "" || indent(s) >= 4 {
		return text == ""
	}
	_, item := markOf(text)
	level, _ := headingOf(text)
	return item || level > 0 || text[0] == '>' || isRule(text) || fenceOf(text) != ""
}

// cellsOf returns the cells of a row of a table.
func cellsOf(s string) (cells []string) {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(s, "|")
	var cell strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '|':
			cell.WriteByte('|')
			i++
		case s[i] == '|':
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(s[i])
		}
	}
	if last := strings.TrimSpace(cell.String()); last != "" || len(cells) == 0 {
		cells = append(cells, last)
	}
	return cells
}

// columnsOf returns how many columns a line between the head and the rows of a table has; 0 if it is none.
func columnsOf(s string) int {
	if !strings.Contains(s, "|") || strings.Trim(s, "|:- \t") != "" {
		return 0
	}
	cells := cellsOf(s)
	for _, cell := range cells {
		if dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":"); dashes == "" || strings.Trim(dashes, "-") != "" {
			return 0
		}
	}
	return len(cells)
}
