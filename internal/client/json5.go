package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fromJSON5 returns a text in JSON5 as JSON: names without quotes, single quotes, comments, trailing
// commas, and numbers such as .5, +1 and 0xff. What is not JSON5 becomes a text that is not JSON either.
func fromJSON5(data []byte) []byte {
	r := &json5{rest: data}
	for len(r.rest) > 0 {
		r.next()
	}
	return r.out
}

// A json5 is a text that is being read.
type json5 struct {
	rest []byte
	out  []byte
}

// take returns the longest start of the rest whose characters are wanted.
func (r *json5) take(wanted func(rune) bool) string {
	end := bytes.IndexFunc(r.rest, func(c rune) bool { return !wanted(c) })
	if end < 0 {
		end = len(r.rest)
	}
	text := string(r.rest[:end])
	r.rest = r.rest[end:]
	return text
}

// next reads one token, or what is between two.
func (r *json5) next() {
	r.skip()
	if len(r.rest) == 0 {
		return
	}
	switch c, size := utf8.DecodeRune(r.rest); {
	case c == '"' || c == '\'':
		r.rest = r.rest[size:]
		r.text(c)
	case isName(c) && !unicode.IsDigit(c):
		name := r.take(isName)
		if r.skip(); bytes.HasPrefix(r.rest, []byte(":")) {
			name = strconv.Quote(name)
		} else if name == "Infinity" || name == "NaN" {
			name = "null"
		}
		r.out = append(append(r.out, ' '), name...) // or two names become one
	case strings.ContainsRune("+-.0123456789", c):
		r.out = append(append(r.out, ' '), number(r.take(func(c rune) bool { return isName(c) || strings.ContainsRune("+-.", c) }))...)
	default:
		if c == ']' || c == '}' {
			r.out = bytes.TrimSuffix(r.out, []byte(","))
		}
		r.out, r.rest = append(r.out, r.rest[:size]...), r.rest[size:]
	}
}

// isName reports whether a character may be part of a name without quotes, but for the first one.
func isName(c rune) bool {
	return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// skip skips blanks and comments. One that does not end becomes no JSON.
func (r *json5) skip() {
	for {
		r.take(func(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' })
		if len(r.rest) == 0 || r.rest[0] != '/' {
			return
		}
		switch end := commentEnd(r.rest, 0); {
		case end == 0:
			return
		case end == len(r.rest) && r.rest[1] == '*':
			r.out, r.rest = append(r.out, '/'), nil
		default:
			r.rest = r.rest[min(end+1, len(r.rest)):]
		}
	}
}

// number returns a number of JSON5 as JSON; what is no number stays.
func number(text string) string {
	plain := strings.TrimPrefix(text, "+")
	if n, err := strconv.ParseInt(plain, 0, 64); err == nil && strings.ContainsAny(plain, "xX") {
		return strconv.FormatInt(n, 10)
	}
	f, err := strconv.ParseFloat(plain, 64)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "null"
	}
	if data, bad := json.Marshal(f); err == nil && bad == nil && (strings.HasPrefix(strings.TrimPrefix(plain, "-"), ".") || strings.HasSuffix(plain, ".")) {
		return string(data)
	}
	return plain
}

// text reads the rest of a text in quotes. One that does not end becomes no JSON.
func (r *json5) text(quote rune) {
	r.out = append(r.out, '"')
	for len(r.rest) > 0 {
		c, size := utf8.DecodeRune(r.rest)
		r.rest = r.rest[size:]
		switch {
		case c == quote:
			r.out = append(r.out, '"')
			return
		case c == '\n':
			r.rest = nil
		case c == '\\':
			r.out = append(r.out, r.escape()...)
		case c == '"' || c < ' ':
			r.out = fmt.Appendf(r.out, `\u%04x`, c)
		default:
			r.out = utf8.AppendRune(r.out, c)
		}
	}
}

// escape reads what follows a backslash, and returns it as JSON has it.
func (r *json5) escape() string {
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	switch {
	case strings.ContainsRune(`"\/bfnrtu`, c):
		return `\` + string(c)
	case c == 'x':
		return `\u00` // its two digits follow
	case c == 'v':
		return `\u000b`
	case c == '0':
		return `\u0000`
	case c == '\r':
		r.rest = bytes.TrimPrefix(r.rest, []byte("\n"))
		return ""
	case c == '\n': // the text goes on in the next line
		return ""
	}
	return string(c)
}
