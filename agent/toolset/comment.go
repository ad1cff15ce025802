package toolset

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// A comment is what a script says of itself.
type comment struct {
	description string
	usage       string
	schema      json.RawMessage
	options     map[string]string // what it says of each parameter, by the parameter's name
	line        int               // of the declaration, from 1
	bad         string            // what is malformed
}

// maxComment bounds the start of a script that is looked at, in bytes.
const maxComment = 16 << 10

// readComment reads the comment that a script starts with.
func readComment(text string) comment {
	lines, first := commentLines(text[:min(len(text), maxComment)])
	c := comment{options: make(map[string]string)}
	var about []string
	ended := false // of the description
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if rest, ok := keyed(line, "usage:"); ok {
			if c.usage != "" {
				c.bad, c.line = "there are several lines Usage:, and a tool has one", first+i
				return c
			}
			c.line, ended = first+i, true
			c.usage, i = usageLines(lines, i, rest)
			continue
		}
		if rest, ok := keyed(line, "parameters:"); ok && strings.HasPrefix(strings.TrimSpace(rest+strings.Join(lines[i+1:], "")), "{") {
			c.line, ended = first+i, true
			schema, used, err := jsonIn(append([]string{rest}, lines[i+1:]...))
			if err != nil {
				c.bad = "the JSON below Parameters: is malformed: " + err.Error()
				return c
			}
			c.schema, i = schema, i+used
			continue
		}
		switch {
		case isDirective(line):
		case line == "":
			ended = ended || len(about) > 0
		case !ended:
			about = append(about, line)
		default:
			c.option(line)
		}
	}
	c.description = strings.Join(about, " ")
	return c
}

// isDirective reports whether a line is for programs or lawyers.
func isDirective(line string) bool {
	for _, start := range []string{"-*-", "vim:", "shellcheck ", "eslint", "SPDX-", "Copyright", "coding:", "coding="} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// keyed returns the rest of a line that starts with a key, in any case.
func keyed(line, key string) (rest string, ok bool) {
	if len(line) < len(key) || !strings.EqualFold(line[:len(key)], key) {
		return "", false
	}
	return strings.TrimSpace(line[len(key):]), true
}

// usageLines returns the usage that starts on line i, and its last line: it may stand on
// the next line, and go on after a backslash.
func usageLines(lines []string, i int, rest string) (usage string, last int) {
	if rest == "" && i+1 < len(lines) {
		i++
		rest = strings.TrimSpace(lines[i])
	}
	for strings.HasSuffix(rest, `\`) && i+1 < len(lines) {
		i++
		rest = strings.TrimSuffix(rest, `\`) + " " + strings.TrimSpace(lines[i])
	}
	return rest, i
}

// jsonIn reads the JSON at the start of some lines, and returns how many lines after the
// first it takes.
func jsonIn(lines []string) (value json.RawMessage, used int, err error) {
	text := strings.Join(lines, "\n")
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&value); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("it does not end in the comment")
		}
		return nil, 0, err
	}
	end := min(int(dec.InputOffset()), len(text))
	return value, strings.Count(text[:end], "\n"), nil
}

// option notes what a line such as "--dpi N   resolution" says of a parameter.
func (c *comment) option(line string) {
	head, text, ok := strings.Cut(line, "  ")
	if !ok {
		return
	}
	for _, word := range strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune(" ,=|[]", r) }) {
		name := propertyName(strings.TrimLeft(strings.Trim(word, "<>"), "-"))
		if _, known := c.options[name]; name != "" && !known {
			c.options[name] = strings.TrimSpace(text)
		}
	}
}

// commentLines returns the lines of the comment that a script starts with, without what
// marks them, and the number of the first.
func commentLines(text string) (lines []string, first int) {
	all := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "\n")
	i := 0
	if strings.HasPrefix(all[0], "#!") {
		i = 1
	}
	for i < len(all) && strings.TrimSpace(all[i]) == "" {
		i++
	}
	first = i + 1
	for i < len(all) {
		line := strings.TrimSpace(all[i])
		if open, end := block(line); open != "" {
			n := len(lines)
			lines, i = blockLines(all, i, lines, open, end)
			if len(lines) == n {
				break // it does not end
			}
			continue
		}
		mark := lineMark(line)
		if mark == "" && line != "" {
			break
		}
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, mark), " "))
		i++
	}
	return lines, first
}

// block returns what starts and ends a comment of several lines.
func block(line string) (open, end string) {
	for _, pair := range [][2]string{{`"""`, `"""`}, {`'''`, `'''`}, {`r"""`, `"""`}, {"/*", "*/"}, {"<#", "#>"}, {"--[[", "]]"}} {
		if strings.HasPrefix(line, pair[0]) {
			return pair[0], pair[1]
		}
	}
	return "", ""
}

// blockLines appends the lines of a comment that starts on line i, and returns the line
// after it.
func blockLines(all []string, i int, lines []string, open, end string) ([]string, int) {
	start, rest := len(lines), strings.TrimPrefix(strings.TrimSpace(all[i]), open)
	for ; ; rest = all[i] {
		before, _, found := strings.Cut(rest, end)
		if open == "/*" {
			before = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(before), "*"), " ")
		}
		lines = append(lines, before)
		i++
		if found {
			return lines, i
		}
		if i == len(all) {
			return lines[:start], i
		}
	}
}

// lineMark returns what starts a comment of one line; "" if the line is none.
func lineMark(line string) string {
	for _, mark := range []string{"//", "--", "#", ";", "REM ", "::"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}
