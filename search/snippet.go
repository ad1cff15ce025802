package search

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// snippetLength is the default length of a snippet.
	snippetLength = 160
	// maxSnippetBody is how many bytes of a body are searched for a snippet. Hardly
	// any body is as long.
	maxSnippetBody = 256 << 10
	// maxHighlighted is how many terms of a query are highlighted: match.terms has
	// one bit for each.
	maxHighlighted = 64
)

// A Snippet is an excerpt of the body of a skill around what a query matches.
// It is one line without Markdown and without control characters.
type Snippet struct {
	Text    string   // "" means that nothing in the body matches
	Matches [][2]int // start and end of each match in Text, in bytes; rising, without overlap
}

// Snippets returns a snippet for each of the entries, which are hits of the query. A
// snippet shows the part of the body with the most terms of the query, where rare
// terms count more. It has at most length characters; a character of a script without
// spaces counts as two; 0 means 160, and less than 4 counts as 4. It is taken from the
// text as it was indexed. A skill that the query's agent does not see, or that is
// gone, has an empty snippet.
func (x *explainer) Snippets(ctx context.Context, q Query, entries []Entry, length int) (out []Snippet, err error) {
	err = x.scopes.read(ctx, q.Agent, func(v *snapshot.View) error {
		out = make([]Snippet, len(entries))
		h, err := x.highlighter(ctx, v, q)
		if err != nil || len(h.weights) == 0 {
			return err
		}
		for n, e := range entries {
			i, err := lookup(v, e.ID)
			if err != nil {
				continue
			}
			s, ok, err := x.stored(ctx, v.Facts(i).Row)
			if err != nil {
				return err
			}
			if ok {
				out[n] = h.excerpt(plainText(tidy.Cut(s.Body, maxSnippetBody)), length)
			}
		}
		return nil
	})
	return out, err
}

// A highlighter finds what a query matches in a text.
type highlighter struct {
	analyzer *words.Analyzer
	terms    map[string]int // index in weights of each term
	prefixes []string       // of words
	prefix   []int          // index in weights of each prefix
	weights  []float64
	initials [utf8.RuneSelf]bool // first letters of ASCII words that may match
}

// highlighter returns the highlighter of a query. For a prompt it finds the terms
// that a search uses; for a query in the query language, what the query asks for in
// the body.
func (x *explainer) highlighter(ctx context.Context, v *snapshot.View, q Query) (*highlighter, error) {
	h := &highlighter{analyzer: new(words.Analyzer), terms: make(map[string]int)}
	if !q.Syntax {
		p, err := newPrompt(ctx, h.analyzer, q.Text, gloss.Read(q.Text), v, x.leg(v.Set))
		if err != nil {
			return nil, err
		}
		for _, t := range p.terms {
			h.add(t.text, false, t.idf)
		}
		for _, o := range p.others {
			if o.idf > 0 {
				h.add(o.text, false, o.idf)
			}
		}
		if p.asTyped != nil {
			for _, t := range p.asTyped.terms {
				h.add(t.text, false, t.idf)
			}
		}
		return h, nil
	}
	c, err := query.Parse(q.Text)
	if err != nil {
		return nil, err
	}
	var terms []string
	for _, s := range c.Sought {
		if s.Term != "" {
			terms = append(terms, s.Term)
		}
	}
	docs, all, err := x.leg(v.Set).frequencies(ctx, v, terms, v.Retriever().Lookup(terms))
	if err != nil {
		return nil, err
	}
	for _, s := range c.Sought {
		switch {
		case !slices.Contains(s.Columns, "body"):
		case s.Prefix != "":
			h.add(s.Prefix, true, snapshot.InverseFrequency(1, all)/2) // a guess: how common a prefix is, is unknown
		default:
			h.add(s.Term, false, snapshot.InverseFrequency(max(docs[slices.Index(terms, s.Term)], 1), all))
		}
	}
	return h, nil
}

