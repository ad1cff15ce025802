package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// set writes v at p. A mapping or a list that does not exist is made.
func (yamlFormat) set(data []byte, p Path, v any) ([]byte, error) {
	d, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	if d.top == nil {
		return d.atEnd(yamlText(wrapped(p, v), "", "  ")), nil
	}
	at, key := d.top, (*yaml.Node)(nil)
	for i, step := range p {
		name, named := step.(string)
		switch {
		case isNull(at) && key != nil:
			return d.fill(key, at, wrapped(p[i:], v))
		case !named:
			return d.appendTo(at, p[:i], yamlFlow(wrapped(p[i+1:], v)))
		case at.Kind != yaml.MappingNode:
			return nil, wrongNode(at, p[:i], "a mapping")
		}
		k, value := child(at, name)
		if k == nil {
			_, inList := p[len(p)-1].(int)
			return d.insert(at, key, wrapped(p[i:], v), inList)
		}
		at, key = value, k
	}
	// A value of ours that is out of date, or a setting of the user's that he wants replaced.
	start, end := d.member(key, at)
	text := yamlText(Object{{Key: key.Value, Value: v}}, blanks(data[start:]), "  ")
	if first, rest, ok := strings.Cut(text, "\n"); ok {
		text = first + d.comment(key, at) + "\n" + rest
	}
	return apply(data, splice{start, end, withEOL(text, d.eol)}), nil
}

func wrongNode(n *yaml.Node, at Path, want string) error {
	tree, _ := yamlTree(n, 0)
	return WrongKind(at, n.Line, n.Column, tree, want)
}

// comment returns the comment that ends the line of a key or of its value, with the blanks
// before it; "" if there is none.
func (d *document) comment(key, value *yaml.Node) string {
	at, _ := d.colon(key)
	if value.Line == key.Line {
		if _, end, err := d.extent(value); err == nil {
			at = end
		}
	}
	rest := string(bytes.TrimRight(d.data[at:lineEnd(d.data, at)], "\r\n"))
	if text := strings.TrimLeft(rest, " \t"); len(text) < len(rest) && strings.HasPrefix(text, "#") {
		return rest
	}
	return ""
}

// atEnd adds lines to the file.
func (d *document) atEnd(text string) []byte {
	return append(closed(d.data, d.eol), withEOL(text, d.eol)...)
}

// insert adds an object to a mapping, whose key is nil for the top. Empty braces become lines,
// unless all that the object holds is one item of a list.
func (d *document) insert(m, key *yaml.Node, o any, inList bool) ([]byte, error) {
	if m.Style&yaml.FlowStyle != 0 {
		at := d.offset(m) + 1
		if len(m.Content) == 0 && !inList && key != nil && m.Line == key.Line && bytes.HasPrefix(d.data[at-1:], []byte("{}")) {
			return d.fill(key, m, o)
		}
		text := yamlFlow(o)
		text = text[1 : len(text)-1]
		if n := len(m.Content); n > 0 {
			if _, end, err := d.extent(m.Content[n-1]); inList && err == nil {
				return apply(d.data, splice{end, end, ", " + text}), nil
			}
			text += ", "
		}
		return apply(d.data, splice{at, at, text}), nil
	}
	column := m.Content[0].Column
	indent := strings.Repeat(" ", column-1)
	if key == nil { // the end of the file, where readers look for what is new
		return d.atEnd(yamlText(o, indent, d.unit())), nil
	}
	unit := strings.Repeat(" ", max(1, column-key.Column))
	at := lineEnd(d.data, d.offset(key))
	return apply(d.data, splice{at, at, withEOL(yamlText(o, indent, unit), d.eol)}), nil
}

// fill puts an object or a list in the place of an empty value.
func (d *document) fill(key, value *yaml.Node, v any) ([]byte, error) {
	start := d.offset(key)
	indent := indentAt(d.data, start)
	if strings.TrimLeft(string(d.data[lineStart(d.data, start):start]), " ") != "" {
		return nil, &Error{Line: key.Line, Message: fmt.Sprintf("%q does not begin its line", key.Value)}
	}
	unit := d.unit()
	data := closed(d.data, d.eol)
	stop := lineEnd(data, start)
	splices := []splice{{stop, stop, withEOL(yamlText(v, indent+unit, unit), d.eol)}}
	length := len(value.Value)
	if value.Kind == yaml.MappingNode {
		length = len("{}")
	}
	if length > 0 {
		at := d.offset(value)
		from := at
		if isBlank(data[at+length : lineEnd(data, at+length)]) { // no blank at the end of the line
			from = len(bytes.TrimRight(data[:at], " "))
		}
		splices = append(splices, splice{from, at + length, ""})
	}
	return apply(data, splices...), nil
}

