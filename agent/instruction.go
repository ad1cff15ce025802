package agent

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what one answer may ask for.
const (
	maxInstructions = 32
	maxName         = 512     // bytes of the name of a skill
	maxPath         = 4096    // bytes of a path
	maxCommand      = 1 << 16 // bytes of a command
)

// An instruction is what a model asks for with a tag in its answer.
type instruction struct {
	tag        string // tagUse, tagRead, tagRun or tagFind
	skill      string
	what       string // the path, the command or the query
	start, end int    // where it stands in the answer
	fault      string // why nothing can be done, as a sentence without its end; "" means that it can
}

// parseInstructions returns the instructions in an answer, in their order. Text that only
// shows a tag is none: what literal marks, what stands directly in quotation marks, what has …
// or ... in place of a name, a path or a command, and what stands before the last end of a
// thinking block, unless nothing follows it. It takes time in proportion to the text.
func parseInstructions(text string) []instruction {
	if !strings.ContainsAny(text, "<＜") {
		return nil
	}
	s := scanner{text: text, literal: literal(text)}
	s.scan()
	p := parser{text: text, tags: s.tags}
	p.parse()
	return p.found
}

// A parser makes instructions of tags.
type parser struct {
	text  string
	tags  []tag
	found []instruction
}

func (p *parser) parse() {
	ends := p.ends()
	for i := 0; i < len(p.tags); i++ {
		if len(p.found) == maxInstructions {
			last := p.tags[i]
			p.fail(&last, last.end, "more than 32 tags in one answer: the others were not done")
			return
		}
		t, j := &p.tags[i], ends[i]
		switch {
		case t.closes:
			if !p.expected(t) && !p.quoted(t.start, t.end) {
				p.fail(t, t.end, "the tag "+t.name+" is closed, but was not opened")
			}
		case p.quoted(t.start, t.end):
		case t.alone:
			p.add(t, "", t.end)
		case j < 0:
			if closer(before(p.text, t.start)) == 0 {
				p.fail(t, t.end, cmp.Or(t.fault, p.open(t)))
			}
		default:
			end := &p.tags[j]
			switch {
			case p.quoted(t.start, end.end):
			case j > i+1:
				p.fail(t, end.end, cmp.Or(t.fault, "another tag stands inside of the tag "+t.name))
			case end.fault != "":
				p.fail(t, end.end, cmp.Or(t.fault, end.fault))
			default:
				p.add(t, p.text[t.end:end.start], end.end)
			}
			i = j
		}
	}
}

// open says what is wrong with a tag that is not closed.
func (p *parser) open(t *tag) string {
	if strings.Contains(p.text[t.end:], "</"+t.name) {
		return "the tag " + t.name + " is closed in code or in a quotation only"
	}
	return "the tag " + t.name + " is not closed"
}

// ends returns for each tag the index of the next one that closes its name; less than 0 means
// none.
func (p *parser) ends() []int {
	ends, next := make([]int, len(p.tags)), make(map[string]int)
	for i := len(p.tags) - 1; i >= 0; i-- {
		t := &p.tags[i]
		if j, ok := next[t.name]; ok {
			ends[i] = j
		} else {
			ends[i] = -1
		}
		if t.closes {
			next[t.name] = i
		}
	}
	return ends
}

// expected reports whether a closing tag may belong to what was found just before it: to a tag
// that closes itself, or to one with a fault, which is reported already.
func (p *parser) expected(t *tag) bool {
	if len(p.found) == 0 {
		return false
	}
	last := p.found[len(p.found)-1]
	return last.tag == t.tag && (last.fault != "" || strings.TrimSpace(p.text[last.end:t.start]) == "")
}

func (p *parser) fail(t *tag, end int, fault string) {
	p.found = append(p.found, instruction{tag: t.tag, skill: t.attrs[0], start: t.start, end: end, fault: fault})
}

// add adds an element. Its name and its content may be attributes too.
func (p *parser) add(t *tag, content string, end int) {
	content = strings.TrimSpace(content)
	if isPlaceholder(content) || isPlaceholder(t.attrs[0]) {
		return
	}
	in := instruction{tag: t.tag, skill: t.attrs[0], what: cmp.Or(strings.TrimSpace(decoded(content)), t.attrs[1]), start: t.start, end: end}
	if t.tag == tagUse {
		switch {
		case in.skill == "":
			in.skill = strings.Trim(in.what, "\"'`“”‘’")
		case in.what != "" && in.what != in.skill && t.fault == "":
			t.fault = "the tag use_skill names two skills"
		}
		in.what = ""
	}
	in.fault = cmp.Or(t.fault, in.check())
	p.found = append(p.found, in)
}

// check returns what an instruction lacks.
func (in *instruction) check() string {
	switch {
	case in.tag == tagFind && len(in.what) > maxPath:
		return "the query is longer than 4,096 bytes"
	case in.tag == tagFind:
		return ""
	case in.skill == "" && in.tag == tagUse:
		return "the tag use_skill names no skill"
	case in.skill == "":
		return "the tag " + in.tag + " does not say of which skill"
	case strings.ContainsAny(in.skill, "<>") || len(in.skill) > maxName:
		return "the tag " + in.tag + " has no plain name of a skill"
	case in.tag == tagRead && in.what == "":
		return "the tag read_resource has no path"
	case in.tag == tagRead && len(in.what) > maxPath:
		return "the path is longer than 4,096 bytes"
	case in.tag == tagRun && in.what == "":
		return "the command is blank"
	case in.tag == tagRun && len(in.what) > maxCommand:
		return "the command is longer than 65,536 bytes"
	}
	return ""
}

func isPlaceholder(s string) bool { return s == "…" || s == "..." }

// quoted reports whether quotation marks that belong together stand directly before and
// behind a part of the text.
func (p *parser) quoted(start, end int) bool {
	c := closer(before(p.text, start))
	behind, _ := utf8.DecodeRuneInString(p.text[end:])
	return c != 0 && (behind == c || c == '“' && behind == '”')
}

func before(text string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return r
}

// closer returns the quotation mark that ends what r starts; 0 means that r starts nothing.
// After a low „ a “ is usual, and so is a ”.
func closer(r rune) rune {
	pairs := []rune(`""''` + "``" + `“”‘’„“‚‘«»‹›「」『』＂＂＇＇`)
	if i := slices.Index(pairs, r); i >= 0 && (i%2 == 0) {
		return pairs[i+1]
	}
	return 0
}

// decoded replaces the entities that a tag may hold, and takes CDATA as it is.
func decoded(s string) string {
	var b strings.Builder
	for {
		text, rest, ok := strings.Cut(s, cdataStart)
		data, rest, closed := strings.Cut(rest, cdataEnd)
		if !ok || !closed {
			entities(&b, s)
			return b.String()
		}
		entities(&b, text)
		b.WriteString(data)
		s = rest
	}
}

// entities writes s with the entities of XML and those with numbers as characters. Others stay:
// a command may hold "a=1&copy=2".
func entities(b *strings.Builder, s string) {
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := strings.IndexByte(s[:min(len(s), len("&#x10ffff;"))], ';') + 1
		switch name := s[:n]; {
		case n > 0 && (name[1] == '#' || slices.Contains([]string{"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"}, name)):
			b.WriteString(html.UnescapeString(name))
		default:
			n = 1
			b.WriteByte('&')
		}
		s = s[n:]
	}
}
