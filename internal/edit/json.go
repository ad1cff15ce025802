package edit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// jsonFormat is JSON, with the comments and trailing commas that most clients
// allow. What is not touched stays as it is, so that a file without them gets
// none.
type jsonFormat struct{}

func (jsonFormat) Decode(data []byte) (any, error) {
	if blank(data) {
		return nil, nil
	}
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	return treeOf(v), nil
}

// blank reports whether a text holds only comments. That is not JSON, but clients read it
// as empty settings.
func blank(data []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte(bom)))
	if len(text) == 0 {
		return true
	}
	if text[0] != '/' {
		return false
	}
	if client.CheckDepth(text) != nil {
		return false
	}
	// Comments around a value would be fine, so one is put there.
	_, err := hujson.Parse(append(append([]byte(nil), text...), "\nnull"...))
	return err == nil
}

// parseJSON parses a text that may begin with a byte order mark; offsets count
// it.
func parseJSON(data []byte) (hujson.Value, error) {
	text := data
	if bytes.HasPrefix(data, []byte(bom)) {
		text = bytes.Clone(data)
		copy(text, "   ")
	}
	if err := client.CheckDepth(text); err != nil {
		return hujson.Value{}, &Error{Line: 1, Message: err.Error()}
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return v, parseError(err)
	}
	return v, nil
}

func treeOf(v hujson.Value) any {
	switch v := v.Value.(type) {
	case *hujson.Object:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[nameOf(member)] = treeOf(member.Value)
		}
		return m
	case *hujson.Array:
		l := make([]any, len(v.Elements))
		for i, e := range v.Elements {
			l[i] = treeOf(e)
		}
		return l
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case 't', 'f':
			return v.Bool()
		case '0':
			return Number(v)
		}
	}
	return nil
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// set makes the value at p be v. Containers on the way there are made.
func (f jsonFormat) set(data []byte, p Path, v any) ([]byte, error) {
	style := styleOf(data)
	if blank(data) {
		text := style.render(wrapped(p, v), "") + style.eol
		return append(closed(data, style.eol), text...), nil
	}
	at, left, err := f.follow(data, p)
	switch {
	case err != nil:
		return nil, err
	case len(left) > 0 && at.Value.Kind() != 'n':
		return style.insert(data, at, left, v), nil
	}
	return style.replace(data, at, wrapped(left, v)), nil
}

// follow goes along a path as far as it leads. It returns the value there, and the steps
// that are left.
func (jsonFormat) follow(data []byte, p Path) (at hujson.Value, left Path, err error) {
	if at, err = parseJSON(data); err != nil {
		return at, nil, err
	}
	for i, step := range p {
		next, index, err := childOf(data, at, p[:i], step)
		if err != nil || index < 0 {
			return at, p[i:], err
		}
		at = next
	}
	return at, nil, nil
}

// childOf returns the value that one step leads to, and its index among its siblings, -1
// for none. It returns an error if a value of another type is in the way, or if a name
// occurs twice, since clients differ in which one they read.
func childOf(data []byte, v hujson.Value, at Path, step any) (found hujson.Value, index int, err error) {
	if v.Value.Kind() == 'n' {
		return found, -1, nil
	}
	line, column := lineColumn(data, v.StartOffset)
	name, named := step.(string)
	if !named {
		a, ok := v.Value.(*hujson.Array)
		switch i, _ := step.(int); {
		case !ok:
			return found, -1, WrongKind(at, line, column, treeOf(v), "a list")
		case i < len(a.Elements):
			return a.Elements[i], i, nil
		}
		return found, -1, nil
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return found, -1, WrongKind(at, line, column, treeOf(v), "an object")
	}
	index = -1
	for i, m := range o.Members {
		switch {
		case nameOf(m) != name:
		case index >= 0:
			line, column := lineColumn(data, m.Name.StartOffset)
			return found, -1, secondTime(at.With(step).String(), line, column)
		default:
			found, index = m.Value, i
		}
	}
	return found, index, nil
}

// remove removes the member or element at p.
func (f jsonFormat) remove(data []byte, p Path) ([]byte, error) {
	parent := p[:len(p)-1]
	at, left, err := f.follow(data, parent)
	if err != nil || len(left) > 0 {
		return data, err
	}
	_, index, err := childOf(data, at, parent, p[len(p)-1])
	if err != nil || index < 0 {
		return data, err
	}
	return apply(data, removal(data, partsOf(at), index)...), nil
}

// A part is a member of an object or an element of a list.
type part struct {
	before     []byte // blanks and comments between what precedes it and start
	start, end int    // of the name, or of the element, and of the value
	comma      int    // where its comma is, or would be
}

// A composite is an object or a list with the places of its parts.
type composite struct {
	open, close int // of the brackets
	parts       []part
	trailing    bool   // the last part has a comma, as all others have
	after       []byte // blanks and comments before the closing bracket
}

func partsOf(v hujson.Value) composite {
	c := composite{open: v.StartOffset, close: v.EndOffset - 1}
	add := func(first, value hujson.Value) {
		c.parts = append(c.parts, part{first.BeforeExtra, first.StartOffset, value.EndOffset, value.EndOffset + len(value.AfterExtra)})
		c.trailing = value.AfterExtra != nil
	}
	switch v := v.Value.(type) {
	case *hujson.Object:
		c.after = v.AfterExtra
		for _, m := range v.Members {
			add(m.Name, m.Value)
		}
	case *hujson.Array:
		c.after = v.AfterExtra
		for _, e := range v.Elements {
			add(e, e)
		}
	}
	return c
}