// add adds a term or a prefix to what h finds.
func (h *highlighter) add(text string, prefix bool, weight float64) {
	if _, ok := h.terms[text]; ok && !prefix || len(h.weights) == maxHighlighted {
		return
	}
	if prefix {
		h.prefixes, h.prefix = append(h.prefixes, text), append(h.prefix, len(h.weights))
	} else {
		h.terms[text] = len(h.weights)
	}
	h.weights = append(h.weights, weight+.1) // so that a term which every skill has counts too
	if c := text[0]; c < utf8.RuneSelf {
		h.initials[c], h.initials[unicode.ToUpper(rune(c))] = true, true
	}
}

// A match is a part of a text that has some of the terms.
type match struct {
	start, end int    // in bytes
	from, to   int    // the same in cells
	terms      uint64 // set of indexes in weights
}

// find returns the matches in a text, in order.
func (h *highlighter) find(text string) []match {
	var list []match
	counted, at := 0, 0 // text[:counted] has at cells
	add := func(start, end int) {
		set := h.match(text[start:end])
		if set == 0 {
			return
		}
		m := match{start: start, end: end, terms: set}
		m.from = at + cells(text[counted:start])
		m.to = m.from + cells(text[start:end])
		counted, at = start, m.from // pairs overlap
		list = append(list, m)
	}
	for start, end := range words.Runs(text) {
		if !h.cannotMatch(text[start:end]) {
			pieces(text, start, end, add)
		}
	}
	return list
}

// cannotMatch is a fast check that rules out most words by their first letter, which
// stemming keeps.
func (h *highlighter) cannotMatch(run string) bool {
	for i := range len(run) {
		if c := run[i]; c >= utf8.RuneSelf || i > 0 && 'A' <= c && c <= 'Z' {
			return false // may be an identifier
		}
	}
	return !h.initials[run[0]]
}

// pieces calls yield for each word of a run and, in scripts without spaces, for each
// pair of neighbouring characters.
func pieces(text string, start, end int, yield func(start, end int)) {
	for start < end {
		first, size := utf8.DecodeRuneInString(text[start:end])
		next := start + size
		for next < end {
			r, n := utf8.DecodeRuneInString(text[next:end])
			if words.Dense(r) != words.Dense(first) {
				break
			}
			if words.Dense(first) {
				yield(start, next+n)
				start = next
			}
			next += n
		}
		if !words.Dense(first) || start+size == next {
			yield(start, next)
		}
		start = next
	}
}

// match returns the terms that a piece of a text has.
func (h *highlighter) match(piece string) uint64 {
	var set uint64
	words.Split(piece, func(word string, kind words.Kind) {
		if i, ok := h.terms[h.analyzer.Term(word, kind)]; ok {
			set |= 1 << i
		}
		for n, p := range h.prefixes {
			if strings.HasPrefix(words.Lower(word), p) {
				set |= 1 << h.prefix[n]
			}
		}
	})
	return set
}

// excerpt returns the snippet of a text, which must be one line.
func (h *highlighter) excerpt(text string, length int) Snippet {
	if length <= 0 {
		length = snippetLength
	}
	room := max(length, 4) - 2 // between two ellipses
	list := h.find(text)
	if len(list) == 0 {
		return Snippet{}
	}
	first, last := h.best(list, room)
	start, end := surroundings(text, list[first].start, list[last].end, room)
	var s Snippet
	if start > 0 {
		s.Text = "…"
	}
	shift := len(s.Text) - start
	s.Text += text[start:end]
	if end < len(text) {
		s.Text += "…"
	}
	for _, m := range list {
		from, to := max(m.start, start)+shift, min(m.end, end)+shift
		if n := len(s.Matches); n > 0 && from <= s.Matches[n-1][1] && to > from {
			s.Matches[n-1][1] = max(s.Matches[n-1][1], to)
		} else if to > from {
			s.Matches = append(s.Matches, [2]int{from, to})
		}
	}
	return s
}

