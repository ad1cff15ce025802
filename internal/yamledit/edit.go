// Package yamledit changes lists in a YAML file that a person wrote: it adds and removes
// entries in its text.
//
// The one rule: everything else stays byte for byte. An edit whose result does not parse
// back to exactly the intended change is refused.
package yamledit

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A RefusedError says that a file cannot be edited safely.
type RefusedError struct {
	Line   int // 0 means the whole file
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

func refused(n *yaml.Node, format string, args ...any) error {
	line := 0
	if n != nil {
		line = n.Line
	}
	return &RefusedError{line, fmt.Sprintf(format, args...)}
}

// Add adds an item, which is YAML in one line (see Text and Mapping), at the end of the list
// at a path of keys. A list that does not exist is made; a single text becomes a list.
func Add(data []byte, path []string, item string) ([]byte, error) {
	return change(data, func(d *document) ([]splice, error) { return d.add(path, item) },
		func(tree any) (any, error) {
			v, err := decodeItem(item)
			return added(tree, path, v), err
		})
}

// Remove removes an item of the list at a path of keys. A list without items stays, as [].
func Remove(data []byte, path []string, index int) ([]byte, error) {
	return change(data, func(d *document) ([]splice, error) { return d.remove(path, index) },
		func(tree any) (any, error) { return removed(tree, path, index), nil })
}

// Wrap makes the list at a path of keys the value of a new key of a mapping at the path.
func Wrap(data []byte, path []string, key string) ([]byte, error) {
	return change(data, func(d *document) ([]splice, error) { return d.wrap(path, key) },
		func(tree any) (any, error) { return wrapped(tree, path, key), nil })
}

// change makes the splices that edit finds, if they turn the tree of the file into what
// want makes of it.
func change(data []byte, edit func(*document) ([]splice, error), want func(tree any) (any, error)) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	before, err := treeOf(d.top, 0)
	if err != nil {
		return nil, err
	}
	splices, err := edit(d)
	if err != nil {
		return nil, err
	}
	tree, err := want(before)
	if err != nil {
		return nil, err
	}
	out := apply(data, splices)
	after, err := parse(out)
	if err != nil {
		return nil, refused(nil, "it cannot be edited without touching other lines")
	}
	if got, err := treeOf(after.top, 0); err != nil || !reflect.DeepEqual(got, tree) {
		return nil, refused(nil, "it cannot be edited without touching other lines")
	}
	return out, nil
}

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// apply makes all splices at once. They do not overlap.
func apply(data []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, s := range splices {
		out.Write(data[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// add finds where an item goes.
func (d *document) add(path []string, item string) ([]splice, error) {
	if d.top == nil {
		return d.atEnd(path, item, ""), nil
	}
	at, key := d.top, (*yaml.Node)(nil)
	for i, name := range path {
		if at.Kind != yaml.MappingNode {
			return nil, refused(at, "%s is not a mapping", strings.Join(path[:i], "."))
		}
		k, v := child(at, name)
		if k == nil {
			return d.insert(at, key, path[i:], item)
		}
		at, key = v, k
	}
	switch {
	case at.Kind == yaml.ScalarNode:
		start, end, err := d.extentOf(at)
		if err != nil {
			return nil, err
		}
		return []splice{{start, start, "["}, {end, end, ", " + item + "]"}}, nil
	case at.Kind != yaml.SequenceNode:
		return nil, refused(at, "%s is not a list", strings.Join(path, "."))
	case at.Style&yaml.FlowStyle != 0 && len(at.Content) == 0:
		start := d.offset(at) + 1
		return []splice{{start, start, item}}, nil
	case at.Style&yaml.FlowStyle != 0:
		_, end, err := d.extentOf(at.Content[len(at.Content)-1])
		return []splice{{end, end, ", " + item}}, err
	}
	end := d.blockEnd(at.Content[len(at.Content)-1], at.Column)
	line := strings.Repeat(" ", at.Column-1) + "- " + item
	return []splice{d.line(end, line)}, nil
}

// line returns the splice that puts lines at a place where a line begins, or ends the file.
func (d *document) line(at int, lines ...string) splice {
	text := strings.Join(lines, d.eol) + d.eol
	if at > 0 && d.data[at-1] != '\n' {
		text = d.eol + strings.TrimSuffix(text, d.eol)
	}
	return splice{at, at, text}
}

// atEnd puts a new list at the end of the file.
func (d *document) atEnd(path []string, item, indent string) []splice {
	return []splice{d.line(len(d.data), newList(path, item, indent)...)}
}

// newList returns the lines of a list at a path of new keys.
func newList(path []string, item, indent string) (lines []string) {
	for _, key := range path {
		lines = append(lines, indent+Text(key)+":")
		indent += "  "
	}
	return append(lines, indent+"- "+item)
}

// insert adds a new list to a mapping, whose key is nil for the top.
func (d *document) insert(m, key *yaml.Node, path []string, item string) ([]splice, error) {
	switch {
	case m.Style&yaml.FlowStyle != 0:
		text := "[" + item + "]"
		for _, key := range slices.Backward(path[1:]) {
			text = "{" + Text(key) + ": " + text + "}"
		}
		text = Text(path[0]) + ": " + text
		if len(m.Content) == 0 {
			start := d.offset(m) + 1
			return []splice{{start, start, text}}, nil
		}
		_, end, err := d.extentOf(m.Content[len(m.Content)-1])
		return []splice{{end, end, ", " + text}}, err
	case key == nil:
		return d.atEnd(path, item, strings.Repeat(" ", m.Column-1)), nil
	case key.Line == m.Line:
		return nil, refused(m, "the mapping %s begins on the line of its key", key.Value)
	}
	at := d.lineEnd(d.offset(key))
	return []splice{d.line(at, newList(path, item, strings.Repeat(" ", m.Column-1))...)}, nil
}

// remove finds the text of an item.
func (d *document) remove(path []string, index int) ([]splice, error) {
	at, key := d.top, (*yaml.Node)(nil)
	for _, name := range path {
		if at != nil {
			key, at = child(at, name)
		}
	}
	switch {
	case at == nil:
		return nil, refused(nil, "there is no %s", strings.Join(path, "."))
	case at.Kind == yaml.ScalarNode && index == 0:
		start, end, err := d.extentOf(at)
		return []splice{{start, end, "[]"}}, err
	case at.Kind != yaml.SequenceNode || index < 0 || index >= len(at.Content):
		return nil, refused(at, "%s has no item %d", strings.Join(path, "."), index+1)
	case at.Style&yaml.FlowStyle != 0:
		return d.removeFlow(at, index)
	}
	item := at.Content[index]
	start, end := d.lineStart(d.offset(item)), d.blockEnd(item, at.Column)
	splices := []splice{{start, end, ""}}
	if len(at.Content) == 1 {
		_, colon, err := d.extentOf(key)
		if err != nil {
			return nil, err
		}
		splices = append(splices, splice{colon + 1, colon + 1, " []"})
	}
	return splices, nil
}

// removeFlow removes an item of a list in brackets, with one of the commas beside it.
func (d *document) removeFlow(list *yaml.Node, index int) ([]splice, error) {
	start, end, err := d.extentOf(list.Content[index])
	if err != nil {
		return nil, err
	}
	after := end + len(blanks(d.data[end:]))
	if after < len(d.data) && d.data[after] == ',' {
		end = after + 1
		end += len(blanks(d.data[end:]))
	} else if index > 0 {
		_, before, err := d.extentOf(list.Content[index-1])
		if err != nil {
			return nil, err
		}
		if !bytes.ContainsAny(d.data[before:start], "\n#") {
			start = before
		}
	}
	// Leave no empty line behind.
	if first := d.lineStart(start); len(bytes.TrimSpace(d.data[first:start])) == 0 && len(bytes.TrimSpace(d.data[end:d.lineEnd(end)])) == 0 {
		start, end = first, d.lineEnd(end)
	}
	return []splice{{start, end, ""}}, nil
}

// wrap makes a list the value of a new key.
func (d *document) wrap(path []string, name string) ([]splice, error) {
	at, key := d.top, (*yaml.Node)(nil)
	for _, step := range path {
		if at != nil {
			key, at = child(at, step)
		}
	}
	switch {
	case at == nil || at.Kind != yaml.SequenceNode && at.Kind != yaml.ScalarNode:
		return nil, refused(at, "%s is not a list", strings.Join(path, "."))
	case at.Kind == yaml.ScalarNode || at.Style&yaml.FlowStyle != 0:
		start, end, err := d.extentOf(at)
		return []splice{{start, start, "{" + Text(name) + ": "}, {end, end, "}"}}, err
	case at.Column <= key.Column:
		return nil, refused(at, "the list %s is not indented", strings.Join(path, "."))
	}
	line := d.lineEnd(d.offset(key))
	return []splice{d.line(line, strings.Repeat(" ", at.Column-1)+Text(name)+":")}, nil
}
