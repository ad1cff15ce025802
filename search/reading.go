package search

import (
	"iter"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// maxOthers is how many further readings of a prompt count.
	maxOthers = 64
	// otherSense and asTyped are how much a skill is worth that has another sense of a word than the best, and one
	// that has the word as typed, compared with one that has the best sense.
	otherSense = .5
	asTyped    = 1.
)

// An other is a term that a word of the prompt may stand for besides the term of its best sense: that of another
// sense, or the word as typed, which counts where a skill has this very word. A word counts once, however many readings it has.
type other struct {
	text string
	of   int     // index of the term of the best sense in prompt.unique
	part float64 // how much it counts, compared with that
	idf  float64 // weight in BM25; 0 if it does not count
}

// A Read says what a word of a prompt was read as.
type Read struct {
	Typed   string   `json:"typed"`
	English []string `json:"english"` // the likeliest first; of a compound, its parts
}

// String returns "Rechnung → invoice, bill".
func (r Read) String() string { return r.Typed + " → " + strings.Join(r.English, ", ") }

// readingsOf returns the words of a prompt in another language, without those that say nothing, and what they were read as.
func readingsOf(r *gloss.Reading) (list []Read) {
	if r == nil {
		return nil
	}
	for i, w := range r.Words {
		var english []string
		for _, s := range w.Senses {
			if len(words.Terms(s.English)) > 0 {
				english = append(english, s.English)
			}
		}
		typed := r.Typed(w)
		switch known := slices.IndexFunc(list, func(o Read) bool { return o.Typed == typed }); {
		case len(english) == 0 || strings.EqualFold(english[0], typed):
		case i > 0 && w.Start == r.Words[i-1].Start && known >= 0:
			list[known].English = append(list[known].English[:1:1], english[0])
		case known < 0:
			list = append(list, Read{typed, english})
		}
	}
	return list
}

// Spelled returns terms as the prompt spells them, or as the words that it was read as.
func (r *Ranking) Spelled(prompt string, terms []string) []string {
	for _, w := range r.Readings {
		prompt += "\n" + strings.Join(w.English, " ")
	}
	return words.Spelled(prompt, terms)
}

// kindOf returns the kind of a prompt: a reply is one by its words or by their reading.
func kindOf(text string, reading *gloss.Reading) intent.Kind {
	kind := intent.Of(text)
	if kind == intent.Ordinary && reading != nil && intent.Of(reading.English()) == intent.Reply {
		return intent.Reply
	}
	return kind
}

// othersOf returns the further readings of the words of a prompt. terms are those of the best senses.
func othersOf(a *words.Analyzer, reading *gloss.Reading, terms []string) (list []other) {
	if reading == nil {
		return nil
	}
	add := func(found []string, of int, part float64) {
		for _, t := range found {
			known := slices.Contains(terms, t) || slices.ContainsFunc(list, func(o other) bool { return o.text == t })
			if !known && len(list) < maxOthers {
				list = append(list, other{text: t, of: of, part: part / float64(len(found))})
			}
		}
	}
	for i, w := range reading.Words {
		best := a.Terms(w.Senses[0].English)
		if len(best) == 0 {
			continue
		}
		of := slices.Index(terms, best[0])
		if of < 0 {
			continue
		}
		if i == 0 || w.Start != reading.Words[i-1].Start {
			add(a.Terms(reading.Typed(w)), of, asTyped)
		}
		for _, s := range w.Senses[1:] {
			add(a.Terms(s.English), of, otherSense*s.Weight)
		}
	}
	return list
}

// frequencies returns in how many skills each term occurs, but for others. One that no skill has is as frequent as the
// most frequent of its others.
func (p *prompt) frequencies() []int {
	docs := p.docs[:p.first]
	if len(p.others) == 0 {
		return docs
	}
	docs = slices.Clone(docs)
	for i, o := range p.others {
		if p.docs[o.of] == 0 {
			docs[o.of] = max(docs[o.of], p.docs[p.first+i])
		}
	}
	return docs
}

// placeOthers finds the places and weights of the others whose terms are searched for.
func (p *prompt) placeOthers() {
	for i := range p.others {
		o, docs := &p.others[i], p.docs[p.first+i]
		if at := p.place[o.of]; at >= 0 && docs > 0 {
			p.place[p.first+i] = len(p.terms) + i
			o.idf = o.part * min(p.terms[at].idf, snapshot.InverseFrequency(docs, max(p.skills, fewSkills)))
		}
	}
}

// counted yields the indexes in unique of the terms that are searched for, and how much of its weight each counts.
func (p *prompt) counted() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, t := range p.terms {
			if !yield(t.at) {
				return
			}
		}
		for i, o := range p.others {
			if o.idf > 0 && !yield(p.first+i) {
				return
			}
		}
	}
}

// covered returns how much of a term some fields of a skill have, 0 to 1.
func (p *prompt) covered(at int, has [][maxTerms + maxOthers]bool) (part float64) {
	for f := range has {
		if has[f][at] {
			return 1
		}
	}
	for i, o := range p.others {
		if o.idf > 0 && p.place[o.of] == at {
			for f := range has {
				if has[f][len(p.terms)+i] {
					part = max(part, o.part)
				}
			}
		}
	}
	return part
}

// hasOther reports whether a list has another reading of a term.
func (p *prompt) hasOther(of int, list []string) bool {
	return slices.ContainsFunc(p.others, func(o other) bool { return o.of == of && slices.Contains(list, o.text) })
}

// matches returns how many words of a skill the prompt has, of those that are found in it, as indexes in unique.
func (p *prompt) matches(found []uint32) int {
	if len(p.others) == 0 {
		return len(found)
	}
	n := 0
	var by []int // the terms that count already
	for _, others := range []bool{false, true} {
		for _, at := range found {
			i := int(at) - p.first
			switch isOther := i >= 0 && i < len(p.others); {
			case isOther != others:
			case !isOther:
				n, by = n+1, append(by, int(at))
			case !slices.Contains(by, p.others[i].of):
				n, by = n+1, append(by, p.others[i].of)
			}
		}
	}
	return n
}
