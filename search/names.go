package search

import (
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// named returns the skills that the prompt names. A name of several words
// ("pdf-forms") counts wherever it stands. A single word may be an everyday word, so
// it counts only where it is marked as a name: as the whole prompt, in quotes or
// backticks, after $ or @, after / as the first word (elsewhere that is a path), or
// next to the word "skill".
func named(v *snapshot.View, text string) map[int]bool {
	found := make(map[int]bool)
	key := words.NameKey(text)
	add := func(name string) {
		if i, ok := v.Find(name); ok {
			found[i] = true
		}
	}
	if len(key) <= 4*200 { // a name has at most 64 characters, malformed ones a little more
		add(key)
		add(strings.Join(strings.Fields(key), "-"))
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
			command := i == 0 && strings.HasPrefix(word, "/")
			if marked || command || strings.ContainsAny(name, "-_:") || mentioned && besideSkill(fields, i) {
				add(words.NameKey(name))
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

// besideSkill reports whether the word at i stands next to "skill", as in "the
// pdf skill" and "skill: pdf".
func besideSkill(fields []string, i int) bool {
	is := func(j int) bool {
		if j < 0 || j >= len(fields) {
			return false
		}
		w, _ := bareName(fields[j])
		return w == "skill"
	}
	return is(i-1) || is(i+1)
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
	return v.Prefixed(key, func(string) bool { return true })
}
