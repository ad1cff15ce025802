package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// tomlFormat is TOML, where what is added is a table at the end of the file.
type tomlFormat struct{}

func (tomlFormat) Decode(data []byte) (any, error) {
	var m map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte(bom)), &m); err != nil {
		place := &Error{Message: strings.TrimPrefix(err.Error(), "toml: ")}
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			place.Line, place.Column = at.Position()
		}
		return nil, place
	}
	return Plain(m), nil
}

// A tomlLine is one expression of a file.
type tomlLine struct {
	kind       unstable.Kind
	key        []string
	table      []string // that it belongs to; of a header the same as key
	start, end int      // of the expression; of a header its line without its end
}

// tomlLines returns the expressions of a valid file.
func tomlLines(data []byte) []tomlLine {
	var p unstable.Parser
	skip := len(data) - len(bytes.TrimPrefix(data, []byte(bom)))
	p.Reset(data[skip:])
	var lines []tomlLine
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		l := tomlLine{kind: e.Kind}
		first := -1
		for it := e.Key(); it.Next(); {
			l.key = append(l.key, string(it.Node().Data))
			if first < 0 {
				first = skip + int(it.Node().Raw.Offset)
			}
		}
		if e.Kind == unstable.KeyValue {
			l.start = skip + int(e.Raw.Offset)
			l.end = l.start + int(e.Raw.Length)
		} else {
			table = l.key
			l.start = lineStart(data, first)
			l.end = len(bytes.TrimRight(data[:lineEnd(data, first)], "\r\n"))
		}
		l.table = table
		lines = append(lines, l)
	}
	return lines
}

// set writes the table v at p, or one value of a table that is there.
func (f tomlFormat) set(data []byte, p Path, v any) ([]byte, error) {
	tree, err := f.Decode(data)
	if err != nil {
		return nil, err
	}
	names := p.Names()
	if o, ok := v.(Object); ok && Lookup(tree, p) == nil {
		return appendTable(data, names, o), nil
	}
	table, key := names[:len(names)-1], names[len(names)-1]
	text := tomlKey(key) + " = " + tomlValue(v)
	for _, l := range tomlLines(data) {
		switch {
		case l.kind == unstable.KeyValue && slices.Equal(l.table, table) && slices.Equal(l.key, []string{key}):
			return apply(data, splice{l.start, l.end, text}), nil
		case l.kind == unstable.Table && slices.Equal(l.key, table) && Lookup(tree, p) == nil:
			indent := indentAt(data, l.start)
			return apply(data, splice{l.end, l.end, eolOf(data) + indent + text}), nil
		}
	}
	return nil, &Error{Message: fmt.Sprintf("%q is not written as a table of its own", p[:len(p)-1].String())}
}

func appendTable(data []byte, names []string, o Object) []byte {
	eol := eolOf(data)
	var b strings.Builder
	if !isBlank(bytes.TrimPrefix(data, []byte(bom))) {
		b.WriteString(eol)
	}
	b.WriteString(inBrackets(names, tomlKey, ".") + eol)
	for _, m := range o {
		b.WriteString(tomlKey(m.Key) + " = " + tomlValue(m.Value) + eol)
	}
	return append(closed(data, eol), b.String()...)
}

// remove removes the table at p with what is below it.
func (f tomlFormat) remove(data []byte, p Path) ([]byte, error) {
	if _, err := f.Decode(data); err != nil {
		return nil, err
	}
	var splices []splice
	names := p.Names()
	for _, l := range tomlLines(data) {
		key := l.key
		if l.kind == unstable.KeyValue {
			key = slices.Concat(l.table, key)
		}
		if len(key) < len(names) || !slices.Equal(key[:len(names)], names) {
			continue
		}
		s := splice{start: lineStart(data, l.start), end: lineEnd(data, l.end)}
		if n := len(splices); n > 0 && isBlank(data[splices[n-1].end:s.start]) {
			splices[n-1].end = s.end
		} else {
			splices = append(splices, s)
		}
	}
	for i, s := range splices {
		splices[i].start = s.start - blankBefore(data, s)
	}
	return apply(data, splices...), nil
}

// blankBefore returns the length of the blank line before a removal that would
// otherwise be left at the end of the file, or beside another one.
func blankBefore(data []byte, s splice) int {
	before := lineStart(data, max(0, s.start-1))
	after := lineEnd(data, s.end)
	if !isBlank(data[before:s.start]) || !isBlank(data[s.end:after]) {
		return 0
	}
	return s.start - before
}

var bareKey = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return tomlString(key)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		return inBrackets(v, tomlString, ", ")
	}
	return fmt.Sprint(v)
}

// tomlString writes a basic string: one of JSON, but for the character DEL.
func tomlString(s string) string { return strings.ReplaceAll(jsonString(s), "\x7f", `\u007f`) }
