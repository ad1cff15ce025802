package search

import (
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// mentions holds the skills that a prompt names.
type mentions struct {
	// certain are the skills that the prompt surely means: the whole prompt is the name,
	// or the name stands after / or $ as the first word, or beside the word "skill".
	certain map[int]bool
	// likely are the skills whose names stand in the prompt and look like names: they
	// are in quotes or backticks, after $ or @, or have several parts ("pdf-forms").
	// All of these may be something else ("e-commerce", a variable, a quoted word).
	likely map[int]bool
}

// namesIn returns the skills that the text names.
func namesIn(v *snapshot.View, text string) mentions {
	found := mentions{make(map[int]bool), make(map[int]bool)}
	add := func(to map[int]bool, name string) {
		if i, ok := v.Names().Find(words.NameKey(name)); ok {
			to[i] = true
		}
	}
	if key := words.NameKey(text); len(key) <= 4*200 { // a name has at most 64 characters, malformed ones a little more
		add(found.certain, key)
		add(found.certain, strings.Join(strings.Fields(key), "-"))
	}
	lower := strings.ToLower(text)
	cuts := [][]string{strings.Fields(lower)}
	if strings.ContainsFunc(lower, words.Dense) { // in scripts without spaces a name has no spaces around it either
		cuts = append(cuts, strings.FieldsFunc(lower, func(r rune) bool { return unicode.IsSpace(r) || words.Dense(r) }))
	}
	mentioned := strings.Contains(lower, "skill")
	for _, fields := range cuts {
		for i, word := range fields {
			name, marked := bareName(word)
			switch {
			case i == 0 && strings.IndexAny(word, "/$") == 0, mentioned && besideSkill(fields, i):
				add(found.certain, name)
			case marked, strings.ContainsAny(name, "-_:"):
				add(found.likely, name)
			}
		}
	}
	return found
}

// bareName strips the punctuation around a word, and reports whether it marks
// the word as a name.
func bareName(word string) (name string, marked bool) {
	const quotes = "`\"'“”‘’«»„「」"
	rest := strings.TrimLeftFunc(word, words.IsSeparator)
	name = strings.TrimRightFunc(rest, words.IsSeparator)
	before, after := word[:len(word)-len(rest)], rest[len(name):]
	// A quote on one side only belongs to a longer quotation.
	quoted := strings.ContainsAny(before, quotes) && strings.ContainsAny(after, quotes)
	return name, quoted || strings.IndexAny(word, "$@") == 0
}

// besideSkill reports whether the word at i stands next to "skill", as in "the pdf
// skill" and "skill: pdf". In "a good skill" it is no name.
func besideSkill(fields []string, i int) bool {
	is := func(j int, words ...string) bool {
		if j < 0 || j >= len(fields) {
			return false
		}
		w, _ := bareName(fields[j])
		return slices.Contains(words, w)
	}
	indefinite := func(j int) bool { return is(j, "a", "an", "another", "any", "every", "no", "some") }
	return is(i+1, "skill") && !indefinite(i-1) || is(i-1, "skill") && !indefinite(i-2)
}

// completions returns the skills whose names begin with the prompt, if the prompt is a
// single word of at least 3 bytes: somebody may be typing a name into a search box.
func completions(v *snapshot.View, text string) []int {
	if strings.ContainsAny(strings.TrimSpace(text), " \t\n") {
		return nil // the key would replace these characters
	}
	key := words.NameKey(text)
	if len(key) < 3 || strings.ContainsFunc(key, unicode.IsSpace) {
		return nil
	}
	return v.Names().Prefixed(key)
}
