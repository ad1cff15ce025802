// Package tidy makes text of others safe and short enough to show: it removes characters
// that a reader cannot see, and cuts without splitting one. Its one rule: what is tidy stays
// as it is.
package tidy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Hidden counts one kind of hidden character in a text.
type Hidden struct {
	Kind  string // "tag", "bidi", "zero-width", "control", "invisible" or InvalidUTF8
	Count int
	Line  int // of the first one, from 1
}

// InvalidUTF8 is the kind of bytes that are not valid UTF-8.
const InvalidUTF8 = "invalid-utf8"

// The kinds of hidden characters, in the order in which CleanAndCount reports them.
// A plain character is visible.
const (
	plain = iota
	tagChar
	bidiControl
	zeroWidth
	control
	invisible
	invalidUTF8
)

var kindNames = [...]string{"", "tag", "bidi", "zero-width", "control", "invisible", InvalidUTF8}

// Clean removes the characters from s that a reader cannot see but a model reads:
// Unicode tags, bidirectional controls, zero-width and other invisible characters, C1
// controls, and C0 controls except tab and newline. Joiners and variation selectors
// stay where a script or an emoji needs them. Every line ends in \n, and bytes that are
// not UTF-8 become U+FFFD. Clean is idempotent.
func Clean(s string) string { return clean(s, nil) }

// CleanAndCount returns Clean(s) and what Clean removed or replaced, one entry per
// kind; nil means nothing. Changed line ends do not count.
func CleanAndCount(s string) (cleaned string, hidden []Hidden) {
	var counts [len(kindNames)]Hidden
	line, last := 1, 0
	cleaned = clean(s, func(kind, at int) {
		if counts[kind].Count++; counts[kind].Count > 1 {
			return
		}
		// Positions only grow, so each line break is counted once.
		line += lineBreaks(s[last:at])
		last = at
		counts[kind].Kind, counts[kind].Line = kindNames[kind], line
	})
	for _, c := range counts {
		if c.Count > 0 {
			hidden = append(hidden, c)
		}
	}
	return cleaned, hidden
}

// lineBreaks counts the line ends in s, of any form.
func lineBreaks(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, "\r") - strings.Count(s, "\r\n")
}

