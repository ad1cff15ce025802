package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A text that says less than this needs its next sentence too.
const (
	enoughWords = 6
	enoughChars = 25
)

// FirstSentence returns the first sentence of s on one line. If that says little ("PDF
// tools."), the next sentence follows, and so on. If they are longer than most, the rest is
// cut off, between words where it can be, and "…" stands for it. A character of a script
// without spaces counts as two, because it says as much.
func FirstSentence(s string, most int) string {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && (end == 0 || !saysEnough(s[:end])) {
		end += SentenceEnd(s[end:])
	}
	return clip(tidy.Line(s[:end]), most)
}

func saysEnough(s string) bool {
	n, dense, chars := 0, 0, 0
	for field := range strings.FieldsSeq(s) {
		if strings.ContainsFunc(field, IsLetter) { // no dash
			n++
		}
	}
	for _, r := range s {
		chars += weight(r)
		if Dense(r) {
			dense++
		}
	}
	return n+dense/2 >= enoughWords && chars >= enoughChars
}

// weight returns how many characters r counts as.
func weight(r rune) int {
	if Dense(r) {
		return 2
	}
	return 1
}

// SentenceEnd returns where the first sentence of s ends: behind its full stop and what
// closes with it, at an empty line, or at the end of s.
func SentenceEnd(s string) int {
	for i, r := range s {
		switch {
		case r == '\n' && i > 0 && strings.HasPrefix(strings.TrimLeft(s[i+1:], " \t\r"), "\n"):
			return i + 1
		case r < utf8.RuneSelf && r != '.' && r != '!' && r != '?' || !unicode.Is(unicode.STerm, r):
			continue
		}
		end := i + utf8.RuneLen(r)
		rest := strings.TrimLeftFunc(s[end:], closes)
		if endsSentence(s[:i], r, rest, len(rest) < len(s)-end) {
			return len(s) - len(rest)
		}
	}
	return len(s)
}

// closes reports whether r may stand between the full stop and the next sentence.
func closes(r rune) bool {
	return unicode.In(r, unicode.Pe, unicode.Pf, unicode.STerm) || r == '"' || r == '\'' || r == '*' || r == '`'
}

// endsSentence reports whether the stop behind before ends a sentence. rest is what
// follows; closed means that quotes, brackets or more stops stand in between.
func endsSentence(before string, stop rune, rest string, closed bool) bool {
	next, _ := utf8.DecodeRuneInString(strings.TrimSpace(rest))
	blank := rest == "" || strings.TrimLeftFunc(rest, unicode.IsSpace) != rest
	switch {
	case rest == "":
		return true
	case stop >= utf8.RuneSelf: // these need no blank behind them, but may stand in a quotation
		return blank || !closed || !unicode.IsLetter(next)
	case !blank || unicode.IsLower(next):
		return false
	}
	return stop != '.' || !abbreviated(before)
}

// abbreviations are words after which a full stop does not end the sentence. Abbreviations
// of single letters ("e.g.") are recognised by their form and need no entry.
var abbreviations = []string{"approx", "ca", "cf", "dr", "eg", "esp", "fig", "ie", "incl", "mr", "mrs", "ms", "prof", "resp", "st", "vs"}

// abbreviated reports whether the full stop behind s belongs to its last word: an
// abbreviation, an initial, or the number of a list item.
func abbreviated(s string) bool {
	word := s[len(strings.TrimRightFunc(s, func(r rune) bool { return IsLetter(r) || r == '.' })):]
	if slices.Contains(abbreviations, strings.ToLower(word)) {
		return true
	}
	for part := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(part) != 1 {
			return false
		}
	}
	return true
}

// clip returns s, or its start and "…", at most n characters in all.
func clip(s string, n int) string {
	end, length := 0, 0 // of what fits with the "…"
	for i, r := range s {
		if length += weight(r); length < n {
			end = i + utf8.RuneLen(r)
		}
	}
	if length <= n {
		return s
	}
	short := s[:end]
	if at := strings.LastIndexByte(short, ' '); at > end*2/3 {
		short = short[:at]
	}
	return strings.TrimRight(short, " ,;:([–—-/") + "…"
}