// best returns the first and the last match of the window with the greatest weight;
// of equal windows, the first. A match that is wider than room is a window of its own.
func (h *highlighter) best(list []match, room int) (first, last int) {
	most := 0.0
	for i := range list {
		var set uint64
		weight := 0.0
		for j := i; j < len(list) && (j == i || list[j].to-list[i].from <= room); j++ {
			for more := list[j].terms &^ set; more != 0; more &= more - 1 {
				weight += h.weights[bits.TrailingZeros64(more)]
			}
			set |= list[j].terms
			if weight > most+1e-9 {
				most, first, last = weight, i, j
			}
		}
	}
	return first, last
}

// surroundings widens a part of a text on both sides, up to room cells and without
// cutting words. It shortens a part that is wider than room.
func surroundings(text string, start, end, room int) (int, int) {
	slack := room - cells(text[start:end])
	if slack <= 0 {
		return start, forward(text, start, room)
	}
	right := cells(text[end:forward(text, end, slack)])
	left := cells(text[backward(text, start, max(slack/2, slack-right)):start])
	from, to := backward(text, start, left), forward(text, end, slack-left)
	for from < start && !border(text, from) {
		_, n := utf8.DecodeRuneInString(text[from:])
		from += n
	}
	for to > end && !border(text, to) {
		_, n := utf8.DecodeLastRuneInString(text[:to])
		to -= n
	}
	if from < start && text[from] == ' ' {
		from++
	}
	if to > end && text[to-1] == ' ' {
		to--
	}
	return from, to
}

// forward returns the offset n cells after i, or the end of the text.
func forward(text string, i, n int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if n -= cellsOf(r); n < 0 {
			break
		}
		i += size
	}
	return i
}

// backward returns the offset n cells before i, or 0.
func backward(text string, i, n int) int {
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if n -= cellsOf(r); n < 0 {
			break
		}
		i -= size
	}
	return i
}

// border reports whether a word begins or ends at i.
func border(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	return i == 0 || i == len(text) || before == ' ' || after == ' ' || words.Dense(before) || words.Dense(after)
}

// cells returns the width of a text on a terminal: a character of a script without
// spaces counts as two, because most of them are that wide.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if words.Dense(r) {
		return 2
	}
	return 1
}

// plainText turns Markdown into one line of text. It removes the marks of headings,
// lists, quotes, tables, code and emphasis, the targets of links, and characters that a
// reader cannot see or a terminal would obey. It is not exact: some harmless marks may
// remain.
func plainText(markdown string) string {
	var out strings.Builder
	out.Grow(len(markdown))
	for line := range strings.Lines(tidy.Clean(markdown)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") || strings.Trim(line, "|-:=*_ +") == "" {
			continue
		}
		line = marks.Replace(withoutTargets(strings.TrimLeft(line, "#>-*+ ")))
		for word := range strings.FieldsSeq(line) {
			if out.Len() > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(word)
		}
	}
	return tidy.Line(out.String()) // again: the mark before a variation selector may be gone
}

var marks = strings.NewReplacer("**", "", "__", "", "`", "", "|", " ")

// withoutTargets replaces links and images by their texts.
func withoutTargets(line string) string {
	var out strings.Builder
	for {
		middle := strings.Index(line, "](")
		if middle < 0 {
			break
		}
		open := strings.LastIndexByte(line[:middle], '[')
		end := strings.IndexByte(line[middle:], ')')
		if open < 0 || end < 0 {
			out.WriteString(line[:middle+2])
			line = line[middle+2:]
			continue
		}
		out.WriteString(strings.TrimSuffix(line[:open], "!"))
		out.WriteString(line[open+1 : middle])
		line = line[middle+end+1:]
	}
	if out.Len() == 0 {
		return line
	}
	return out.String() + line
}
