package edit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Path leads to a value in a document: names of members (string) and indexes
// of elements (int), from the top.
type Path []any

// With returns the path to what is below p.
func (p Path) With(steps ...any) Path { return append(slices.Clip(slices.Clone(p)), steps...) }

// To is a path of names.
func To(names ...string) Path {
	var p Path
	for _, name := range names {
		p = append(p, name)
	}
	return p
}

// Names turns a path into the names it is made of.
func (p Path) Names() []string {
	var names []string
	for _, step := range p {
		name, _ := step.(string)
		names = append(names, name)
	}
	return names
}

func (p Path) String() string {
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

// A Number is one as it is written, since a float would not tell 1 from 1.0.
type Number string

// Lookup returns what a path leads to in a decoded document, nil for nothing.
func Lookup(tree any, p Path) any {
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

// Has reports whether a document has a member, which may be null.
func Has(tree any, p Path) bool {
	m, ok := Lookup(tree, p[:len(p)-1]).(map[string]any)
	if !ok {
		return false
	}
	name, _ := p[len(p)-1].(string)
	_, ok = m[name]
	return ok
}

// IsEmpty reports that a decoded value holds nothing.
func IsEmpty(v any) bool {
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

// listOf returns a copy of a list. A text or the like counts as a list of one.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil, map[string]any:
		return nil
	case []any:
		return slices.Clone(v)
	}
	return []any{v}
}

// put returns a copy of a decoded document with another value at a path.
func put(tree any, p Path, v any) any {
	if len(p) == 0 {
		return v
	}
	if i, ok := p[0].(int); ok {
		list := listOf(tree)
		if i == len(list) {
			list = append(list, nil)
		}
		if i < len(list) {
			list[i] = put(list[i], p[1:], v)
		}
		return list
	}
	was, _ := tree.(map[string]any)
	m := map[string]any{}
	maps.Copy(m, was)
	name, _ := p[0].(string)
	m[name] = put(m[name], p[1:], v)
	return m
}

// drop returns a copy of a decoded document without what a path leads to.
func drop(tree any, p Path) any {
	last := len(p) - 1
	parent := Lookup(tree, p[:last])
	if i, ok := p[last].(int); ok {
		list := listOf(parent)
		if i >= len(list) {
			return tree
		}
		return put(tree, p[:last], slices.Delete(list, i, i+1))
	}
	m, ok := parent.(map[string]any)
	if !ok {
		return tree
	}
	m = maps.Clone(m)
	name, _ := p[last].(string)
	delete(m, name)
	return put(tree, p[:last], m)
}

// bare returns a document without those containers on a path that are empty; nil when
// nothing is left.
func bare(tree any, p Path) any {
	for ; len(p) > 0 && IsEmpty(Lookup(tree, p)); p = p[:len(p)-1] {
		tree = drop(tree, p)
	}
	if IsEmpty(tree) {
		return nil
	}
	return tree
}

// wrapped puts a value into the containers that a path goes through.
func wrapped(p Path, v any) any {
	for _, step := range slices.Backward(p) {
		if name, ok := step.(string); ok {
			v = Object{{Key: name, Value: v}}
		} else {
			v = []any{v}
		}
	}
	return v
}

// Plain turns a value to write, or one of a decoder, into what it is in a decoded
// document.
func Plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, Number:
		return v
	case Object:
		m := make(map[string]any, len(v))
		for _, member := range v {
			m[member.Key] = Plain(member.Value)
		}
		return m
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[key] = Plain(e)
		}
		return m
	case []string:
		return plainList(v)
	case []any:
		return plainList(v)
	}
	return Number(fmt.Sprint(v)) // also a date, which is only compared
}

func plainList[T any](list []T) []any {
	l := make([]any, len(list))
	for i, e := range list {
		l[i] = Plain(e)
	}
	return l
}

// KindOf names the type of a decoded value in messages.
func KindOf(v any) string {
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
