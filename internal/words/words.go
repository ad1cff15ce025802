// Package words turns texts into words and terms. Its one rule: skills, prompts and
// training data are split by the same code, because words that two sides split
// differently never match. Names are compared by words, too: it tells which are one name,
// and suggests names for a misspelt one.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Kind says what Split made a word of.
type Kind int

// The kinds of words.
const (
	Word  Kind = iota // a word, or one part of a camel-case identifier
	Whole             // a camel-case identifier, after its parts
	Pair              // two neighbours, or a lone character, of a script without spaces
)

// Split calls yield for each word of a text, in order. A word is a run of letters,
// digits and marks. Split separates identifiers in camelCase, kebab-case and snake_case,
// and turns scripts without spaces into overlapping pairs of characters. It removes the
// accents of Latin and Greek letters and compatibility forms, but keeps upper case.
func Split(text string, yield func(word string, kind Kind)) {
	text = Fold(text)
	for start, end := range Runs(text) {
		splitter(yield).run(text[start:end])
	}
}

// Runs returns the start and the end of every run of letters, digits and marks in s. An
// apostrophe before a letter does not end a run, so "don't" is one word.
func Runs(s string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start := -1
		for i, size := 0, 1; i < len(s); i += size {
			r := rune(s[i])
			if size = 1; r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(s[i:])
			}
			switch {
			case IsLetter(r):
				if start < 0 {
					start = i
				}
			case start < 0, isApostrophe(r) && letterFollows(s[i+size:]):
			case !yield(start, i):
				return
			default:
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(s))
		}
	}
}

// IsLetter reports whether r belongs to a word: a letter, a digit or a mark.
func IsLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// IsSeparator reports whether r separates words: a blank, punctuation or a symbol.
func IsSeparator(r rune) bool { return !IsLetter(r) }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

func letterFollows(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// A splitter is the yield function of Split.
type splitter func(word string, kind Kind)

// run splits a run into parts of scripts with spaces and parts of scripts without.
func (yield splitter) run(s string) {
	if beyondASCII(s) < 0 { // most runs
		yield.identifier(s)
		return
	}
	start, dense := 0, false
	for i, r := range s {
		if d := Dense(r); d != dense {
			yield.part(s[start:i], dense)
			start, dense = i, d
		}
	}
	yield.part(s[start:], dense)
}

func (yield splitter) part(s string, dense bool) {
	switch {
	case s == "":
	case dense:
		yield.pairs(s)
	default:
		yield.identifier(s)
	}
}

// Dense reports whether r belongs to a script without spaces, or to Hangul, which
// attaches particles to its words.
func Dense(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

// pairs calls yield with the overlapping pairs of characters of s, or s if it is one character.
func (yield splitter) pairs(s string) {
	_, first := utf8.DecodeRuneInString(s)
	if first == len(s) {
		yield(s, Pair)
		return
	}
	for i, n := 0, first; i+n < len(s); {
		_, next := utf8.DecodeRuneInString(s[i+n:])
		yield(s[i:i+n+next], Pair)
		i, n = i+n, next
	}
}

// identifier calls yield with the parts of a camel-case word and the whole word.
func (yield splitter) identifier(s string) {
	if isLower(s[1:]) { // most words; the case of the first letter is irrelevant
		yield(s, Word)
		return
	}
	n := camelPart(s)
	if n == len(s) {
		yield(s, Word)
		return
	}
	for rest := s; rest != ""; n = camelPart(rest) {
		yield(rest[:n], Word)
		rest = rest[n:]
	}
	yield(s, Whole)
}

// isLower reports whether s is ASCII without capital letters.
func isLower(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// camelPart returns the length of the first part of a camel-case word: "get"
// of getName, "PDF" of PDFReader, all of "PDFs" and of "utf8".
func camelPart(s string) int {
	prev, prevAt := rune(0), 0
	for i, r := range s {
		switch {
		case i == 0:
		case unicode.IsUpper(r) && !unicode.IsUpper(prev) && !isApostrophe(prev):
			return i
		case unicode.IsLower(r) && unicode.IsUpper(prev) && prevAt > 0 && !pluralEnd(s[i:]):
			return prevAt
		}
		prev, prevAt = r, i
	}
	return len(s)
}

// pluralEnd reports whether s starts with the "s" of an acronym's plural: at the end of
// the word or before its next part.
func pluralEnd(s string) bool {
	if s[0] != 's' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[1:])
	return !unicode.IsLower(r)
}

// Fold removes compatibility forms and the accents of Latin and Greek letters. Other
// marks stay, because they are vowels in many scripts.
func Fold(s string) string {
	at := beyondASCII(s)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for ; at >= 0; at = beyondASCII(s) {
		// Start one byte earlier: a mark changes the letter before it, but no other ASCII.
		start, end := max(at-1, 0), at
		for end < len(s) && s[end] >= utf8.RuneSelf {
			end++
		}
		b.WriteString(s[:start])
		b.WriteString(foldPart(s[start:end]))
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}

// beyondASCII returns the index of the first byte beyond ASCII, or -1.
func beyondASCII(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return i
		}
	}
	return -1
}

// foldPart folds a part of a text. The part must not end before a mark.
func foldPart(s string) string {
	var b strings.Builder
	drop := false
	for _, r := range norm.NFKD.String(s) {
		if unicode.Is(unicode.Mn, r) && drop {
			continue
		}
		drop = unicode.In(r, unicode.Latin, unicode.Greek)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