// removal returns the splices that remove one part with its line. Comments stay.
func removal(data []byte, c composite, index int) []splice {
	p := c.parts[index]
	hasComma := c.trailing || index < len(c.parts)-1
	if len(c.parts) == 1 && isBlank(p.before) && len(bytes.TrimSpace(data[p.end:c.close])) <= 1 { // its comma
		return []splice{{c.open + 1, c.close, ""}}
	}
	kept := bytes.TrimRight(p.before, " \t\r\n")
	start, end := p.start-len(p.before)+len(kept), p.end
	comment := bytes.Contains(kept[lineStart(kept, len(kept)):], []byte("//"))
	if next := min(lineEnd(data, start), p.start); comment && next > start {
		// The line feed ends a comment, which must not swallow what follows. If nothing
		// else stands on the last line, its line feed goes instead.
		start = next
		last := end
		if hasComma && isBlank(data[end:p.comma]) {
			last = p.comma + 1
		}
		if stop := lineEnd(data, last); isBlank(data[last:stop]) {
			end = stop
		}
	}
	splices := []splice{{start, end, ""}}
	switch {
	case hasComma && p.comma >= end:
		splices = append(splices, splice{p.comma, p.comma + 1, ""})
	case !hasComma && index > 0:
		before := c.parts[index-1].comma
		splices = append(splices, splice{before, before + 1, ""})
	}
	return splices
}

// A jsonStyle is how a file is laid out.
type jsonStyle struct {
	eol     string
	unit    string // of indentation
	compact bool   // all on one line
	colon   string // after a name, on one line
	comma   string // between values, on one line
}

var firstIndent = lazyregexp.New(`(?m)^([ \t]+)["\]}{\[]`)

func styleOf(data []byte) jsonStyle {
	s := jsonStyle{eol: eolOf(data), unit: "  ", colon: ": ", comma: ", "}
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte(bom)))
	if found := firstIndent().FindSubmatch(data); found != nil {
		s.unit = string(found[1])
	}
	if len(text) > 2 && !bytes.ContainsRune(text, '\n') && !blank(data) {
		s.compact = true
		if v, err := parseJSON(text); err == nil {
			if o, ok := v.Value.(*hujson.Object); ok && len(o.Members) > 0 && len(o.Members[0].Value.BeforeExtra) == 0 {
				s.colon, s.comma = ":", ","
			}
		}
	}
	return s
}

// render writes a value in a line with an indentation. Lists of texts stay on one line.
func (s jsonStyle) render(v any, indent string) string {
	var parts []string
	brackets := "{}"
	switch v := v.(type) {
	case string:
		return jsonString(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case []string:
		return inBrackets(v, jsonString, s.comma)
	case []any:
		brackets = "[]"
		for _, e := range v {
			parts = append(parts, s.render(e, indent+s.unit))
		}
	case Object:
		for _, m := range v {
			parts = append(parts, s.member(m, indent+s.unit))
		}
	}
	switch {
	case len(parts) == 0:
		return brackets
	case s.compact:
		return brackets[:1] + strings.Join(parts, s.comma) + brackets[1:]
	}
	line := s.eol + indent + s.unit
	return brackets[:1] + line + strings.Join(parts, ","+line) + s.eol + indent + brackets[1:]
}

func jsonString(text string) string { return string(hujson.String(text)) }

func (s jsonStyle) member(m Member, indent string) string {
	return jsonString(m.Key) + s.colon + s.render(m.Value, indent)
}

// part writes what a step adds to a container.
func (s jsonStyle) part(step any, v any, indent string) string {
	if name, ok := step.(string); ok {
		return s.member(Member{Key: name, Value: v}, indent)
	}
	return s.render(v, indent)
}

func (s jsonStyle) replace(data []byte, at hujson.Value, v any) []byte {
	return apply(data, splice{at.StartOffset, at.EndOffset, s.render(v, indentAt(data, at.StartOffset))})
}

// insert adds what is at p to the container at, as its last part.
func (s jsonStyle) insert(data []byte, at hujson.Value, p Path, v any) []byte {
	v = wrapped(p[1:], v)
	c := partsOf(at)
	if len(c.parts) == 0 {
		return apply(data, s.intoEmpty(data, c, p[0], v))
	}
	final := c.parts[len(c.parts)-1]
	tail, before, after := final.end, ",", "" // tail is where the blanks and comments before the bracket begin
	if c.trailing {
		tail, before, after = final.comma+1, "", ","
	}
	if !bytes.ContainsRune(final.before, '\n') { // all on one line
		s.compact = true
		return apply(data, splice{tail, tail, before + strings.TrimPrefix(s.comma, ",") + s.part(p[0], v, "") + after})
	}
	indent := blanks(final.before[lineStart(final.before, len(final.before)):])
	end := tail + sameLineComments(data[tail:c.close])
	return apply(data, splice{tail, tail, before}, splice{end, end, s.eol + indent + s.part(p[0], v, indent) + after})
}

func (s jsonStyle) intoEmpty(data []byte, c composite, step any, v any) splice {
	at := c.open + 1
	if s.compact {
		return splice{at, at, s.part(step, v, "")}
	}
	outer := indentAt(data, c.open)
	indent := outer + s.unit
	line := s.eol + indent + s.part(step, v, indent)
	if bytes.ContainsRune(c.after, '\n') && !isBlank(c.after) {
		at += sameLineComments(c.after)
		return splice{at, at, line}
	}
	at += len(bytes.TrimRight(c.after, " \t\r\n"))
	return splice{at, c.close, line + s.eol + outer}
}

var lineComments = lazyregexp.New(`^(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\n]*)?`)

// sameLineComments returns the length of the comments that a text begins with, as far as
// they are on its first line.
func sameLineComments(text []byte) int {
	return len(bytes.TrimRight(lineComments().Find(text), "\r"))
}
