package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// yamlFormat is YAML. What is added is the first entry of its mapping, since
// where the last one ends is not known from what the parser tells.
type yamlFormat struct{}

func (yamlFormat) decode(data []byte) (any, error) {
	top, err := parseYAML(data)
	if err != nil || top == nil {
		return nil, err
	}
	return yamlTree(top, 0)
}

// parseYAML returns the top node of a file with one document, nil for one
// without any.
func parseYAML(data []byte) (*yaml.Node, error) {
	// For YAML these end lines, too, but for nobody who counts them.
	if i := bytes.IndexAny(bytes.ReplaceAll(data, []byte("\r\n"), []byte("  ")), "\r\u0085\u2028\u2029"); i >= 0 {
		line, column := lineColumn(data, i)
		return nil, &placeError{Line: line, Column: column, Message: "a line ends here with an unusual character"}
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = decoder.Decode(&more); err == nil {
			return nil, &placeError{Line: more.Line, Message: "a second document begins here"}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, parseError(err)
	}
	return doc.Content[0], nil
}

// yamlTree decodes a node by its text: only what is equal before and after is
// of interest, so that tags and anchors are compared as they are written.
func yamlTree(n *yaml.Node, depth int) (any, error) {
	if depth > 1000 {
		return nil, &placeError{Line: n.Line, Column: n.Column, Message: "nested too deeply"}
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := yamlTree(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			key := n.Content[i]
			if _, ok := m[key.Value]; ok {
				return nil, secondTime(key.Value, key.Line, key.Column)
			}
			m[key.Value] = v
		}
		return m, nil
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, e := range n.Content {
			v, err := yamlTree(e, depth+1)
			if err != nil {
				return nil, err
			}
			l[i] = v
		}
		return l, nil
	case yaml.AliasNode:
		return "*" + n.Value, nil
	}
	switch n.ShortTag() {
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	}
	return number(n.Value), nil
}

// yamlChild returns the key and the value of a member of a mapping.
func yamlChild(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// set writes the mapping v at p, or one value of a mapping that is there.
func (f yamlFormat) set(data []byte, p path, v any) ([]byte, error) {
	top, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	eol := eolOf(data)
	if top == nil {
		return append(closed(data, eol), withEOL(yamlText(wrapped(p, v).(object), "", "  "), eol)...), nil
	}
	at, key := top, (*yaml.Node)(nil)
	for i, name := range p.names() {
		if at.Kind != yaml.MappingNode {
			if key != nil && at.ShortTag() == "!!null" {
				return f.fill(data, key, at, wrapped(p[i:], v).(object))
			}
			tree, _ := yamlTree(at, 0)
			return nil, wrongKind(p[:i], at.Line, at.Column, tree, "a mapping")
		}
		k, value := yamlChild(at, name)
		if k == nil {
			return f.insert(data, at, key, wrapped(p[i:], v).(object))
		}
		at, key = value, k
	}
	// A value of ours that is out of date, or a setting of the user's that he wants replaced.
	start, end := f.extent(data, key)
	text := yamlText(object{{Key: key.Value, Value: v}}, blanks(data[start:]), "  ")
	if first, rest, ok := strings.Cut(text, "\n"); ok {
		text = first + f.comment(data, key, at) + "\n" + rest
	}
	return apply(data, splice{start, end, withEOL(text, eol)}), nil
}

// comment returns the comment that ends the line of a key or of its value, with the blanks
// before it; "" if there is none.
func (f yamlFormat) comment(data []byte, key, value *yaml.Node) string {
	at := f.offset(data, key.Line, key.Column)
	if i := bytes.IndexByte(data[at:], ':'); i >= 0 && len(key.Value) <= i { // after a key in quotes, too
		at += i + 1
	}
	if value.Line == key.Line {
		at = f.offset(data, value.Line, value.Column)
		switch {
		case value.Kind != yaml.ScalarNode:
			at = flowEnd(data, at)
		case value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
			at = quoteEnd(data, at)
		case bytes.HasPrefix(data[at:], []byte(value.Value)):
			at += len(value.Value)
		}
	}
	rest := string(bytes.TrimRight(data[at:lineEnd(data, at)], "\r\n"))
	if text := strings.TrimLeft(rest, " \t"); len(text) < len(rest) && strings.HasPrefix(text, "#") {
		return rest
	}
	return ""
}

// quoteEnd returns the end of a text in quotes.
func quoteEnd(data []byte, at int) int {
	quote := data[at]
	for i := at + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return len(data)
}

// insert adds o to a mapping, whose key is nil for the top.
func (f yamlFormat) insert(data []byte, m, key *yaml.Node, o object) ([]byte, error) {
	eol, unit := eolOf(data), yamlUnit(data)
	switch {
	case m.Style&yaml.FlowStyle != 0:
		at := f.offset(data, m.Line, m.Column) + 1
		if len(m.Content) == 0 && key != nil && m.Line == key.Line && bytes.HasPrefix(data[at-1:], []byte("{}")) {
			return f.fill(data, key, m, o)
		}
		text := yamlFlow(o)
		if len(m.Content) > 0 {
			text += ", "
		}
		return apply(data, splice{at, at, text}), nil
	case key == nil: // the end of the file, where readers look for what is new
		return append(closed(data, eol), withEOL(yamlText(o, "", unit), eol)...), nil
	}
	first := m.Content[0]
	indent := strings.Repeat(" ", first.Column-1)
	unit = strings.Repeat(" ", max(1, first.Column-key.Column))
	at := lineEnd(data, f.offset(data, key.Line, key.Column))
	return apply(data, splice{at, at, withEOL(yamlText(o, indent, unit), eol)}), nil
}

// fill puts o in the place of an empty value.
func (f yamlFormat) fill(data []byte, key, value *yaml.Node, o object) ([]byte, error) {
	start := f.offset(data, key.Line, key.Column)
	indent := indentAt(data, start)
	if strings.TrimLeft(string(data[lineStart(data, start):start]), " ") != "" {
		return nil, &placeError{Line: key.Line, Message: fmt.Sprintf("%q does not begin its line", key.Value)}
	}
	unit, eol := yamlUnit(data), eolOf(data)
	data = closed(data, eol)
	stop := lineEnd(data, start)
	splices := []splice{{stop, stop, withEOL(yamlText(o, indent+unit, unit), eol)}}
	length := len(value.Value)
	if value.Kind == yaml.MappingNode {
		length = len("{}")
	}
	if length > 0 {
		at := f.offset(data, value.Line, value.Column)
		from := at
		if isBlank(data[at+length : lineEnd(data, at+length)]) { // no blank at the end of the line
			from = len(bytes.TrimRight(data[:at], " "))
		}
		splices = append(splices, splice{from, at + length, ""})
	}
	return apply(data, splices...), nil
}

// remove removes the entry at p.
func (f yamlFormat) remove(data []byte, p path) ([]byte, error) {
	top, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	var parent, above, key *yaml.Node // above is the key of parent
	at := top
	for _, name := range p.names() {
		k, value := yamlChild(at, name)
		if k == nil {
			return data, nil
		}
		parent, above, key, at = at, key, k, value
	}
	if parent.Style&yaml.FlowStyle == 0 {
		start, end := f.extent(data, key)
		splices := []splice{{start, end, ""}}
		if above != nil && len(parent.Content) == 2 {
			// Not every client takes a missing value for an empty mapping.
			colon := f.offset(data, above.Line, above.Column) + len(above.Value)
			if above.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
				colon += 2
			}
			if colon < start && data[colon] == ':' {
				rest := bytes.TrimSpace(data[colon+1 : lineEnd(data, colon)])
				if len(rest) == 0 || rest[0] == '#' {
					splices = append(splices, splice{colon + 1, colon + 1, " {}"})
				}
			}
		}
		return apply(data, splices...), nil
	}
	start, end := f.offset(data, key.Line, key.Column), flowEnd(data, f.offset(data, at.Line, at.Column))
	for i, n := range parent.Content {
		if n == key && i+2 < len(parent.Content) {
			// Up to what follows the comma, where the next key or its mark begins.
			end += len(blanks(data[end:]))
			if end == len(data) || data[end] != ',' {
				next := parent.Content[i+2]
				end = f.offset(data, next.Line, next.Column)
				continue
			}
			end++
			end += len(blanks(data[end:]))
		} else if n == key && i > 0 {
			start = bytes.LastIndexByte(data[:start], ',')
		}
	}
	return apply(data, splice{start, end, ""}), nil
}

// flowEnd returns the end of a value in braces or brackets. What it takes
// wrongly, the check of the edit refuses.
func flowEnd(data []byte, at int) int {
	depth := 0
	var quote byte
	for i := at; i < len(data); i++ {
		switch c := data[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(data)
}

// extent returns the lines of an entry of a block mapping: the line of its key, and the
// lines below that are indented more.
func (f yamlFormat) extent(data []byte, key *yaml.Node) (start, end int) {
	at := f.offset(data, key.Line, key.Column)
	start = lineStart(data, at)
	end = lineEnd(data, at)
	for at := end; at < len(data); {
		next := lineEnd(data, at)
		line := bytes.TrimRight(data[at:next], "\r\n")
		text := bytes.TrimLeft(line, " \t")
		if len(text) > 0 {
			if len(line)-len(text) <= key.Column-1 {
				break
			}
			if text[0] != '#' { // a comment may belong to what follows
				end = next
			}
		}
		at = next
	}
	return start, end
}

// offset returns the place of a line and a column, which counts characters.
func (yamlFormat) offset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at = lineEnd(data, at)
	}
	if bytes.HasPrefix(data[at:], []byte(bom)) {
		at += len(bom)
	}
	for ; column > 1 && at < len(data); column-- {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}

var yamlIndent = lazyregexp.New(`(?m)^[^\s#-][^\n]*:[ \t]*\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( +)[^\s#-]`)

// yamlUnit returns the indentation of a file.
func yamlUnit(data []byte) string {
	if found := yamlIndent().FindSubmatch(data); found != nil {
		return string(found[1])
	}
	return "  "
}

// yamlText writes a mapping in lines.
func yamlText(o object, indent, unit string) string {
	var b strings.Builder
	for _, m := range o {
		b.WriteString(indent + yamlString(m.Key) + ":")
		if v, ok := m.Value.(object); ok && len(v) > 0 {
			b.WriteString("\n" + yamlText(v, indent+unit, unit))
		} else {
			b.WriteString(" " + yamlFlowValue(m.Value) + "\n")
		}
	}
	return b.String()
}

// yamlFlow writes the members of a mapping in one line.
func yamlFlow(o object) string {
	var parts []string
	for _, m := range o {
		parts = append(parts, yamlString(m.Key)+": "+yamlFlowValue(m.Value))
	}
	return strings.Join(parts, ", ")
}

func yamlFlowValue(v any) string {
	switch v := v.(type) {
	case string:
		return yamlString(v)
	case object:
		return "{" + yamlFlow(v) + "}"
	case []string:
		return inBrackets(v, yamlString, ", ")
	}
	return fmt.Sprint(v)
}

var yamlPlain = lazyregexp.New(`^[A-Za-z/][A-Za-z0-9_/.-]*$`)

// yamlString writes a text plainly where nobody can take it for something
// else, else as JSON, which is YAML.
func yamlString(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(s)
	}
	if yamlPlain().MatchString(s) {
		return s
	}
	return jsonString(s)
}
