package evals

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Bounds of what is proposed.
const (
	maxTriggers = 5
	phraseTerms = 3 // words of a phrase that say something
)

// Triggers proposes phrases for the triggers of a skill, given how its prompts fare and the
// triggers that it has: of each prompt that the skill is not offered for, the few words that it lacks
// most. A phrase that a near miss has too is left out. A person must judge whether others would say so.
func Triggers(list []Outcome, had []string) (phrases []string) {
	for _, o := range list {
		if !o.Trigger || o.Right || o.Result != Lost && o.Result != Below {
			continue
		}
		p := phraseOf(o.Prompt, words.Telling(o.Missing))
		near := slices.ContainsFunc(list, func(o Outcome) bool { return !o.Trigger && hasPhrase(o.Prompt, p) })
		known := slices.ContainsFunc(had, func(t string) bool { return hasPhrase(t, p) || hasPhrase(p, t) })
		if p != "" && !near && !known && !slices.Contains(phrases, p) && len(phrases) < maxTriggers {
			phrases = append(phrases, p)
		}
	}
	return phrases
}

// A spelt is a word of a prompt.
type spelt struct{ word, term string } // term "" means a stop word

// speltOf returns the words of a text in lower case.
func speltOf(text string) (list []spelt) {
	var a words.Analyzer
	words.Split(text, func(word string, kind words.Kind) {
		if kind == words.Word {
			list = append(list, spelt{strings.ToLower(word), a.Term(word, kind)})
		}
	})
	return list
}

// phraseOf returns the part of a prompt with the most of some words, the last of equal ones:
// people name things behind what they want. "" means that no part has enough to say.
func phraseOf(prompt string, lacking []string) string {
	list := speltOf(prompt)
	best, most := "", 0
	for from := range list {
		terms, lacks, phrase := 0, 0, ""
		var read []string
		for _, w := range list[from:] {
			if read = append(read, w.word); w.term == "" {
				continue
			}
			if slices.Contains(lacking, w.word) {
				lacks++
			}
			if terms, phrase = terms+1, strings.Join(read, " "); terms == phraseTerms {
				break
			}
		}
		if list[from].term != "" && terms > 1 && lacks > 0 && lacks >= most {
			best, most = phrase, lacks
		}
	}
	return best
}

// hasPhrase reports whether a text has the words of a phrase that say something, one behind the
// other.
func hasPhrase(text, phrase string) bool {
	terms := func(text string) string { return " " + strings.Join(words.Terms(text), " ") + " " }
	return strings.Contains(terms(text), terms(phrase))
}
