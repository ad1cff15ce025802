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

// maxTelling is how many words of advice a person takes in.
const maxTelling = 6

// Telling returns the first words of a list that a description could have: not those that say how, when or how
// much, which fit any task, no numbers, and no function words of any language. The words are in lower case.
func Telling(list []string) (telling []string) {
	for _, w := range list {
		if len(telling) < maxTelling && !vague()[w] && !isFunctionWord(w) && !(len(w) > len("only") && strings.HasSuffix(w, "ly")) && (w[0] < '0' || w[0] > '9') {
			telling = append(telling, w)
		}
	}
	return telling
}

var vague = Set(`
	able actually almost already alone always another anybody anyone anything around away back bad best better big bit bunch
	come comes could don't else enough ever every everybody everyone everything fine first five four give go goes going gone
	good great half hello help here's hey hi high hour hours i'm keep keeps kind know large last late later least less long look
	looks lot lots low make makes many maybe might minute minutes month months much must need needs never new next nice
	nobody nothing number numbers old often one's others part pick put quick quite rather second see seem seems seven several show six small
	someone somebody something sometimes soon sort start still stop sure take tell ten thing things think third three time
	times today tomorrow tonight try twice two use used uses using want wants way ways week weeks well whatever without work
	bigger faster fewer higher larger longer lower shorter slower smaller
	works worse worst would year years yes yesterday yet`)
