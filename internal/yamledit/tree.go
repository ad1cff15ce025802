package yamledit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// A scalar is a value as it is written: an edit that changes only its tag shows.
type scalar struct{ tag, text string }

// treeOf decodes a node into maps, lists and scalars.
func treeOf(n *yaml.Node, depth int) (any, error) {
	switch {
	case n == nil:
		return map[string]any{}, nil
	case depth > 100:
		return nil, refused(n, "it is nested too deeply")
	case n.Kind == yaml.MappingNode:
		m := make(map[string]any)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if _, twice := m[key.Value]; twice || key.Kind != yaml.ScalarNode {
				return nil, refused(key, "a key must be a text, and stand there once")
			}
			v, err := treeOf(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			m[key.Value] = v
		}
		return m, nil
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, e := range n.Content {
			v, err := treeOf(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case n.Kind == yaml.AliasNode:
		return scalar{"alias", n.Value}, nil
	}
	return scalar{n.ShortTag() + " " + n.Anchor, n.Value}, nil
}

// decodeItem decodes an item that is added.
func decodeItem(item string) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(item), &doc); err != nil || len(doc.Content) == 0 || strings.ContainsAny(item, "\r\n") {
		return nil, fmt.Errorf("%q is not YAML in one line", item)
	}
	return treeOf(doc.Content[0], 0)
}

// changed returns a tree with another value at a path of keys.
func changed(tree any, path []string, f func(any) any) any {
	if len(path) == 0 {
		return f(tree)
	}
	m, _ := tree.(map[string]any)
	m = maps.Clone(m)
	if m == nil {
		m = make(map[string]any)
	}
	m[path[0]] = changed(m[path[0]], path[1:], f)
	return m
}

// added returns a tree with an item at the end of the list at a path.
func added(tree any, path []string, item any) any {
	return changed(tree, path, func(v any) any {
		switch v := v.(type) {
		case nil:
			return []any{item}
		case []any:
			return append(slices.Clone(v), item)
		}
		return []any{v, item}
	})
}

// removed returns a tree without an item of the list at a path.
func removed(tree any, path []string, index int) any {
	return changed(tree, path, func(v any) any {
		if list, ok := v.([]any); ok && index < len(list) {
			return append([]any{}, slices.Delete(slices.Clone(list), index, index+1)...)
		}
		return []any{}
	})
}

// wrapped returns a tree in which the value at a path is the value of a new key.
func wrapped(tree any, path []string, key string) any {
	return changed(tree, path, func(v any) any { return map[string]any{key: v} })
}

// plain matches texts that nobody can take for something else, also in brackets.
var plain = lazyregexp.New(`^(?:~/)?[A-Za-z_.][A-Za-z0-9_/.*-]*$`)

// Text returns a text as YAML in one line: plainly or, if it could be taken for something
// else, as JSON, which is YAML.
func Text(s string) string {
	var n yaml.Node
	if plain().MatchString(s) && yaml.Unmarshal([]byte(s), &n) == nil && n.Content[0].ShortTag() == "!!str" {
		switch strings.ToLower(s) {
		case "y", "n", "yes", "no", "on", "off":
		default:
			return s
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // unreachable: a text can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Mapping returns a mapping as YAML in one line. The fields are keys, each followed by its
// value, which is YAML.
func Mapping(fields ...string) string {
	var parts []string
	for pair := range slices.Chunk(fields, 2) {
		parts = append(parts, Text(pair[0])+": "+pair[1])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