// appendTo adds an item, which is YAML in one line, at the end of a list. A single text becomes
// a list.
func (d *document) appendTo(list *yaml.Node, p Path, item string) ([]byte, error) {
	switch {
	case list.Kind == yaml.ScalarNode:
		start, end, err := d.extent(list)
		return apply(d.data, splice{start, start, "["}, splice{end, end, ", " + item + "]"}), err
	case list.Kind != yaml.SequenceNode:
		return nil, wrongNode(list, p, "a list")
	case len(list.Content) == 0:
		at := d.offset(list) + 1
		return apply(d.data, splice{at, at, item}), nil
	}
	last := list.Content[len(list.Content)-1]
	if list.Style&yaml.FlowStyle != 0 {
		_, end, err := d.extent(last)
		return apply(d.data, splice{end, end, ", " + item}), err
	}
	_, end := d.block(last, list.Column)
	line := strings.Repeat(" ", list.Column-1) + "- " + item + d.eol
	if data := closed(d.data, d.eol); end == len(d.data) {
		return append(data, line...), nil
	}
	return apply(d.data, splice{end, end, line}), nil
}

// wrapYAML makes a list or a text the value of a new key.
func wrapYAML(data []byte, p Path, name string) ([]byte, error) {
	d, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	at, key := d.top, (*yaml.Node)(nil)
	for _, step := range p.Names() {
		key, at = child(at, step)
	}
	switch {
	case at == nil || at.Kind != yaml.SequenceNode && at.Kind != yaml.ScalarNode:
		return nil, &Error{Message: fmt.Sprintf("%s is not a list", p)}
	case at.Kind == yaml.ScalarNode || at.Style&yaml.FlowStyle != 0:
		start, end, err := d.extent(at)
		return apply(data, splice{start, start, "{" + yamlString(name) + ": "}, splice{end, end, "}"}), err
	case at.Column <= key.Column:
		return nil, &Error{Line: at.Line, Message: fmt.Sprintf("the list %s is not indented", p)}
	}
	line := lineEnd(data, d.offset(key))
	return apply(data, splice{line, line, strings.Repeat(" ", at.Column-1) + yamlString(name) + ":" + d.eol}), nil
}

// remove removes what is at p, which exists.
func (yamlFormat) remove(data []byte, p Path) ([]byte, error) {
	d, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	at, index := d.top, 0             // index is the place of at in its parent
	var parent, key, above *yaml.Node // the keys of at and of parent; nil for items of lists
	for _, step := range p {
		if i, ok := step.(int); ok && at.Kind != yaml.SequenceNode {
			start, end, err := d.extent(at)
			return apply(data, splice{start, end, "[]"}), err
		} else if ok {
			parent, key, above, at, index = at, nil, key, at.Content[i], i
			continue
		}
		name, _ := step.(string)
		k, value := child(at, name)
		parent, key, above, at, index = at, k, key, value, slices.Index(at.Content, k)
	}
	first, empty := at, " []"
	if key != nil {
		first, empty = key, " {}"
	}
	if parent.Style&yaml.FlowStyle != 0 {
		_, end, err := d.extent(at)
		if err != nil {
			return nil, err
		}
		return apply(data, d.cut(d.offset(first), end, index > 0)), nil
	}
	start, end := d.block(first, parent.Column)
	if key != nil {
		start, end = d.member(key, at)
	}
	splices := []splice{{start, end, ""}}
	if index == 0 && at == parent.Content[len(parent.Content)-1] && above != nil {
		// Not every client takes a missing value for an empty mapping.
		after, ok := d.colon(above)
		if rest := bytes.TrimSpace(data[after:lineEnd(data, after)]); ok && after <= start && (len(rest) == 0 || rest[0] == '#') {
			splices = append(splices, splice{after, after, empty})
		}
	}
	return apply(data, splices...), nil
}

// cut removes a member of a value in braces or brackets, with one of the commas beside it.
func (d *document) cut(start, end int, follows bool) splice {
	data := d.data
	comma := bytes.LastIndexByte(data[:start], ',')
	if after := end + len(blanks(data[end:])); after < len(data) && data[after] == ',' {
		end = after + 1
		end += len(blanks(data[end:]))
	} else if follows && comma+1+len(blanks(data[comma+1:])) == start {
		start = comma
	}
	if first, last := lineStart(data, start), lineEnd(data, end); isBlank(data[first:start]) && isBlank(data[end:last]) {
		return splice{first, last, ""} // leave no empty line behind
	}
	return splice{start, end, ""}
}
