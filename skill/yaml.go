package skill

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Limits of one frontmatter. Each use of an alias counts with its whole target, so
// that a few lines cannot grow into gigabytes.
const (
	maxDepth = 64
	maxNodes = 10_000
	maxBytes = 4 * MaxFrontmatter
)

var (
	errTooDeep      = fmt.Errorf("nested deeper than %d levels", maxDepth)
	errNotMapping   = errors.New("the frontmatter is not a mapping")
	errTwoDocuments = errors.New("yaml: more than one document")
	errTooMany      = fmt.Errorf("more than %d values or %d bytes, aliases counted each time", maxNodes, maxBytes)
)

// parseMapping returns the only document in text, which must be a mapping.
func parseMapping(text string) (root *yaml.Node, err error) {
	// The library panics on some malformed comments and anchors. This is the
	// only place that calls it, so no input can crash a program through it.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	text, restore := hideBreaks(text)
	var doc, rest yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&doc); err != nil && err != io.EOF {
		return nil, err
	}
	// Without this check, a second document would be dropped silently.
	if err := dec.Decode(&rest); err != io.EOF {
		return nil, cmp.Or(err, errTwoDocuments)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNotMapping
	}
	restore(doc.Content[0])
	return doc.Content[0], nil
}

// hideBreaks replaces U+2028 and U+2029 by two private code points, because the
// library treats them as line ends as YAML 1.1 did. The function that it returns
// puts them back.
func hideBreaks(text string) (string, func(*yaml.Node)) {
	if !strings.ContainsAny(text, "\u2028\u2029") || strings.ContainsAny(text, "\U0010FFFC\U0010FFFD") {
		return text, func(*yaml.Node) {}
	}
	back := strings.NewReplacer("\U0010FFFC", "\u2028", "\U0010FFFD", "\u2029")
	var restore func(n *yaml.Node)
	restore = func(n *yaml.Node) { // ends at aliases: their Content is empty
		n.Value, n.LineComment = back.Replace(n.Value), back.Replace(n.LineComment)
		for _, c := range n.Content {
			restore(c)
		}
	}
	return strings.NewReplacer("\u2028", "\U0010FFFC", "\u2029", "\U0010FFFD").Replace(text), restore
}

// pairs iterates over the keys and values of a mapping.
func pairs(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], mapping.Content[i+1]) {
				return
			}
		}
	}
}

// A resolver turns YAML nodes into values by the core schema of YAML 1.2, as the
// other clients of skills do: dates stay strings, 014 is fourteen and << is an
// ordinary key.
type resolver struct {
	nodes int
	bytes int
	found func(rule string, n *yaml.Node, message string)
}

func (r *resolver) value(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	r.nodes++
	r.bytes += len(n.Value)
	if r.nodes > maxNodes || r.bytes > maxBytes {
		return nil, errTooMany
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return r.scalar(n), nil
}

func (r *resolver) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for k, value := range pairs(n) {
		key, err := r.key(k, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := r.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			r.found("duplicate-key", k, "key "+quote(key)+" occurs twice; the last one counts")
		}
		m[key] = v
	}
	return m, nil
}

// key returns a key as text, the only kind of key that JSON has. A key that is not
// a string becomes its JSON text.
func (r *resolver) key(n *yaml.Node, depth int) (string, error) {
	v, err := r.value(n, depth)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "", nil
	}
	out, err := json.Marshal(v)
	if err != nil { // .inf or .nan somewhere in it
		return tidy.Clean(flatText(n)), nil
	}
	return string(out), nil
}

func (r *resolver) scalar(n *yaml.Node) any {
	v := resolveScalar(n)
	switch v := v.(type) {
	case string:
		if n.Style&yaml.DoubleQuotedStyle == 0 {
			return tidy.Clean(v)
		}
		// Cleaning the file could not see characters that are written as escapes.
		cleaned, hidden := tidy.CleanAndCount(v)
		for _, h := range hidden {
			r.found("hidden-"+h.Kind, n, hiddenMessage(h)+" written as escapes")
		}
		return cleaned
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			r.found("not-json", n, n.Value+" cannot be represented in JSON")
		}
	}
	return v
}

// resolveScalar returns the value of a scalar. A plain scalar is resolved by the
// core schema; a quoted or block scalar is text. An explicit tag counts if it is
// in the core schema; with any other (!!binary, !!timestamp) the value stays text.
func resolveScalar(n *yaml.Node) any {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	switch tag {
	case "":
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return n.Value
		}
		return resolvePlain(n.Value)
	case "!!null":
		return nil
	case "!!int", "!!float", "!!bool":
		v := resolvePlain(n.Value)
		if i, ok := v.(int64); ok && tag == "!!float" {
			return float64(i)
		}
		return v
	}
	return n.Value
}

// resolvePlain returns the value of a plain scalar by the YAML 1.2 core schema.
func resolvePlain(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if b := s[0]; b != '-' && b != '+' && b != '.' && (b < '0' || b > '9') {
		return s // nearly all scalars
	}
	base := 10
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o") {
		base = 0 // the prefix tells it
	}
	if v, err := strconv.ParseInt(s, base, 64); err == nil && !strings.Contains(s, "_") {
		return v
	}
	if decimal().MatchString(s) {
		v, _ := strconv.ParseFloat(s, 64) // out of range is ±Inf
		return v
	}
	return s
}

// decimal matches the decimal numbers of YAML. Go accepts more: underscores,
// hexadecimal floats, "inf".
var decimal = lazyregexp.New(`^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$`)

// flatText returns the text of a node as its author wrote it: 1.0 stays "1.0". A
// list becomes "a, b" and a map "k: v, l: w", on one line.
func flatText(n *yaml.Node) string {
	var parts []string
	size := 0
	var walk func(n *yaml.Node, prefix string, depth int)
	walk = func(n *yaml.Node, prefix string, depth int) {
		if depth > maxDepth || size > maxNodes {
			return
		}
		size++
		switch n.Kind {
		case yaml.AliasNode:
			walk(n.Alias, prefix, depth+1)
		case yaml.SequenceNode:
			for _, c := range n.Content {
				walk(c, prefix, depth+1)
				prefix = ""
			}
		case yaml.MappingNode:
			for key, value := range pairs(n) {
				walk(value, prefix+key.Value+": ", depth+1)
				prefix = ""
			}
		default:
			parts = append(parts, strings.TrimSpace(prefix+n.Value))
		}
	}
	walk(n, "", 0)
	return strings.Join(parts, ", ")
}

// quote returns the start of s in quotes for a message, with unprintable characters
// escaped.
func quote(s string) string { return strconv.Quote(tidy.Shorten(s, 80)) }
