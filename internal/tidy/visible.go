package tidy

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible replaces the characters that Clean removes, and carriage returns, by escapes
// such as \x1b and \u202e: a terminal obeys none of them, and a reader sees that they are
// there. Line feeds and tabs stay. Visible is idempotent, and changes no clean text. JSON
// without control characters means the same afterwards.
func Visible(s string) string {
	i := plainPrefix(s)
	if i == len(s) {
		return s
	}
	var out strings.Builder
	out.WriteString(s[:i])
	prev := '\n' // the last rune of out
	if i > 0 {
		prev = rune(s[i-1])
	}
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		kind := kindAt(s, i, r, size, prev)
		switch {
		case kind != plain || r == '\r':
			e := escape(s[i], r, kind)
			out.WriteString(e)
			prev = rune(e[len(e)-1])
		default:
			if r == blackFlag {
				size += flagTags(s[i+size:])
			}
			out.WriteString(s[i : i+size])
			prev = r
		}
		i += size
	}
	return out.String()
}

// escape returns the escape of a rune of a kind, or of the byte first if the kind is
// invalidUTF8.
func escape(first byte, r rune, kind int) string {
	switch {
	case r == '\r':
		return `\r`
	case kind == invalidUTF8 || r < ' ':
		return fmt.Sprintf(`\x%02x`, first)
	case r <= 0xFFFF:
		return fmt.Sprintf(`\u%04x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Sprintf(`\u%04x\u%04x`, high, low)
}
