package edit

import (
	"bytes"
	"errors"
)

// ScriptBegin and ScriptEnd stand around the JSON in a script, each on a line of its own.
const (
	ScriptBegin = "/* settings */\n"
	ScriptEnd   = "/* end of settings */\n"
)

// Script returns the format of a program that this program writes as a whole. Its values are in
// JSON, between two marks. An edit makes all of the file anew from text, which has the marks, so
// that it is up to date; a file without a value left is empty.
func Script(text string) Format {
	before, rest, _ := bytes.Cut([]byte(text), []byte(ScriptBegin))
	_, after, _ := bytes.Cut(rest, []byte(ScriptEnd))
	return scriptFormat{before, after}
}

// IsScript reports whether a format is one of Script.
func IsScript(f Format) bool {
	_, ok := f.(scriptFormat)
	return ok
}

type scriptFormat struct{ before, after []byte }

var errForeign = errors.New("the file is another program, not the one that setup writes")

// value returns the JSON in a script; nil means that the file is empty.
func (f scriptFormat) value(data []byte) ([]byte, error) {
	_, rest, begins := bytes.Cut(data, []byte(ScriptBegin))
	value, _, ends := bytes.Cut(rest, []byte(ScriptEnd))
	if len(data) > 0 && (!begins || !ends) {
		return nil, errForeign
	}
	return value, nil
}

func (f scriptFormat) Decode(data []byte) (any, error) {
	value, err := f.value(data)
	if err != nil {
		return nil, err
	}
	return JSON.Decode(value)
}

func (f scriptFormat) set(data []byte, at Path, v any) ([]byte, error) {
	value, err := f.value(data)
	if err == nil {
		value, err = JSON.set(value, at, v)
	}
	return f.around(value), err
}

func (f scriptFormat) remove(data []byte, at Path) ([]byte, error) {
	value, err := f.value(data)
	if err == nil {
		value, err = JSON.remove(value, at)
	}
	if tree, _ := JSON.Decode(value); IsEmpty(tree) {
		return nil, err
	}
	return f.around(value), err
}

func (f scriptFormat) around(value []byte) []byte {
	return bytes.Join([][]byte{f.before, []byte(ScriptBegin), value, []byte(ScriptEnd), f.after}, nil)
}
