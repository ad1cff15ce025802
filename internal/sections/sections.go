// Package sections cuts the text of a file into sections and finds the ones that a question is
// about: Markdown is cut by headings, a script by functions, JSON and YAML by top-level keys, and
// any other text by blank lines.
//
// The one rule: the sections of a file cover each of its lines exactly once, in order.
package sections

import (
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Section is some lines of a file that belong together.
type Section struct {
	Trail       []string // the headings that it is below, the outermost first, and its own
	Also        []string // headings of further short parts that it holds
	First, Last int      // its lines, from 1
	Tokens      int      // of Text, estimated
	Text        string
}

// Sizes of sections in tokens. With 600, the right section was among the first three for .81 of the
// questions that ranking was tuned on, as with 800; with 400 for .79.
const (
	maxTokens = 600 // a longer section is cut at the ends of paragraphs
	minTokens = 60  // a shorter one is merged with a neighbour
)

// A Head is a heading, and the lines up to the next heading that is not below it.
type Head struct {
	Trail       []string
	First, Last int
	Tokens      int
}

// A head starts at a line.
type head struct {
	line  int // from 0
	level int // 1 is the outermost
	title string
}

// A document is a text in lines, with what the splitters found out about them.
type document struct {
	lines  []string
	tokens []int  // of each line, rounded up
	inside []bool // the line is in a block of code, or another place where no paragraph ends
	heads  []head
}

// read splits a text by what its path says that it is.
func read(path, text string) *document {
	d := &document{}
	for line := range strings.Lines(text) {
		d.lines, d.tokens = append(d.lines, line), append(d.tokens, words.Tokens(line))
	}
	d.inside = make([]bool, len(d.lines))
	switch formatOf(path) {
	case markdown:
		d.markdown()
	case script:
		d.script()
	case jsonFormat:
		d.json()
	case yamlFormat:
		d.keys(func(line string) string { return keyBefore(line, ":") })
	case iniFormat:
		d.keys(func(line string) string {
			name, _, ok := strings.Cut(strings.Trim(line, "[ \t\r\n"), "]")
			if !ok || line[0] != '[' {
				return ""
			}
			return name
		})
	}
	return d
}

// Split returns the sections of a text. The path says which kind of text it is.
func Split(path, text string) []Section {
	d := read(path, text)
	return d.text(d.merged(d.parts()))
}

// Heads returns the headings of a text, each with all that is below it.
func Heads(path, text string) []Head {
	d := read(path, text)
	list := make([]Head, len(d.heads))
	for i, trail := range d.trails() {
		end := len(d.lines)
		for _, next := range d.heads[i+1:] {
			if next.level <= d.heads[i].level {
				end = next.line
				break
			}
		}
		first := d.heads[i].line
		list[i] = Head{trail, first + 1, end, words.Tokens(strings.Join(d.lines[first:end], ""))}
	}
	return list
}

// trails returns the trail of each heading.
func (d *document) trails() [][]string {
	list := make([][]string, len(d.heads))
	var open []head
	for i, h := range d.heads {
		for len(open) > 0 && open[len(open)-1].level >= h.level {
			open = open[:len(open)-1]
		}
		open = append(open, h)
		for _, o := range open {
			list[i] = append(list[i], o.title)
		}
	}
	return list
}

// A span is the lines from first up to, but not including, end.
type span struct {
	first, end  int
	trail, also []string
	tokens      int
}

// parts cuts the document at its headings, and what is too long between paragraphs.
func (d *document) parts() []span {
	var list []span
	add := func(first, end int, trail []string) {
		if first < end {
			list = append(list, d.cut(first, end, trail)...)
		}
	}
	at, trail := 0, []string(nil)
	for i, t := range d.trails() {
		add(at, d.heads[i].line, trail)
		at, trail = d.heads[i].line, t
	}
	add(at, len(d.lines), trail)
	return list
}

// cut cuts lines into parts of about the same size, none larger than maxTokens if it can be
// helped: after a blank line, else after any line.
func (d *document) cut(first, end int, trail []string) []span {
	all := d.size(first, end)
	n := (all + maxTokens - 1) / maxTokens
	if n <= 1 {
		return []span{{first, end, trail, nil, all}}
	}
	goal := (all + n - 1) / n
	var list []span
	size, gap, atGap := 0, -1, 0 // the last end of a paragraph, and the size up to it
	start := first
	for i := first; i < end; i++ {
		for size > 0 && size+d.tokens[i] > maxTokens {
			at, left := i, 0
			if gap > start {
				at, left = gap, size-atGap
			}
			list = append(list, span{start, at, trail, nil, size - left})
			start, size, gap = at, left, -1
		}
		size += d.tokens[i]
		if !d.inside[i] && strings.TrimSpace(d.lines[i]) == "" {
			gap, atGap = i+1, size
			if size >= goal && i+1 < end {
				list = append(list, span{start, i + 1, trail, nil, size})
				start, size, gap = i+1, 0, -1
			}
		}
	}
	return append(list, span{start, end, trail, nil, size})
}

func (d *document) size(first, end int) (n int) {
	for _, t := range d.tokens[first:end] {
		n += t
	}
	return n
}

// merged merges short parts with what follows: with what is below their heading, and with further
// parts below the same heading.
func (d *document) merged(parts []span) []span {
	var list []span
	for i, p := range parts {
		if n := len(list); n > 0 {
			l := &list[n-1]
			opens := i+1 < len(parts) && len(parts[i+1].trail) > len(p.trail) // what is below it comes next
			short := l.tokens < minTokens || p.tokens < minTokens && len(l.trail) == len(p.trail) && !opens
			if short && l.tokens+p.tokens <= maxTokens && related(l.trail, p.trail) {
				l.end, l.tokens = p.end, l.tokens+p.tokens
				switch {
				case len(p.trail) == 0, samePath(l.trail, p.trail):
				case len(l.also) == 0 && isBelow(p.trail, l.trail): // it was the heading alone
					l.trail = p.trail
				default:
					l.also = append(l.also, p.trail[len(p.trail)-1])
				}
				continue
			}
		}
		list = append(list, p)
	}
	return list
}

// related reports whether the second trail is below the first, or beside it.
func related(a, b []string) bool {
	return len(a) == 0 || len(b) > 0 && (isBelow(b, a) || samePath(a[:len(a)-1], b[:len(b)-1]))
}

func isBelow(b, a []string) bool { return len(b) >= len(a) && samePath(a, b[:len(a)]) }

func samePath(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

func (d *document) text(spans []span) []Section {
	list := make([]Section, len(spans))
	for i, s := range spans {
		text := strings.Join(d.lines[s.first:s.end], "")
		list[i] = Section{s.trail, s.also, s.first + 1, s.end, words.Tokens(text), text}
	}
	return list
}
