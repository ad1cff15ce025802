package intent

import (
	_ "embed"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// requestWords holds a line for each word that tells requests apart, sorted by word: the
// word, a tab, and its weight in log odds. "^word" is the word at the start of a prompt.
// Names in brackets are no words, see RequestFigures. cmd/skills-fit writes the file.
//
//go:embed request.txt
var requestWords string

const (
	// maxRequest is how many bytes of a prompt Request reads: its start and its end,
	// where people say what they want.
	maxRequest = 2000
	// MostRequest bounds the log odds of Request, because a hundred words are no proof.
	MostRequest = 6
)

// RequestSum is a checksum of the weights of Request: what was measured with other weights
// no longer holds.
func RequestSum() uint32 { return crc32.ChecksumIEEE([]byte(requestWords)) }

// Request returns how likely a prompt is to ask for a task for which instructions can
// help, as log odds: above 0 for "set up alerts for our checkout", below for "what does
// this regex do". It knows nothing about the skills of a catalog.
func Request(text string) float64 {
	odds := weight(requestWords, "(base)")
	RequestFigures(text, func(name string, value float64) { odds += value * weight(requestWords, name) })
	return max(-MostRequest, min(MostRequest, odds))
}

// RequestFigures calls f for each figure of a prompt that Request weighs, once: the words
// that it has, with the value 1, the logarithm of their number, and whether it ends as a question.
func RequestFigures(text string, f func(name string, value float64)) {
	text = strings.TrimSpace(tidy.CutMiddle(text, maxRequest))
	seen := make(map[string]bool)
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			f(name, 1)
		}
	}
	words.Split(text, func(word string, kind words.Kind) {
		if kind == words.Whole {
			return // its parts are more frequent
		}
		word = strings.ToLower(word)
		if len(seen) == 0 {
			add("^" + word)
		}
		add(word)
	})
	f("(length)", math.Log(1+float64(len(seen)))) // not by blanks: some scripts have none
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") {
		f("(question)", 1)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r >= '\u0370' }) {
		f("(other script)", 1)
	}
}

// weight returns the weight of a name in a list such as requestWords, 0 if it has none. It
// searches in the text, so that a start of the program costs nothing.
func weight(list, name string) float64 {
	low, high := 0, len(list) // both at starts of lines
	for low < high {
		start := low + strings.LastIndexByte(list[low:(low+high)/2], '\n') + 1
		end := start + strings.IndexByte(list[start:], '\n')
		word, value, _ := strings.Cut(list[start:end], "\t")
		switch c := strings.Compare(name, word); {
		case c == 0:
			w, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0 // a test reads the whole list
			}
			return w
		case c < 0:
			high = start
		default:
			low = end + 1
		}
	}
	return 0
}
