package yamledit

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A document is the text of a file with one YAML document, and its nodes.
type document struct {
	data []byte
	top  *yaml.Node // nil means that the file holds nothing
	eol  string
}

// parse reads a file with one document.
func parse(data []byte) (d *document, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some malformed comments and anchors
			d, err = nil, refused(nil, "malformed YAML: %v", r)
		}
	}()
	// For YAML these end lines too, but for nobody who counts them.
	if bytes.ContainsAny(bytes.ReplaceAll(data, []byte("\r\n"), nil), "\r\u0085\u2028\u2029") {
		return nil, refused(nil, "a line ends with an unusual character")
	}
	d = &document{data: data, eol: "\n"}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		d.eol = "\r\n"
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err = decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return d, nil
	}
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, refused(&more, "a second document begins here")
	case !errors.Is(err, io.EOF):
		return nil, refused(nil, "%v", err)
	}
	if len(doc.Content) > 0 && doc.Content[0].Tag != "!!null" {
		d.top = doc.Content[0]
		if d.top.Kind != yaml.MappingNode {
			return nil, refused(d.top, "the file holds no mapping")
		}
	}
	return d, nil
}

// child returns the key and the value of a member of a mapping.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name && n.Content[i].Kind == yaml.ScalarNode {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// offset returns where a node begins. Its column counts characters.
func (d *document) offset(n *yaml.Node) int {
	at := 0
	for line := n.Line; line > 1; line-- {
		at = d.lineEnd(at)
	}
	if at == 0 {
		at += len(d.data) - len(bytes.TrimPrefix(d.data, []byte("\ufeff")))
	}
	for column := n.Column; column > 1 && at < len(d.data); column-- {
		_, size := utf8.DecodeRune(d.data[at:])
		at += size
	}
	return at
}

func (d *document) lineStart(at int) int { return bytes.LastIndexByte(d.data[:at], '\n') + 1 }

// lineEnd returns where the line of a place ends: after its line feed.
func (d *document) lineEnd(at int) int {
	if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(d.data)
}

func blanks(text []byte) string { return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))]) }

// extentOf returns the text of a node that is a scalar in one line, or in brackets or braces.
func (d *document) extentOf(n *yaml.Node) (start, end int, err error) {
	start = d.offset(n)
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0:
		return 0, 0, refused(n, "it has an anchor, an alias or a tag")
	case n.Kind != yaml.ScalarNode:
		return start, d.flowEnd(start), nil
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return start, d.quoteEnd(start), nil
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && bytes.HasPrefix(d.data[start:], []byte(n.Value)):
		return start, start + len(n.Value), nil
	}
	return 0, 0, refused(n, "it is a text of several lines")
}

// quoteEnd returns the end of a text in quotes.
func (d *document) quoteEnd(at int) int {
	quote := d.data[at]
	for i := at + 1; i < len(d.data); i++ {
		switch {
		case d.data[i] == '\\' && quote == '"':
			i++
		case d.data[i] == quote && quote == '\'' && i+1 < len(d.data) && d.data[i+1] == quote:
			i++
		case d.data[i] == quote:
			return i + 1
		}
	}
	return len(d.data)
}

// flowEnd returns the end of a value in braces or brackets. What it takes wrongly, the
// check of the edit refuses.
func (d *document) flowEnd(at int) int {
	depth := 0
	for i := at; i < len(d.data); i++ {
		begins := i == at || strings.IndexByte(" \t\n[{,:", d.data[i-1]) >= 0
		switch c := d.data[i]; {
		case (c == '"' || c == '\'') && begins:
			i = d.quoteEnd(i) - 1
		case c == '#' && begins:
			i = d.lineEnd(i) - 1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(d.data)
}

// blockEnd returns the end of the last line of an item of a list in lines, whose hyphens
// stand in a column. A comment or an empty line after the item may belong to what follows.
func (d *document) blockEnd(item *yaml.Node, column int) int {
	end := d.lineEnd(d.offset(item))
	for at := end; at < len(d.data); {
		next := d.lineEnd(at)
		line := bytes.TrimRight(d.data[at:next], "\r\n")
		text := bytes.TrimLeft(line, " \t")
		if len(text) > 0 {
			if len(line)-len(text) <= column-1 {
				break
			}
			if text[0] != '#' {
				end = next
			}
		}
		at = next
	}
	return end
}
