package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Arguments are the arguments of one call, by the names of parameters.
type Arguments struct {
	values map[string]any
}

// Text returns a text; "" means that it is left out.
func (in Arguments) Text(name string) string { text, _ := in.values[name].(string); return text }

// Texts returns a list of texts.
func (in Arguments) Texts(name string) []string { list, _ := in.values[name].([]string); return list }

// Number returns a whole number; 0 means that it is left out.
func (in Arguments) Number(name string) int { n, _ := in.values[name].(int); return n }

// On reports whether a switch is on.
func (in Arguments) On(name string) bool { on, _ := in.values[name].(bool); return on }

// Decode reads an argument that has a schema of its own.
func (in Arguments) Decode(name string, to any) error {
	raw, _ := in.values[name].(json.RawMessage)
	if err := json.Unmarshal(raw, to); err != nil {
		return &Problem{Fact: fmt.Sprintf("Argument %s is not what the schema says", name), Hint: tidy.Line(err.Error())}
	}
	return nil
}

// Parse reads the arguments of a call of a tool as models write them: a JSON object, nothing
// or null for no arguments, or a JSON string that holds the object; names in any case, and
// with or without "_". Errors are *Problem.
func Parse(tool, args string, params []Param) (Arguments, error) {
	in := Arguments{make(map[string]any)}
	hint := "give " + describe(params)
	fields, err := Fields(args)
	if err != nil {
		return in, &Problem{Fact: fmt.Sprintf("The arguments of %s are malformed: %v", Quoted(tool), err), Hint: hint}
	}
	for _, f := range fields {
		p, ok := paramOf(params, f.Key)
		if !ok {
			return in, &Problem{Fact: fmt.Sprintf("%s has no argument %s", tidy.Shorten(tidy.Line(tool), maxQuoted), Quoted(f.Key)), Hint: hint}
		}
		if err := in.set(p, f); err != nil {
			return in, &Problem{Fact: fmt.Sprintf("Argument %s %v", p.Name, err), Hint: hint}
		}
	}
	for _, p := range params {
		text, isText := in.values[p.Name].(string)
		if p.Required && (in.values[p.Name] == nil || isText && !p.Blank && strings.TrimSpace(text) == "") {
			return in, &Problem{Fact: fmt.Sprintf("Argument %s is missing", p.Name), Hint: hint}
		}
	}
	return in, nil
}

// set sets one argument from its JSON. Null means that it is left out.
func (in *Arguments) set(p Param, f Field) error {
	if string(f.Value) == "null" {
		return nil
	}
	v, err := p.read(f.Value)
	if err != nil {
		return err
	}
	if old, again := in.values[p.Name]; again && !reflect.DeepEqual(old, v) {
		return fmt.Errorf("is given twice: %s says something else", Quoted(f.Key))
	}
	in.values[p.Name] = v
	return nil
}

// read reads a value. Models write numbers as texts and texts as numbers.
func (p *Param) read(value json.RawMessage) (any, error) {
	if p.Schema != nil {
		return value, nil
	}
	if p.Kind == Texts {
		return textsIn(value)
	}
	text, ok := scalar(value)
	switch p.Kind {
	case Number:
		n, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return nil, errors.New("is not a whole number")
		}
		return int(n), nil
	case Switch:
		on, err := strconv.ParseBool(strings.ToLower(text))
		if !ok || err != nil {
			return nil, errors.New("is neither true nor false")
		}
		return on, nil
	}
	if !ok {
		return nil, errors.New("is not a text")
	}
	return text, nil
}

// textsIn reads a list of texts.
func textsIn(value json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return nil, errors.New(`is not a list of texts, such as ["--all", "form.pdf"]`)
	}
	list := make([]string, len(items))
	for i, item := range items {
		text, ok := scalar(item)
		if !ok {
			return nil, errors.New("is a list with something that is not a text")
		}
		list[i] = text
	}
	return list, nil
}

// scalar returns the text of a JSON string, and of a number or a boolean as it is written.
func scalar(value json.RawMessage) (text string, ok bool) {
	switch value[0] {
	case '{', '[', 'n':
		return "", false
	case '"':
		return text, json.Unmarshal(value, &text) == nil
	}
	return string(value), true
}

// paramOf returns the parameter of that name: its own, or else an alias.
func paramOf(params []Param, key string) (Param, bool) {
	for _, same := range []func(p Param) bool{
		func(p Param) bool { return SameName(p.Name, key) },
		func(p Param) bool { return slices.Contains(p.Aliases, plain(key)) },
	} {
		if i := slices.IndexFunc(params, same); i >= 0 {
			return params[i], true
		}
	}
	return Param{}, false
}

// plain returns a name in the form in which names are compared: case, "_" and "-" make no
// difference.
func plain(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }

// SameName reports whether a model means the parameter with that name.
func SameName(name, key string) bool { return plain(name) == plain(key) }

// describe says in words which arguments there are.
func describe(params []Param) string {
	if len(params) == 0 {
		return "no arguments"
	}
	list := make([]string, len(params))
	for i, p := range params {
		kind := p.Kind.what()
		if p.Schema != nil {
			kind = "list of objects"
		}
		if p.Required {
			kind += ", required"
		}
		list[i] = p.Name + " (" + kind + ")"
	}
	return "a JSON object with " + strings.Join(list, ", ")
}

// A Field is one argument as a model writes it.
type Field struct {
	Key   string
	Value json.RawMessage
}

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 4 << 20

// Fields reads a JSON object, or a JSON string that holds one; "" and null have no fields.
func Fields(text string) ([]Field, error) {
	if len(text) > maxArguments {
		return nil, fmt.Errorf("they have %d bytes, and may have %d", len(text), maxArguments)
	}
	for range 3 { // a string in a string is seen in the wild, more is not
		text = strings.TrimSpace(text)
		if text == "" || text == "null" {
			return nil, nil
		}
		var inner string
		if text[0] != '"' || json.Unmarshal([]byte(text), &inner) != nil {
			break
		}
		text = inner
	}
	return argumentsOf([]byte(text))
}

// argumentsOf reads the fields of a JSON object. Of a field that occurs twice the last counts.
func argumentsOf(data []byte) ([]Field, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, malformed(data, err)
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("%s is not a JSON object", Quoted(string(raw)))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object, at character %d", len(raw)+1)
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.Token() // the brace
	var fields []Field
	at := make(map[string]int) // in fields, by key
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, malformed(data, err)
		}
		f := Field{Key: key.(string)}
		if err := in.Decode(&f.Value); err != nil {
			return nil, malformed(data, err)
		}
		if i, again := at[f.Key]; again {
			fields[i] = f
			continue
		}
		at[f.Key] = len(fields)
		fields = append(fields, f)
	}
	return fields, nil
}

// malformed says where JSON is malformed.
func malformed(data []byte, err error) error {
	at := len(data)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(min(syntax.Offset, int64(len(data))))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the JSON ends too early, after %s", Quoted(string(data[max(0, len(data)-maxNear):])))
	}
	return fmt.Errorf("the JSON is malformed at character %d, at the end of %s", at, Quoted(string(data[max(0, at-maxNear):at])))
}

// maxNear is how many bytes before a mistake are quoted.
const maxNear = 30
