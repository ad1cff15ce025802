package markdown

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind is what a mark in a line may begin.
type kind int

const (
	emStar kind = iota
	strongStar
	emLine
	strongLine
	deleted
	link
	picture
)

// tags are the elements of the kinds that have one.
var tags = [link]string{"em", "strong", "em", "strong", "del"}

// maxOpen is how many marks may wait for their end. Each mark is compared with those that wait.
const maxOpen = 32

// An opener is a mark that waits for its end. Until then it is text.
type opener struct {
	kind  kind
	piece int
}

// A scanner renders a paragraph.
type scanner struct {
	text     string
	at, from int      // what is read, and what is written
	pieces   []string // rendered
	waiting  []opener
	ticks    map[int]int // where the next run of as many backticks begins, by the start of a run
	pictures int
}

// inline renders the text of a paragraph, a heading or a cell.
func (p *parser) inline(text string) string {
	s := &scanner{text: text}
	for s.at < len(text) {
		if n := strings.IndexAny(text[s.at:], "\\`*_~[]!<&\n"); n >= 0 {
			s.at += n
			s.special(text[s.at])
		} else {
			s.at = len(text)
		}
	}
	s.flush()
	p.pictures += s.pictures
	return strings.Join(s.pieces, "")
}

// special takes the character at s.at, which may be more than text.
func (s *scanner) special(c byte) {
	rest := s.text[s.at:]
	switch {
	case c == '\\' && len(rest) > 1 && isMark(rest[1]):
		s.put("", 1)
		s.at++ // the mark is text
	case c == '\n', c == '\\' && strings.HasPrefix(rest, "\\\n"):
		s.lineEnd(c)
	case c == '`':
		s.code(len(rest) - len(strings.TrimLeft(rest, "`")))
	case c == '*', c == '_', c == '~':
		s.run(c, len(rest)-len(strings.TrimLeft(rest, rest[:1])))
	case c == '[':
		s.wait(link, 1)
	case c == '!' && strings.HasPrefix(rest, "!["):
		s.wait(picture, 2)
	case c == ']':
		s.bracket()
	case c == '<':
		s.address()
	case c == '&':
		s.entity()
	default:
		s.at++
	}
}

// flush writes what was read as text.
func (s *scanner) flush() {
	if s.from < s.at {
		s.pieces = append(s.pieces, html.EscapeString(s.text[s.from:s.at]))
	}
	s.from = s.at
}

// put writes a rendered piece in place of the next n bytes.
func (s *scanner) put(piece string, n int) {
	s.flush()
	s.pieces = append(s.pieces, piece)
	s.at += n
	s.from = s.at
}

// lineEnd takes the end of a line; after two blanks or a backslash the next line stands below.
func (s *scanner) lineEnd(c byte) {
	switch {
	case c == '\\':
		s.put("<br>\n", 2)
	case strings.HasSuffix(s.text[s.from:s.at], "  "):
		s.put("<br>\n", 1)
	default:
		s.at++
	}
}

// entity takes one of the few names of characters that Markdown needs.
func (s *scanner) entity() {
	for _, name := range []string{"&lt;", "&gt;", "&amp;", "&quot;", "&nbsp;"} {
		if strings.HasPrefix(s.text[s.at:], name) {
			s.put(name, len(name))
			return
		}
	}
	s.at++
}

// code takes a run of n backticks.
func (s *scanner) code(n int) {
	if s.ticks == nil {
		s.findTicks()
	}
	end := s.ticks[s.at]
	if end == 0 {
		s.at += n
		return
	}
	text := strings.ReplaceAll(s.text[s.at+n:end], "\n", " ")
	if strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && strings.Trim(text, " ") != "" {
		text = text[1 : len(text)-1]
	}
	s.put("<code>"+html.EscapeString(text)+"</code>", end+n-s.at)
}

// findTicks finds the ends of all code at once: to look for each would be quadratic.
func (s *scanner) findTicks() {
	s.ticks = make(map[int]int)
	last := make(map[int]int) // start of the last run, by its length
	for at := 0; at < len(s.text); at++ {
		n := len(s.text[at:]) - len(strings.TrimLeft(s.text[at:], "`"))
		if n == 0 {
			continue
		}
		if before, ok := last[n]; ok {
			s.ticks[before] = at
		}
		last[n] = at
		at += n
	}
}

// run takes n marks of emphasis: one, two, or one beside two.
func (s *scanner) run(c byte, n int) {
	one, two := emStar, strongStar
	switch c {
	case '_':
		one, two = emLine, strongLine
	case '~':
		two = deleted
	}
	opens, closes := s.sides(c, n)
	if n > 3 || c == '~' && n != 2 {
		opens, closes = false, false
	}
	for n > 0 {
		i, j := s.last(one, one), s.last(two, two)
		took := 1
		switch {
		case closes && n != 2 && i >= 0 && (n == 1 || i > j):
			s.close(i, took)
		case closes && n >= 2 && j >= 0:
			took = 2
			s.close(j, took)
		case opens:
			took = 2 - n%2
			s.wait([]kind{one, two}[took-1], took)
		default:
			took = n
			s.at += n
		}
		n -= took
	}
}