// clean implements Clean. If found is not nil, clean calls it with the kind and the
// position of each hidden character.
func clean(s string, found func(kind, at int)) string {
	i := plainPrefix(s)
	if i == len(s) {
		return s
	}
	var out strings.Builder
	done := 0 // s[:done] has been copied to out or removed
	emit := func(upTo, next int, instead string) {
		if out.Len() == 0 {
			out.Grow(len(s))
		}
		out.WriteString(s[done:upTo])
		out.WriteString(instead)
		done = next
	}
	prev := '\n' // the last rune that was not removed
	if i > 0 {
		prev = rune(s[i-1])
	}
	for i < len(s) {
		if n := plainPrefix(s[i:]); n > 0 {
			i += n
			prev = rune(s[i-1])
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch kind := kindAt(s, i, r, size, prev); {
		case r == '\r':
			prev = '\n'
			if strings.HasPrefix(s[i+1:], "\n") {
				emit(i, i+1, "")
			} else {
				emit(i, i+1, "\n")
			}
		case kind == plain:
			if r == blackFlag {
				size += flagTags(s[i+size:])
			}
			prev = r
		default:
			if found != nil {
				found(kind, i)
			}
			if kind == invalidUTF8 {
				prev = utf8.RuneError
				emit(i, i+size, "\uFFFD")
			} else {
				emit(i, i+size, "")
			}
		}
		i += size
	}
	if done == 0 {
		return s
	}
	emit(len(s), len(s), "")
	return out.String()
}

// plainPrefix returns the length of the printable ASCII at the start of s. Nearly all
// text is like this, so it makes clean fast.
func plainPrefix(s string) int {
	for i := range len(s) {
		if b := s[i]; b-0x20 > 0x5E && b != '\n' && b != '\t' { // below 0x20, b-0x20 wraps around
			return i
		}
	}
	return len(s)
}

// kindAt returns the kind of the rune r at s[i]; prev is the last rune that was not
// removed.
func kindAt(s string, i int, r rune, size int, prev rune) int {
	if r == utf8.RuneError && size == 1 {
		return invalidUTF8
	}
	if r < utf8.RuneSelf { // including \r, which the caller handles first
		if (r < 0x20 && r != '\n' && r != '\t') || r == 0x7F {
			return control
		}
		return plain
	}
	kind := kindOf(r)
	if kind == plain {
		return plain
	}
	next, n := utf8.DecodeRuneInString(s[i+size:])
	if n == 0 {
		next = '\n'
	}
	if needed(r, prev, next) {
		return plain
	}
	return kind
}

// kindOf returns the kind of r, without regard to its neighbours.
func kindOf(r rune) int {
	switch {
	case r >= 0x3165 && r < 0xFDD0:
		return plain // nearly all of Chinese, Japanese and Korean
	case r < 0xA0:
		return control // C1; the caller has handled ASCII
	case r < 0x200B:
		if r == 0xAD || r == 0x34F || r == 0x17B4 || r == 0x17B5 || r == 0x115F || r == 0x1160 || r >= 0x180B && r <= 0x180F {
			return invisible
		}
		if r == 0x61C {
			return bidiControl
		}
	case r <= 0x200D, r == 0x2060, r == 0xFEFF:
		return zeroWidth
	case r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return bidiControl
	case r >= 0x2061 && r <= 0x206F, r == 0x3164, r == 0xFFA0, r >= 0xFFF0 && r <= 0xFFFB:
		return invisible // operators, deprecated formats, Hangul fillers, annotations
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return invisible // variation selectors
	case r >= 0xE0000 && r <= 0xE007F:
		return tagChar
	case r >= 0xE0080 && r <= 0xE0FFF, r >= 0x1BCA0 && r <= 0x1BCA3, r >= 0x1D173 && r <= 0x1D17A:
		return invisible // unassigned ignorables, shorthand and musical controls
	case r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF:
		return invisible // noncharacters
	}
	return plain
}

// needed reports whether the invisible r has a visible effect between prev and next. It
// counts visible neighbours only, so that a run of joiners, which could spell a hidden
// message, does not justify itself.
func needed(r, prev, next rune) bool {
	switch {
	case r == 0x200C || r == 0x200D:
		if next >= utf8.RuneSelf && kindOf(next) != plain {
			return false
		}
		if joins(prev) || joins(next) {
			return prev != 0x200C && prev != 0x200D && prev > ' '
		}
		return r == 0x200D && (prev == 0xFE0F || isEmoji(prev)) && isEmoji(next)
	case r == 0xFE0E || r == 0xFE0F:
		return isEmoji(prev) || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case r >= 0x180B && r <= 0x180F:
		return unicode.Is(unicode.Mongolian, prev) && kindOf(prev) == plain
	}
	return false
}

// joins reports whether r belongs to a script whose spelling uses joiners.
func joins(r rune) bool {
	if r < 0x600 || r > 0x200A && r < 0xA000 {
		return false
	}
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari,
		unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Tibetan)
}

// isEmoji reports whether r may be part of an emoji sequence.
func isEmoji(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2190 && r <= 0x2BFF ||
		strings.ContainsRune("\u00A9\u00AE\u203C\u2049\u2122\u2139\u3030\u303D\u3297\u3299", r)
}

const blackFlag = '\U0001F3F4'

// flags are the only emoji that are spelled with tag characters: a black flag, then
// "gbeng", "gbsct" or "gbwls" (England, Scotland, Wales) and the tag that ends it.
var flags = [...]string{
	"\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// flagTags returns the length of the tags of a flag at the start of s, or 0.
func flagTags(s string) int {
	for _, f := range flags {
		if strings.HasPrefix(s, f) {
			return len(f)
		}
	}
	return 0
}

// Line turns a text into one line: no hidden characters, no line ends, single blanks.
// Nothing in the result can look like a new message or element.
func Line(s string) string {
	s = Clean(s)
	if isLine(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// isLine reports whether s is ASCII words with single blanks between them, as nearly all
// names and descriptions are.
func isLine(s string) bool {
	blank := true // s[i-1] is a blank, or i is 0
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf || s[i] == ' ' && blank {
			return false
		}
		blank = s[i] == ' '
	}
	return !blank || s == ""
}
