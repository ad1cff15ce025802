// Package markdown renders the part of Markdown that explains: headings, lists, quotes, code, tables, emphasis, and links
// that lead elsewhere openly. All else is text, HTML too. Time and memory are linear in the text, whatever it says.
package markdown

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// MaxNesting is how many lists and quotes may lie in one another. Each line is compared with all that it lies in.
const MaxNesting = 64

// A Page is a rendered text.
type Page struct {
	HTML     string // balanced elements without styles, scripts, pictures and identifiers
	Pictures int    // left out; the texts that describe them are in HTML
}

// Render renders a text, whose headings begin at the level above+1 and end at 6. It renders nothing and returns false if
// the text is nested deeper than MaxNesting.
func Render(source string, above int) (Page, bool) {
	if nesting(source) > MaxNesting {
		return Page{}, false
	}
	p := &parser{above: above}
	for line := range strings.Lines(source) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	p.closeLeaf()
	p.closeTo(0)
	return Page{p.out.String(), p.pictures}, true
}

// nesting returns a bound on the depth of lists and quotes. What begins on a line lies in no more than the marks before it
// say: a quote is marked on each line, and a list by two columns of blanks or more.
func nesting(source string) (deepest int) {
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\r\n")
		depth := 0
		for more := true; more; {
			columns := indent(line)
			line = strings.TrimLeft(line, " \t")
			if more = strings.HasPrefix(line, ">"); more {
				line = line[1:]
			} else if m, ok := markOf(line); ok {
				line, more = line[m.size:], true
			}
			if more {
				depth += columns/2 + 1
			}
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// A container is a quote, a list or an item of a list.
type container struct {
	tag   string // "blockquote", "ul", "ol" or "li"
	mark  byte   // of a list
	width int    // of an item: columns of blanks before its further lines
}

// A leaf is what has text: a paragraph and its like.
type leaf int

const (
	none leaf = iota
	paragraph
	fenced   // code
	indented // code
	table
)

// A parser takes a text line by line, and writes what ends.
type parser struct {
	out      bytes.Buffer
	above    int
	pictures int
	open     []container
	leaf     leaf     // innermost, in all of open
	lines    []string // of the paragraph
	fence    string   // that ends the code
	columns  int      // of blanks before the fence; of the table, its cells in a row
	blank    int      // lines of indented code that may be its end
}

// line takes the next line.
func (p *parser) line(s string) {
	s, n := p.match(s)
	switch {
	case n == len(p.open) && p.leaf == fenced:
		p.codeLine(s)
		return
	case n < len(p.open) && p.leaf == paragraph && !begins(s):
		p.lines = append(p.lines, s) // it goes on without the marks of its quote or item
		return
	}
	p.closeTo(n)
	for more := true; more; {
		s, more = p.enter(s)
	}
	p.content(s)
}

// match returns how many containers a line is in, and the line without their marks. A list whose item has ended counts:
// the next item may follow.
func (p *parser) match(s string) (rest string, n int) {
	for _, c := range p.open {
		switch {
		case c.tag == "blockquote":
			after, ok := quoted(s)
			if !ok {
				return s, n
			}
			s = after
		case c.tag != "li":
		case blank(s):
			s = ""
		case indent(s) < c.width:
			return s, n
		default:
			s = dedent(s, c.width)
		}
		n++
	}
	return s, n
}

// enter begins the container that a line begins, and returns what follows its mark.
func (p *parser) enter(s string) (rest string, more bool) {
	text := strings.TrimLeft(s, " \t")
	m, item := markOf(text)
	after, quote := quoted(s)
	item = item && indent(s) < 4 && !isRule(text) && (p.leaf != paragraph || m.interrupts)
	if top := p.top(); top.mark != 0 && !(item && top.mark == m.mark) {
		p.closeTo(len(p.open) - 1)
	}
	switch {
	case quote:
		p.closeLeaf()
		p.push(container{tag: "blockquote"}, "")
		return after, true
	case !item:
		return s, false
	}
	p.closeLeaf()
	if p.top().mark == 0 {
		p.push(m.list())
	}
	c := container{tag: "li", width: indent(s) + m.size + 1}
	rest = text[m.size:]
	if columns := indent(rest); !blank(rest) && columns < 5 {
		c.width += columns - 1
	}
	p.push(c, "")
	return dedent(rest, c.width-indent(s)-m.size), true
}

// content takes what is in the containers of a line.
func (p *parser) content(s string) {
	text, code := strings.TrimSpace(s), indent(s) >= 4
	level, title := headingOf(text)
	fence := fenceOf(text)
	switch {
	case text == "":
		p.blankLine()
	case code && p.leaf == indented:
		p.out.WriteString(strings.Repeat("\n", p.blank))
		p.blank = 0
		p.codeText(dedent(s, 4))
	case code && p.leaf != paragraph:
		p.begin(indented, "<pre><code>")
		p.codeText(dedent(s, 4))
	case !code && p.leaf == paragraph && p.underline(text):
	case !code && level > 0:
		p.closeLeaf()
		p.heading(level, title)
	case !code && fence != "":
		p.begin(fenced, "<pre><code>")
		p.fence, p.columns = fence, indent(s)
	case !code && isRule(text):
		p.begin(none, "<hr>\n")
	case p.leaf == table:
		p.row("td", text)
	default:
		if p.leaf != paragraph {
			p.begin(paragraph, "")
		}
		p.lines = append(p.lines, s)
	}
}

// underline takes a line that makes the paragraph a heading or the head of a table; false if it is none.
func (p *parser) underline(text string) bool {
	columns := columnsOf(text)
	switch {
	case strings.Trim(text, "=") == "":
		p.title(1)
	case strings.Trim(text, "-") == "":
		p.title(2)
	case columns > 0 && len(p.lines) == 1 && len(cellsOf(p.lines[0])) == columns:
		head := p.lines[0]
		p.lines = p.lines[:0]
		p.leaf, p.columns = table, columns
		p.out.WriteString("<table>\n<thead>\n")
		p.row("th", head)
		p.out.WriteString("</thead>\n<tbody>\n")
	default:
		return false
	}
	return true
}

// title makes the paragraph a heading.
func (p *parser) title(level int) {
	text := p.taken()
	p.leaf = none
	p.heading(level, text)
}

// taken returns the text of the paragraph, and empties it.
func (p *parser) taken() string {
	for i, line := range p.lines {
		p.lines[i] = strings.TrimLeft(line, " \t")
	}
	text := strings.TrimRight(strings.Join(p.lines, "\n"), " \t")
	p.lines = p.lines[:0]
	return text
}

func (p *parser) heading(level int, text string) {
	level = min(level+p.above, 6)
	fmt.Fprintf(&p.out, "<h%d>%s</h%d>\n", level, p.inline(text), level)
}

// row writes a row of the table. What is more than its head has is left out, so that rows are no longer than their lines.
func (p *parser) row(tag, text string) {
	p.out.WriteString("<tr>")
	cells := cellsOf(text)
	for _, cell := range cells[:min(len(cells), p.columns)] {
		fmt.Fprintf(&p.out, "<%s>%s</%s>", tag, p.inline(cell), tag)
	}
	p.out.WriteString("</tr>\n")
}

// codeLine takes a line of fenced code.
func (p *parser) codeLine(s string) {
	end := strings.TrimSpace(s)
	if indent(s) < 4 && strings.HasPrefix(end, p.fence) && strings.Trim(end, p.fence[:1]) == "" {
		p.closeLeaf()
		return
	}
	p.codeText(dedent(s, p.columns))
}

func (p *parser) codeText(s string) {
	p.out.WriteString(html.EscapeString(s))
	p.out.WriteByte('\n')
}

func (p *parser) blankLine() {
	if p.leaf == indented {
		p.blank++
		return
	}
	p.closeLeaf()
}

// begin begins a leaf after the one before.
func (p *parser) begin(l leaf, tag string) {
	p.closeLeaf()
	p.leaf = l
	p.out.WriteString(tag)
}

// closeLeaf ends the leaf, if there is one.
func (p *parser) closeLeaf() {
	switch p.leaf {
	case paragraph:
		text := p.inline(p.taken())
		if p.top().tag == "li" && bytes.HasSuffix(p.out.Bytes(), []byte("<li>")) {
			p.out.WriteString(text + "\n")
		} else {
			p.out.WriteString("<p>" + text + "</p>\n")
		}
	case fenced, indented:
		p.out.WriteString("</code></pre>\n")
	case table:
		p.out.WriteString("</tbody>\n</table>\n")
	}
	p.leaf, p.blank = none, 0
}

// closeTo ends all but the n outermost containers, and what is in them.
func (p *parser) closeTo(n int) {
	for len(p.open) > n {
		p.closeLeaf()
		p.out.WriteString("</" + p.top().tag + ">\n")
		p.open = p.open[:len(p.open)-1]
	}
}

func (p *parser) push(c container, attributes string) {
	p.open = append(p.open, c)
	p.out.WriteString("<" + c.tag + attributes + ">")
}

// top returns the innermost container; one without a tag if there is none.
func (p *parser) top() container {
	if len(p.open) == 0 {
		return container{}
	}
	return p.open[len(p.open)-1]
}
