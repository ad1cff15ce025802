package setup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// A path leads to a value in a document: names of members (string) and indexes
// of elements (int), from the top.
type path []any

// with returns the path to what is below p.
func (p path) with(steps ...any) path { return append(slices.Clip(slices.Clone(p)), steps...) }

// pathTo is a path of names.
func pathTo(names ...string) path {
	var p path
	for _, name := range names {
		p = append(p, name)
	}
	return p
}

func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// The values to write, see client.Object.
type (
	object = client.Object
	member = client.Member
)

// lookup returns what a path leads to in a decoded document, nil for nothing.
func lookup(tree any, p path) any {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			m, _ := tree.(map[string]any)
			tree = m[step]
		case int:
			l, _ := tree.([]any)
			if step >= len(l) {
				return nil
			}
			tree = l[step]
		}
	}
	return tree
}

// has reports whether a document has a member, which may be null.
func has(tree any, p path) bool {
	m, ok := lookup(tree, p[:len(p)-1]).(map[string]any)
	if !ok {
		return false
	}
	name, _ := p[len(p)-1].(string)
	_, ok = m[name]
	return ok
}

// isEmpty reports that a decoded value holds nothing.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// without returns a copy of a decoded document without what a path leads to,
// and without containers on the way there that are empty then; nil when
// nothing is left.
func without(tree any, p path) any {
	if len(p) == 0 {
		return nil
	}
	switch step := p[0].(type) {
	case string:
		m, _ := tree.(map[string]any)
		if v, ok := m[step]; ok {
			m = maps.Clone(m)
			if m[step] = without(v, p[1:]); m[step] == nil {
				delete(m, step)
			}
			tree = m
		}
	case int:
		l, _ := tree.([]any)
		if step < len(l) {
			l = slices.Clone(l)
			if l[step] = without(l[step], p[1:]); l[step] == nil {
				l = slices.Delete(l, step, step+1)
			}
			tree = l
		}
	}
	if isEmpty(tree) {
		return nil
	}
	return tree
}

// plain turns a value to write, or one of a decoder, into what it is in a decoded
// document.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, number:
		return v
	case object:
		m := make(map[string]any, len(v))
		for _, member := range v {
			m[member.Key] = plain(member.Value)
		}
		return m
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[key] = plain(e)
		}
		return m
	case []string:
		return plainList(v)
	case []any:
		return plainList(v)
	}
	return number(fmt.Sprint(v)) // also a date, which is only compared
}

func plainList[T any](list []T) []any {
	l := make([]any, len(list))
	for i, e := range list {
		l[i] = plain(e)
	}
	return l
}

// A number is one as it is written, since a float would not tell 1 from 1.0.
type number string

// kindOf names the type of a decoded value in messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// A placeError is an error at a place in a file.
type placeError struct {
	File         string
	Line, Column int // from 1; 0: not known
	Message      string
}

var parserPlace = lazyregexp.New(`^(?:hujson|yaml): (?:line (\d+)(?:, column (\d+))?: )?`)

// parseError turns the error of a parser, which begins with the place, into a placeError.
func parseError(err error) error {
	text := err.Error()
	found := append(parserPlace().FindStringSubmatch(text), "", "", "")
	place := &placeError{Message: strings.TrimPrefix(text, found[0])}
	place.Line, _ = strconv.Atoi(found[1])
	place.Column, _ = strconv.Atoi(found[2])
	return place
}

// wrongKind is the error for a value v, at a path and a place, that is not what it must be.
func wrongKind(at path, line, column int, v any, want string) error {
	what := "the file"
	if len(at) > 0 {
		what = strconv.Quote(at.String())
	}
	return &placeError{Line: line, Column: column, Message: fmt.Sprintf("%s is %s, not %s", what, kindOf(v), want)}
}

func secondTime(name string, line, column int) error {
	return &placeError{Line: line, Column: column, Message: fmt.Sprintf("%q stands here a second time", name)}
}

func (e *placeError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}
