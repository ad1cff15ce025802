// Package gloss reads prompts in other languages as English words. The field calls it dictionary-based query
// translation: a list gives the English words that a word may stand for, and weights as in probabilistic
// structured queries (Darwish and Oard) say how likely each of them is meant. Its one rule: what is decided is
// decided for each word. English words, names and code stay as they are, and a prompt in English has no reading.
package gloss

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A Reading says what the words of a text mean in English.
type Reading struct {
	Words     []Word   // those that have a reading, in the order of the text
	Languages []string // of these words, as codes such as "de"; that of most words first

	text, english string
}

// A Word is a word or a phrase of a text with the English words that it may stand for. Of a compound, each
// part is a Word at the same place.
type Word struct {
	Start, End int // in the text
	Language   string
	Senses     []Sense // best first, each another English word
}

// A Sense is one English word that a word may stand for.
type Sense struct {
	English string  // perhaps several words
	Weight  float64 // compared with the best sense, which has 1
}

const (
	// maxText is how many bytes of a text are read: its start and its end, where people say what they want.
	maxText = 4000
	// maxSenses is how many senses a word has at most, and leastSense the least weight of one.
	maxSenses  = 4
	leastSense = .2
)

// Read reads a text by the lists of the program. It returns nil if no word has a reading. Any text is safe.
func Read(text string) *Reading { return builtin().read(text) }

func (t *table) read(text string) *Reading {
	r := reader{table: t, looked: make(map[wordOf]entries), first: make(map[wordOf]bool), cut: make(map[string][]part)}
	r.split(tidy.CutMiddle(text, maxText))
	if !r.chooseLanguages() {
		return nil
	}
	r.read()
	if len(r.out) == 0 {
		return nil
	}
	reading := &Reading{Words: r.out, Languages: r.languages(), text: r.text}
	reading.english = reading.translated()
	return reading
}

// HasEnglish reports whether an English word in lower case is in the lists.
func HasEnglish(word string) bool {
	_, ok := builtin().english(word)
	return ok
}

// English returns the text with the best sense in place of each word that has a reading.
func (r *Reading) English() string { return r.english }

func (r *Reading) translated() string {
	var b strings.Builder
	at := 0
	for i, w := range r.Words {
		if i > 0 && w.Start == r.Words[i-1].Start { // the next part of a compound
			b.WriteByte(' ')
			b.WriteString(w.Senses[0].English)
			continue
		}
		b.WriteString(r.kept(at, w.Start))
		pad(&b)
		b.WriteString(w.Senses[0].English)
		if at = w.End; at < len(r.text) && !isStop(r.text[at:]) {
			b.WriteByte(' ')
		}
	}
	b.WriteString(r.kept(at, len(r.text)))
	return b.String()
}

// Typed returns a word as typed.
func (r *Reading) Typed(w Word) string { return r.text[w.Start:w.End] }

// Language returns the name of the language with a code, or else the code.
func Language(code string) string {
	names := "de German es Spanish fr French ja Japanese ko Korean pt Portuguese ru Russian zh Chinese"
	list := strings.Fields(names)
	if i := slices.Index(list, code); i >= 0 {
		return list[i+1]
	}
	return code
}

// Embeddable returns the text as a model of English should read it: English, without the words of other scripts that have no
// reading. If most words have none, it returns the text as it is.
func (r *Reading) Embeddable() string {
	unread := 0
	english := strings.Map(func(c rune) rune {
		if kindOfLetter(c) != latin && unicode.IsLetter(c) {
			unread++
			return -1
		}
		return c
	}, r.English())
	const letters = 3 // of a word, at least
	if unread > 2*letters*len(r.Words) {
		return r.text
	}
	return strings.Join(strings.Fields(english), " ")
}

// ownForm is how much more an entry says that has the form of the word than one with another ending.
const ownForm = 3

// sensesOf returns the senses of some entries, best first.
func (t *table) sensesOf(list entries, form string) []Sense {
	var senses []Sense
	hash := formHash(form)
	for i := range list.len() {
		e := list.at(i)
		english, weight := t.word(e.word), e.weight()
		if form != "" && e.form == hash {
			weight *= ownForm
		}
		if at := slices.IndexFunc(senses, func(s Sense) bool { return s.English == english }); at >= 0 {
			senses[at].Weight = max(senses[at].Weight, weight)
		} else {
			senses = append(senses, Sense{english, weight})
		}
	}
	slices.SortStableFunc(senses, func(a, b Sense) int { return cmp.Compare(b.Weight, a.Weight) })
	best := senses[0].Weight
	for i := range senses {
		if senses[i].Weight /= best; i == maxSenses || senses[i].Weight < leastSense {
			return senses[:i]
		}
	}
	return senses
}

// languages returns the codes of the languages of the words that were read, that of most words first.
func (r *reader) languages() (codes []string) {
	n := make(map[string]int)
	for _, w := range r.out {
		if n[w.Language]++; n[w.Language] == 1 {
			codes = append(codes, w.Language)
		}
	}
	slices.SortStableFunc(codes, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	return codes
}
