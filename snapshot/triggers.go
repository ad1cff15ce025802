package snapshot

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// Two sections hold the triggers of skill.Triggers. A snapshot without triggers has them
// empty.
//
// triggerSection holds documents by phrase, like encodeSets. A phrase is the terms of
// keywords or verbs with blanks between them. Each document has its distance to the one
// before, its claim and how many phrases it has in all. The claim is twice the index of the
// phrase in its list, plus 1 for verbs.
//
// patternSection holds the patterns, the cheapest first: cost, document, index in the list
// and text of each.

// maxPhrase is how many terms of a phrase count. A longer one is a sentence.
const maxPhrase = 12

// A triggerTable collects the triggers of documents.
type triggerTable struct {
	words    words.Analyzer
	phrases  map[string]*set
	patterns []Pattern
}

// A Pattern is a regular expression among the triggers of a document.
type Pattern struct {
	Doc, Index int    // Index is its place in Triggers.Patterns
	Cost       int    // see skill.CheckPattern
	Text       string // accepted by skill.CheckPattern when it was written
}

// A Claim is a phrase that a text has and a document claims.
type Claim struct {
	Doc, Index   int
	Verb         bool // it is in Triggers.Verbs, otherwise in Keywords; Index is its place there
	Start, Terms int  // where the text has it first
	Phrases      int  // how many phrases the document has
}

func (t *triggerTable) add(doc int, triggers *skill.Triggers) {
	if triggers.Empty() {
		return
	}
	all := len(triggers.Keywords) + len(triggers.Verbs)
	for verb, list := range [][]string{triggers.Keywords, triggers.Verbs} {
		for i, text := range list {
			terms := t.words.Terms(text)
			if len(terms) == 0 || len(terms) > maxPhrase {
				continue
			}
			s := addTo(t.phrases, strings.Join(terms, " "), doc)
			s.entries = appendInt(appendInt(s.entries, 2*i+verb), all)
		}
	}
	for i, text := range triggers.Patterns {
		if cost, err := skill.CheckPattern(text); err == nil {
			t.patterns = append(t.patterns, Pattern{Doc: doc, Index: i, Cost: cost, Text: text})
		}
	}
}

// encode returns both sections.
func (t *triggerTable) encode() (phrases, patterns []byte) {
	if len(t.phrases) > 0 {
		phrases = encodeSets(t.phrases)
	}
	slices.SortStableFunc(t.patterns, func(a, b Pattern) int { return cmp.Compare(a.Cost, b.Cost) })
	for _, p := range t.patterns {
		patterns = appendInt(appendInt(appendInt(patterns, p.Cost), p.Doc), p.Index)
		patterns = appendString(patterns, p.Text)
	}
	return phrases, patterns
}

// Claims returns the claims of documents to a text that has these terms, by the place of the
// phrase, then by document.
func (r *Reader) Claims(terms []string) (list []Claim, err error) {
	if r.s.header.sizes[triggerSection] == 0 {
		return nil, nil
	}
	f := phraseFinder{namedSets: r.s.sets(triggerSection), seen: make(map[int]bool)}
	for start := range terms {
		f.from(terms, start)
	}
	return f.found, f.err
}

// A phraseFinder finds the phrases of a text in the sorted phrases of a snapshot.
type phraseFinder struct {
	namedSets
	seen  map[int]bool
	found []Claim
	key   []byte
}

// from finds the phrases that begin at a term of the text.
func (f *phraseFinder) from(terms []string, start int) {
	f.key = f.key[:0]
	at := 0
	for end := start; end < min(len(terms), start+maxPhrase); end++ {
		if end > start {
			f.key = append(f.key, ' ')
		}
		f.key = append(f.key, terms[end]...)
		at += sort.Search(f.n-at, func(i int) bool {
			c, _ := f.at(at + i)
			return string(c.block()) >= string(f.key)
		})
		if f.err != nil || at == f.n {
			return
		}
		c, from := f.at(at)
		text := c.block()
		if len(text) < len(f.key) || string(text[:len(f.key)]) != string(f.key) {
			return
		}
		if len(text) == len(f.key) && !f.seen[at] {
			f.seen[at] = true
			f.claims(c, from, start, end+1-start)
		}
	}
}

// claims reads the documents of a phrase.
func (f *phraseFinder) claims(c cursor, off, start, terms int) {
	for doc := 0; len(c.b) > 0 && f.err == nil; {
		doc += c.uvarint()
		claim, phrases := c.uvarint(), c.uvarint()
		if c.bad || doc >= f.s.header.docs {
			f.err = f.s.damaged(triggerSection, off)
			return
		}
		f.found = append(f.found, Claim{Doc: doc, Index: claim / 2, Verb: claim%2 == 1, Start: start, Terms: terms, Phrases: phrases})
	}
}

// Patterns returns the patterns of all documents, the cheapest first, then by document.
func (r *Reader) Patterns() (list []Pattern, err error) {
	data, err := r.s.bytes(patternSection, 0, r.s.header.sizes[patternSection])
	for c := (cursor{b: data}); len(c.b) > 0; {
		p := Pattern{Cost: c.uvarint(), Doc: c.uvarint(), Index: c.uvarint(), Text: string(c.block())}
		if c.bad || p.Doc >= r.s.header.docs {
			return nil, r.s.damaged(patternSection, 0)
		}
		list = append(list, p)
	}
	return list, err
}
