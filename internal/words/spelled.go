package words

import (
	"slices"
	"strings"
)

// Spelled returns terms of a text as the text spells them, in lower case and in its order:
// people do not know their words by the stems.
func Spelled(text string, terms []string) []string {
	var a Analyzer
	var out, seen []string
	Split(text, func(word string, kind Kind) {
		term := a.Term(word, kind)
		if term != "" && slices.Contains(terms, term) && !slices.Contains(seen, term) {
			seen, out = append(seen, term), append(out, strings.ToLower(word))
		}
	})
	return out
}
