package session

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// continues reports whether a prompt that found nothing by itself may mean the best skill that it finds together with an
// earlier one: it says that it goes on, or too little to be a task of its own, or at least half of its words
// are of that skill. Otherwise it is a task for which there is no skill, such as "and make the tests pass".
func continues(text string, best *search.Hit) bool {
	m := &best.Matched
	own, shared := 0, 0
	for _, t := range words.Terms(strings.Join(words.Telling(words.Spelled(text, words.Terms(text))), " ")) {
		if own++; slices.Contains(m.Name, t) || slices.Contains(m.Description, t) || slices.Contains(m.Tags, t) {
			shared++
		}
	}
	return own <= 1 || 2*shared >= own || goesOn(text)
}

// goesOn reports whether a prompt says that it is about the same as the one before it. One in a script without blanks
// between words is believed.
func goesOn(text string) bool {
	on, first := false, true
	words.Split(text, func(word string, kind words.Kind) {
		word = strings.ToLower(word)
		on = on || kind == words.Pair || onward()[word] || first && partial()[word]
		first = false
	})
	return on
}

// onward are words that say so anywhere, in languages that clients are used in.
var onward = words.Set(`
	same again too also other another second third both likewise once still
	gleiche gleichen selbe selben auch noch nochmal andere anderen ebenso zweite zweiten
	mismo misma también otro otra otros otras
	même mêmes aussi autre autres encore
	stesso stessa anche altro altra ancora
	mesmo mesma também outro outra novamente
	zelfde hetzelfde ook andere nog
	samo też także inny inna jeszcze
	тоже также другой другого другую еще ещё снова
	aynı ayrıca diğer tekrar`)

// partial are words with which a prompt begins that is no sentence of its own.
var partial = words.Set(`
	in for with without as from about on by to
	für mit ohne im auf als para con sin en pour avec sans per senza com sem voor met zonder w dla для с в için ile`)
