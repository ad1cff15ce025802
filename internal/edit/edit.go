// Package edit changes values in JSON, TOML and YAML files that people write.
//
// The one rule: everything else stays byte for byte. An edit that, read back, is not exactly
// the intended change is refused.
package edit

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// The values to write, see client.Object. Others are texts, numbers, bool, []string and []any.
type (
	Object = client.Object
	Member = client.Member
)

// A Format reads and edits files of one language: JSON, TOML or YAML.
type Format interface {
	// Decode returns the content as map[string]any, []any, string, bool, Number and nil, which
	// also means that the file is empty.
	Decode(data []byte) (any, error)
	// set and remove make the edits that Set and Remove check.
	set(data []byte, at Path, v any) ([]byte, error)
	remove(data []byte, at Path) ([]byte, error)
}

// The formats.
var (
	JSON Format = jsonFormat{}
	TOML Format = tomlFormat{}
	YAML Format = yamlFormat{}
)

// ErrUnsafe means that an edit would do more than it should.
var ErrUnsafe = errors.New("it cannot be edited without touching other settings")

// Set makes the value at a path be v, and the containers on the way there. It returns the
// decoded result, too. In a list, the index after the last appends; in YAML, a single value
// is a list of one.
func Set(f Format, data []byte, at Path, v any) ([]byte, any, error) {
	return change(f, data, func(any) ([]byte, error) { return f.set(data, at, v) },
		func(before, after any) bool { return reflect.DeepEqual(after, put(before, at, Plain(v))) })
}

// Remove removes the value at a path. What is empty then may be left out or in.
func Remove(f Format, data []byte, at Path) ([]byte, any, error) {
	parent := at[:len(at)-1]
	edit := func(before any) ([]byte, error) {
		if reflect.DeepEqual(drop(before, at), before) {
			return nil, &Error{Message: "there is no " + at.String()}
		}
		return f.remove(data, at)
	}
	return change(f, data, edit, func(before, after any) bool {
		return reflect.DeepEqual(bare(after, parent), bare(drop(before, at), parent))
	})
}

// Wrap makes the value at a path of a YAML file the value of a new key of a mapping.
func Wrap(data []byte, at Path, key string) ([]byte, error) {
	out, _, err := change(YAML, data, func(any) ([]byte, error) { return wrapYAML(data, at, key) },
		func(before, after any) bool {
			return reflect.DeepEqual(after, put(before, at, map[string]any{key: Lookup(before, at)}))
		})
	return out, err
}

// change makes an edit if it is right.
func change(f Format, data []byte, edit func(before any) ([]byte, error), right func(before, after any) bool) ([]byte, any, error) {
	before, err := f.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	out, err := edit(before)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Decode(out)
	if err != nil || !right(before, after) {
		return nil, nil, ErrUnsafe
	}
	return out, after, nil
}

// Snippet is what a file holds that has nothing but a value at a path.
func Snippet(f Format, at Path, v any) string {
	text, err := f.set(nil, at, v)
	if err != nil {
		return ""
	}
	return string(text)
}

// An Error is an error at a place in a file.
type Error struct {
	File         string // "" if it is not known
	Line, Column int    // from 1; 0: not known
	Message      string
}

func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

var parserPlace = lazyregexp.New(`^(?:hujson|yaml): (?:line (\d+)(?:, column (\d+))?: )?`)

// parseError turns the error of a parser, which begins with the place, into an Error.
func parseError(err error) error {
	text := err.Error()
	found := append(parserPlace().FindStringSubmatch(text), "", "", "")
	place := &Error{Message: text[len(found[0]):]}
	place.Line, _ = strconv.Atoi(found[1])
	place.Column, _ = strconv.Atoi(found[2])
	return place
}

// WrongKind is the error for a value v, at a path and a place, that is not what it must be.
func WrongKind(at Path, line, column int, v any, want string) error {
	what := "the file"
	if len(at) > 0 {
		what = strconv.Quote(at.String())
	}
	return &Error{Line: line, Column: column, Message: fmt.Sprintf("%s is %s, not %s", what, KindOf(v), want)}
}

func secondTime(name string, line, column int) error {
	return &Error{Line: line, Column: column, Message: fmt.Sprintf("%q stands here a second time", name)}
}
