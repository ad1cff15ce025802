package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// clauseWords is how many words that count a clause has at least: fewer say no task.
const clauseWords = 3

// Clauses cuts a prompt into the clauses that may each be a task: at the ends of sentences and lines,
// at semicolons, and before words that put one task beside another one. At commas it does not: what
// stands between them is mostly a part of one task. What has fewer than three words that count belongs to the
// clause behind it, and to the one before if such a word begins it or it is the last. A prompt of one clause has none.
func Clauses(text string) (list []string) {
	var starts []int
	var analyzer words.Analyzer
	start, from, count, joined := 0, 0, 0, false // count is how many words that count the clause has so far
	for first, next := range words.Runs(text) {
		word := text[first:next]
		joins := from > 0 && joins()[strings.ToLower(word)]
		if ends := joins || separates(text[from:first]); ends && (count >= clauseWords || joined) {
			if count >= clauseWords { // else it is the end of the clause before, such as "and causes"
				starts = append(starts, start)
			}
			start, count, joined = first, 0, joins
		}
		count, from = count+len(analyzer.Terms(word)), next
	}
	if count >= clauseWords {
		starts = append(starts, start)
	}
	if len(starts) < 2 {
		return nil
	}
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		list = append(list, strings.Trim(text[start:end], " \t\r\n-*•"))
	}
	return list
}

// separates reports whether what stands between two words ends a clause.
func separates(between string) bool {
	return strings.ContainsAny(between, "\n;；") || strings.ContainsFunc(between, func(r rune) bool {
		return unicode.Is(unicode.STerm, r) && (r >= utf8.RuneSelf || strings.ContainsRune(between, ' '))
	})
}

// joins are words that put one task beside another one.
var joins = words.Set(`and then also plus afterwards finally additionally
	und dann danach außerdem sowie anschließend et puis ensuite aussi y luego después además también e depois também além
	и затем потом также`)
