package setup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
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
			if step < 0 || step >= len(l) {
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
	rest, empty := drop(tree, p)
	if empty {
		return nil
	}
	return rest
}

// drop is without; empty reports that nothing is left.
func drop(tree any, p path) (rest any, empty bool) {
	if len(p) == 0 {
		return nil, true
	}
	switch step := p[0].(type) {
	case string:
		m, ok := tree.(map[string]any)
		if !ok {
			return tree, tree == nil
		}
		out := maps.Clone(m)
		if v, ok := m[step]; ok {
			if out[step], empty = drop(v, p[1:]); empty {
				delete(out, step)
			}
		}
		return out, len(out) == 0
	case int:
		l, ok := tree.([]any)
		if !ok {
			return tree, tree == nil
		}
		out := slices.Clone(l)
		if step >= 0 && step < len(l) {
			if out[step], empty = drop(l[step], p[1:]); empty {
				out = slices.Delete(out, step, step+1)
			}
		}
		return out, len(out) == 0
	}
	return tree, false
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

// A PlaceError is an error at a place in a file.
type PlaceError struct {
	File         string
	Line, Column int // from 1; 0: not known
	Message      string
}

func (e *PlaceError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}
