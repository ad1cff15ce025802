package agent

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const cdataStart, cdataEnd = "<![CDATA[", "]]>"

// A tag is one that stands in an answer and means something, or looks as if.
type tag struct {
	start, end    int
	name          string // as it is written, in lower case
	tag           string // the instruction that it is, or that it resembles
	closes, alone bool   // </use_skill>, <use_skill/>
	attrs         [2]string
	fault         string
}

// A scanner finds tags.
type scanner struct {
	text    string
	literal []bool
	tags    []tag
	noCDATA bool // no end of CDATA follows
}

func (s *scanner) scan() {
	answer, thought := 0, 0 // the index of the first tag of the answer; where the thoughts end
	for at := 0; at < len(s.text); {
		i := strings.IndexAny(s.text[at:], "<＜")
		if i < 0 {
			break
		}
		if at += i; s.literal[at] {
			at++
			continue
		}
		if end, ok := s.cdata(at); ok {
			at = end
			continue
		}
		t, thinks := s.tag(at)
		switch at = t.end; {
		case thinks && t.closes:
			answer, thought = len(s.tags), t.end
		case t.tag != "":
			s.tags = append(s.tags, t)
		}
	}
	if strings.TrimSpace(s.text[thought:]) != "" {
		s.tags = s.tags[answer:]
	}
}

// cdata returns the end of the CDATA that starts at an index within a tag.
func (s *scanner) cdata(at int) (end int, ok bool) {
	if s.noCDATA || len(s.tags) == 0 || !strings.HasPrefix(s.text[at:], cdataStart) {
		return 0, false
	}
	if last := s.tags[len(s.tags)-1]; last.closes || last.alone {
		return 0, false
	}
	n := strings.Index(s.text[at:], cdataEnd)
	s.noCDATA = n < 0
	return at + n + len(cdataEnd), n >= 0
}

// tag reads what starts at an index. It has no tag if it is none of ours, and then its end is
// where to read on.
func (s *scanner) tag(at int) (t tag, thinks bool) {
	bracket, n := utf8.DecodeRuneInString(s.text[at:])
	t = tag{start: at, end: at + n}
	i := s.skip(t.end, " \t")
	if i < len(s.text) && s.text[i] == '/' {
		t.closes = true
		i = s.skip(i+1, " \t")
	}
	from := i
	for i < len(s.text) && isNameByte(s.text[i]) && i-from < 32 {
		i++
	}
	name := strings.ToLower(s.text[from:i])
	if next, _ := utf8.DecodeRuneInString(s.text[i:]); i < len(s.text) && !unicode.IsSpace(next) && !strings.ContainsRune("<>/＞＝=", next) {
		return t, false
	}
	if thinks = slices.Contains([]string{"think", "thinking", "thought", "thoughts", "reasoning"}, name); thinks {
		t.end = s.skip(i, " \t>")
		return t, true
	}
	if t.tag = resembles(name); t.tag == "" {
		return t, false
	}
	t.name = name
	closed := s.attributes(&t, i)
	switch {
	case slices.Contains(s.literal[t.start:t.end], true):
		t.fault = "the tag " + name + " stands half in code or in a quotation"
	case !closed:
		t.fault = "the tag " + name + " has no >"
	case bracket != '<' || s.text[t.end-1] != '>':
		t.fault = "the tag " + name + " is not in plain < and >"
	case t.name != t.tag:
		t.fault = "there is no tag " + name
	}
	return t, false
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

func (s *scanner) skip(i int, blanks string) int {
	for i < len(s.text) && strings.IndexByte(blanks, s.text[i]) >= 0 {
		i++
	}
	return i
}

// resembles returns the instruction that a name is or that somebody may mean with it.
func resembles(name string) string {
	switch name {
	case tagUse, tagRead, tagRun, tagFind:
		return name
	}
	if !strings.Contains(name, "skill") && !strings.Contains(name, "script") && !strings.Contains(name, "resource") {
		return ""
	}
	plain := strings.NewReplacer("_", "", "-", "").Replace(name)
	for _, l := range []struct{ tag, verbs, nouns string }{
		{tagUse, "use load get read open call invoke activate apply", "skill skills"},
		{tagRead, "read load get open show", "resource resources skillresource skillresources skillfile skillfiles"},
		{tagFind, "search find list browse", "skill skills"},
		{tagRun, "execute exec run call invoke start", "script scripts skillscript skillscripts skill skills"},
	} {
		for verb := range strings.FieldsSeq(l.verbs) {
			if noun, ok := strings.CutPrefix(plain, verb); ok && slices.Contains(strings.Fields(l.nouns), noun) {
				return l.tag
			}
		}
	}
	return ""
}

// attributes reads a tag from behind its name to its end, and returns whether it has a >. No
// value holds a <, so that each tag is read once.
func (s *scanner) attributes(t *tag, i int) (closed bool) {
	for i < len(s.text) {
		switch r, n := utf8.DecodeRuneInString(s.text[i:]); {
		case r == '<':
			t.end = i
			return false
		case r == '>' || r == '＞':
			t.end = i + n
			return true
		case r == '/' && strings.HasPrefix(s.text[s.skip(i+1, " \t"):], ">"):
			t.alone = !t.closes
			i++
		case isNameByte(byte(r)) && r < utf8.RuneSelf:
			i = s.attribute(t, i)
		default:
			i += n
		}
	}
	t.end = i
	return false
}

// attribute reads an attribute and returns where it ends.
func (s *scanner) attribute(t *tag, i int) int {
	const blanks = " \t\r\n"
	from := i
	for i < len(s.text) && isNameByte(s.text[i]) {
		i++
	}
	name := strings.ToLower(s.text[from:i])
	eq := s.skip(i, blanks)
	r, n := utf8.DecodeRuneInString(s.text[eq:])
	if r != '=' && r != '＝' {
		return i
	}
	i = s.skip(eq+n, blanks)
	value, end, ok := s.value(i)
	if !ok {
		return end
	}
	which := slices.Index([]string{"skill", "name", "skill_name", "skill-name", "skillname"}, name)
	switch {
	case which >= 0:
		s.set(t, 0, value)
	case t.tag == tagRead && (name == "path" || name == "file") || t.tag == tagRun && name == "command" || t.tag == tagFind && name == "query":
		s.set(t, 1, value)
	}
	return end
}

func (s *scanner) set(t *tag, i int, value string) {
	value = strings.TrimSpace(decoded(value))
	if t.attrs[i] != "" && t.attrs[i] != value {
		t.fault = "the tag " + t.name + " says two things with its attributes"
	}
	t.attrs[i] = value
}

// value reads the value of an attribute, with or without quotation marks.
func (s *scanner) value(i int) (value string, end int, ok bool) {
	quote, n := utf8.DecodeRuneInString(s.text[i:])
	stop := closer(quote)
	if stop == 0 {
		end = i
		for end < len(s.text) && strings.IndexByte(" \t\r\n<>", s.text[end]) < 0 && !strings.HasPrefix(s.text[end:], "/>") {
			end++
		}
		return s.text[i:end], end, true
	}
	for end = i + n; end < len(s.text); {
		r, size := utf8.DecodeRuneInString(s.text[end:])
		switch {
		case r == '<':
			return "", end, false
		case r == stop || quote == '„' && r == '”' || quote == '“' && r == '“':
			return s.text[i+n : end], end + size, true
		}
		end += size
	}
	return "", end, false
}
