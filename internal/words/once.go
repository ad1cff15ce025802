package words

import "unicode/utf8"

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
