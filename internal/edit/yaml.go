package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// yamlFormat is YAML. What is added to a mapping is its first entry, since
// where the last one ends is not known from what the parser tells.
type yamlFormat struct{}

func (yamlFormat) Decode(data []byte) (any, error) {
	d, err := parseYAML(data)
	if err != nil || d.top == nil {
		return nil, err
	}
	return yamlTree(d.top, 0)
}

// A document is the text of a file with one YAML document.
type document struct {
	data []byte
	top  *yaml.Node // nil means that the file holds nothing
	eol  string
}

func parseYAML(data []byte) (*document, error) {
	// YAML takes these characters for ends of lines; whoever counts lines does not.
	if i := bytes.IndexAny(bytes.ReplaceAll(data, []byte("\r\n"), []byte("  ")), "\r\u0085\u2028\u2029"); i >= 0 {
		line, column := lineColumn(data, i)
		return nil, &Error{Line: line, Column: column, Message: "a line ends here with an unusual character"}
	}
	top, err := YAMLNode(data)
	return &document{data, top, eolOf(data)}, err
}

// YAMLNode returns the value at a path of keys in a file with one YAML document; nil means
// that there is none.
func YAMLNode(data []byte, keys ...string) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some malformed comments and anchors
			n, err = nil, &Error{Message: fmt.Sprintf("malformed YAML: %v", r)}
		}
	}()
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err = decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = decoder.Decode(&more); err == nil {
			return nil, &Error{Line: more.Line, Message: "a second document; a configuration is one"}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, parseError(err)
	}
	if len(doc.Content) > 0 && !isNull(doc.Content[0]) {
		n = doc.Content[0]
	}
	for _, key := range keys {
		_, n = child(n, key)
	}
	return n, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// child returns the key and the value of a member of a mapping.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
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

// yamlTree decodes a node by its text: only what is equal before and after is
// of interest, so that aliases are compared as they are written.
func yamlTree(n *yaml.Node, depth int) (any, error) {
	if depth > 1000 {
		return nil, &Error{Line: n.Line, Column: n.Column, Message: "nested too deeply"}
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
			if key.Kind != yaml.ScalarNode {
				return nil, &Error{Line: key.Line, Column: key.Column, Message: "a key must be a text"}
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
	case "!!int", "!!float":
		return Number(n.Value), nil
	}
	return Number(n.ShortTag() + " " + n.Value), nil
}

// offset returns where a node begins. Its column counts characters.
func (d *document) offset(n *yaml.Node) int {
	at := 0
	for line := n.Line; line > 1; line-- {
		at = lineEnd(d.data, at)
	}
	if bytes.HasPrefix(d.data[at:], []byte(bom)) {
		at += len(bom)
	}
	for column := n.Column; column > 1 && at < len(d.data); column-- {
		_, size := utf8.DecodeRune(d.data[at:])
		at += size
	}
	return at
}

// extent returns the text of a node that is a scalar in one line, or in brackets or braces.
func (d *document) extent(n *yaml.Node) (start, end int, err error) {
	start = d.offset(n)
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0:
		return 0, 0, &Error{Line: n.Line, Message: "it has an anchor, an alias or a tag"}
	case n.Kind != yaml.ScalarNode:
		return start, flowEnd(d.data, start), nil
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return start, quoteEnd(d.data, start), nil
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && bytes.HasPrefix(d.data[start:], []byte(n.Value)):
		return start, start + len(n.Value), nil
	}
	return 0, 0, &Error{Line: n.Line, Message: "it is a text of several lines"}
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

// flowEnd returns the end of a value in braces or brackets. What it takes
// wrongly, the check of the edit refuses.
func flowEnd(data []byte, at int) int {
	depth := 0
	for i := at; i < len(data); i++ {
		begins := i == at || strings.IndexByte(" \t\n[{,:", data[i-1]) >= 0
		switch c := data[i]; {
		case (c == '"' || c == '\'') && begins:
			i = quoteEnd(data, i) - 1
		case c == '#' && begins:
			i = lineEnd(data, i) - 1
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

// block returns the lines of an entry of a mapping or a list in lines: the line of its key or
// hyphen, which stands in a column, and the lines below that are indented more.
func (d *document) block(n *yaml.Node, column int) (start, end int) {
	at := d.offset(n)
	start, end = lineStart(d.data, at), lineEnd(d.data, at)
	for at := end; at < len(d.data); {
		next := lineEnd(d.data, at)
		line := bytes.TrimRight(d.data[at:next], "\r\n")
		text := bytes.TrimLeft(line, " \t")
		if len(text) > 0 {
			if len(line)-len(text) <= column-1 {
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

// member returns the lines of a member of a mapping in lines. The items of a list may stand in the column of
// its key.
func (d *document) member(key, value *yaml.Node) (start, end int) {
	start, end = d.block(key, key.Column)
	if n := len(value.Content); value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && n > 0 {
		_, end = d.block(value.Content[n-1], value.Column)
	}
	return start, end
}

// colon returns the place after the colon of a key, or one before it if ok is false.
func (d *document) colon(key *yaml.Node) (at int, ok bool) {
	_, at, err := d.extent(key)
	if err != nil {
		return d.offset(key), false
	}
	at += len(blanks(d.data[at:]))
	if ok = at < len(d.data) && d.data[at] == ':'; ok {
		at++
	}
	return at, ok
}

var yamlIndent = lazyregexp.New(`(?m)^[^\s#-][^\n]*:[ \t]*\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( +)[^\s#-]`)

// unit returns the indentation of a file.
func (d *document) unit() string {
	if found := yamlIndent().FindSubmatch(d.data); found != nil {
		return string(found[1])
	}
	return "  "
}

// yamlText writes an object or a list in lines.
func yamlText(v any, indent, unit string) string {
	var b strings.Builder
	list, _ := v.([]any)
	for _, item := range list {
		b.WriteString(indent + "- " + yamlFlow(item) + "\n")
	}
	o, _ := v.(Object)
	for _, m := range o {
		b.WriteString(indent + yamlString(m.Key) + ":")
		deeper := indent + unit
		if _, ok := m.Value.([]any); ok {
			deeper = indent + "  "
		}
		if inner := yamlText(m.Value, deeper, unit); inner != "" {
			b.WriteString("\n" + inner)
		} else {
			b.WriteString(" " + yamlFlow(m.Value) + "\n")
		}
	}
	return b.String()
}

// YAMLLine is what people write for the value at a path, in one line.
func YAMLLine(at Path, v any) string {
	text := yamlFlow(wrapped(at, v))
	return text[1 : len(text)-1] // without its braces
}

// yamlFlow writes a value in one line.
func yamlFlow(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return yamlString(v)
	case []string:
		return inBrackets(v, yamlString, ", ")
	case []any:
		return inBrackets(v, yamlFlow, ", ")
	case Object:
		for _, m := range v {
			parts = append(parts, yamlString(m.Key)+": "+yamlFlow(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// yamlPlain matches texts that nobody can take for something else, also in brackets.
var yamlPlain = lazyregexp.New(`^(?:~?/)?[A-Za-z_.][A-Za-z0-9_/.*-]*$`)

// yamlString writes a text plainly or, if it could be taken for something else, as JSON, which
// is YAML.
func yamlString(s string) string {
	var n yaml.Node
	if yamlPlain().MatchString(s) && yaml.Unmarshal([]byte(s), &n) == nil && n.Content[0].ShortTag() == "!!str" {
		switch strings.ToLower(s) {
		case "y", "n", "yes", "no", "on", "off":
		default:
			return s
		}
	}
	return jsonString(s)
}
