package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// minRepeat is the least number of words in a run that Once takes for a repetition.
// Shorter ones ("when the user") are common in any text.
const minRepeat = 4

// Once returns a text without the runs of words that it already had before: a text that
// is written twice over is the same text once. Case and punctuation make no difference.
func Once(text string) string {
	hashes, spans := hashesOf(text)
	seen := make(map[[minRepeat]uint64]int, len(hashes))
	out, kept := []byte(nil), 0 // text[:kept] is in out or left out
	for i := 0; i+minRepeat <= len(hashes); {
		run := [minRepeat]uint64(hashes[i : i+minRepeat])
		first, again := seen[run]
		if !again {
			seen[run] = i
			i++
			continue
		}
		end := i
		for end < len(hashes) && hashes[first] == hashes[end] {
			first, end = first+1, end+1
		}
		out = append(out, text[kept:spans[i-1][1]]...)
		kept, i = spans[end-1][1], end
	}
	if kept == 0 {
		return text
	}
	return string(append(out, text[kept:]...))
}

// hashesOf returns a hash of each word of a text, and where the word starts and ends. A
// character of a script without spaces is a word.
func hashesOf(text string) (hashes []uint64, spans [][2]int) {
	add := func(start, end int) {
		if start < end {
			hashes, spans = append(hashes, Hash(NameKey(text[start:end]))), append(spans, [2]int{start, end})
		}
	}
	for start, end := range Runs(text) {
		from := start
		for at, r := range text[start:end] {
			if at += from; Dense(r) {
				add(start, at)
				start = at + utf8.RuneLen(r)
				add(at, start)
			}
		}
		add(start, end)
	}
	return hashes, spans
}

// Few is how often a text may have a word without a doubt: a word that it has more often is
// pressed on the reader, and counts once.
const Few = 2

// Unpressed returns a text in which each word that it has more than Few times stands only
// where it stands first. Case and punctuation around words make no difference.
func Unpressed(text string) string {
	fields := strings.Fields(text)
	times := make(map[string]int, len(fields))
	pressed := false
	for _, f := range fields {
		if k := pressKey(f); k != "" {
			times[k]++
			pressed = pressed || times[k] > Few
		}
	}
	if !pressed {
		return text
	}
	kept := fields[:0]
	for _, f := range fields {
		k := pressKey(f)
		n := times[k]
		if k == "" || n >= 0 {
			kept = append(kept, f)
		}
		if n > Few {
			times[k] = -1
		}
	}
	return strings.Join(kept, " ")
}

// pressKey returns what occurrences of a word have in common; "" for a stop word, which
// always stays.
func pressKey(field string) string {
	k := strings.ToLower(strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	if stopWords()[k] {
		return ""
	}
	return k
}