// sides says whether a run of marks may begin or end something, by what stands beside it.
func (s *scanner) sides(c byte, n int) (opens, closes bool) {
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	after, _ := utf8.DecodeRuneInString(s.text[s.at+n:])
	left := !isBlank(after) && (!isPunct(after) || isBlank(before) || isPunct(before))
	right := !isBlank(before) && (!isPunct(before) || isBlank(after) || isPunct(after))
	if c != '_' {
		return left, right
	}
	return left && (!right || isPunct(before)), right && (!left || isPunct(after))
}

// wait takes n bytes that are text unless their end comes.
func (s *scanner) wait(k kind, n int) {
	if len(s.waiting) >= maxOpen {
		s.at += n
		return
	}
	s.flush()
	s.waiting = append(s.waiting, opener{k, len(s.pieces)})
	s.at += n
	s.flush()
}

// close takes n bytes that end what waits at place i. What waits in it is text.
func (s *scanner) close(i, n int) {
	o := s.waiting[i]
	s.waiting = s.waiting[:i]
	s.pieces[o.piece] = "<" + tags[o.kind] + ">"
	s.put("</"+tags[o.kind]+">", n)
}

// last returns the place of the last mark that waits of the kinds from one to another; -1 if there is none.
func (s *scanner) last(from, to kind) int {
	for i := len(s.waiting) - 1; i >= 0; i-- {
		if k := s.waiting[i].kind; k >= from && k <= to {
			return i
		}
	}
	return -1
}

// bracket takes the end of a text in brackets, which is a link or a picture if an address follows. Of a picture, and
// of a link whose address a page must not have, only the text is shown.
func (s *scanner) bracket() {
	i := s.last(link, picture)
	to, n := destination(s.text[s.at+1:])
	if i < 0 || n == 0 {
		if i >= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
		}
		s.at++
		return
	}
	o, start, end := s.waiting[i], "", ""
	s.waiting = s.waiting[:i]
	if o.kind == picture {
		s.pictures++
	} else {
		start, end = anchor(to)
		s.waiting = slices.DeleteFunc(s.waiting, func(o opener) bool { return o.kind == link }) // no link is in a link
	}
	s.pieces[o.piece] = start
	s.put(end, 1+n)
}

// address takes "<https://example.com>".
func (s *scanner) address() {
	text := s.text[s.at+1:]
	if end := strings.IndexAny(text, "<> \n"); end > 0 && text[end] == '>' {
		if start, stop := anchor(text[:end]); start != "" && s.last(link, link) < 0 {
			s.put(start+html.EscapeString(text[:end])+stop, end+2)
			return
		}
	}
	s.at++
}

// destination returns the address in "(address)" or "(address 'title')", and the length of all of it; 0 if this is none. An
// address has at most one pair of parentheses: so no byte is looked at more than a few times.
func destination(s string) (to string, n int) {
	rest, ok := strings.CutPrefix(s, "(")
	if !ok {
		return "", 0
	}
	rest = strings.TrimLeft(rest, " \n")
	if strings.HasPrefix(rest, "<") {
		end := strings.IndexAny(rest[1:], "<>\n") + 1
		if rest[end] != '>' || end == 0 {
			return "", 0
		}
		to, rest = rest[1:end], rest[end+1:]
	} else {
		end := addressEnd(rest)
		to, rest = rest[:end], rest[end:]
	}
	rest = strings.TrimLeft(rest, " \n")
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		if _, rest, ok = strings.Cut(rest[1:], rest[:1]); !ok {
			return "", 0
		}
		rest = strings.TrimLeft(rest, " \n")
	}
	if !strings.HasPrefix(rest, ")") {
		return "", 0
	}
	return to, len(s) - len(rest) + 1
}

// addressEnd returns the length of the address that a text begins with.
func addressEnd(s string) int {
	inside := false
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ', c == '(' && inside, c == ')' && !inside:
			return i
		case c == '(', c == ')':
			inside = c == '('
		}
	}
	return len(s)
}

// anchor returns the tags of a link; none if its address does not say openly where it leads: http:x leads to this server,
// and https://bank@attacker to another one than it seems.
func anchor(to string) (start, end string) {
	u, err := url.Parse(to)
	if err != nil {
		return "", ""
	}
	site := (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
	if !site && (u.Scheme != "mailto" || u.Opaque == "") {
		return "", ""
	}
	return `<a href="` + html.EscapeString(u.String()) + `" rel="nofollow noopener noreferrer">`, "</a>"
}

func isMark(c byte) bool { return c < utf8.RuneSelf && isPunct(rune(c)) }

// isBlank says that a character is a blank or, as utf8 says, none.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == utf8.RuneError }

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
