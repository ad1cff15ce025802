package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A toolParam is a parameter of a builtin tool: a text, or a list of texts.
type toolParam struct {
	name     string
	aliases  []string // other names by which models call it
	list     bool
	required bool
	text     string
}

// schemaOf returns the JSON Schema of an object with these parameters.
func schemaOf(params []toolParam) json.RawMessage {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, p := range params {
		own := &jsonschema.Schema{Type: "string", Description: p.text}
		if p.list {
			own = &jsonschema.Schema{Type: "array", Description: p.text, Items: &jsonschema.Schema{Type: "string"}}
		}
		s.Properties[p.name], s.PropertyOrder = own, append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // unreachable: the schema holds plain texts
	}
	return data
}

// arguments are the arguments of one call.
type toolArguments struct {
	texts map[string]string
	lists map[string][]string
}

// parseArguments reads the arguments of a call as models write them: a JSON object, nothing
// or null for no arguments, or a JSON string that holds the object; names in any case, and
// with or without "_". Errors are *toolProblem.
func parseArguments(tool, args string, params []toolParam) (toolArguments, error) {
	in := toolArguments{make(map[string]string), make(map[string][]string)}
	fields, err := argumentsIn(args)
	if err != nil {
		return in, &toolProblem{Fact: fmt.Sprintf("The arguments of %s are malformed: %v", quoted(tool), err), Hint: "give " + describe(params)}
	}
	for _, f := range fields {
		p, ok := paramOf(params, f.key)
		if !ok {
			return in, &toolProblem{Fact: fmt.Sprintf("%s has no argument %s", words.Shorten(words.Line(tool), maxQuoted), quoted(f.key)), Hint: "give " + describe(params)}
		}
		if err := in.set(p, f.value); err != nil {
			return in, &toolProblem{Fact: fmt.Sprintf("Argument %s %v", p.name, err), Hint: "give " + describe(params)}
		}
	}
	for _, p := range params {
		if p.required && strings.TrimSpace(in.texts[p.name]) == "" {
			return in, &toolProblem{Fact: fmt.Sprintf("Argument %s is missing", p.name), Hint: "give " + describe(params)}
		}
	}
	return in, nil
}

// set sets one argument from its JSON. Null means that it is left out.
func (in *toolArguments) set(p toolParam, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	if !p.list {
		text, ok := scalar(value)
		if !ok {
			return errors.New("is not a text")
		}
		in.texts[p.name] = text
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return errors.New(`is not a list of texts, such as ["--all", "form.pdf"]`)
	}
	for _, item := range items {
		text, ok := scalar(item)
		if !ok {
			return errors.New("is a list with something that is not a text")
		}
		in.lists[p.name] = append(in.lists[p.name], text)
	}
	return nil
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
func paramOf(params []toolParam, key string) (toolParam, bool) {
	plain := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	for _, same := range []func(p toolParam) bool{
		func(p toolParam) bool { return plain(p.name) == plain(key) },
		func(p toolParam) bool { return slices.Contains(p.aliases, plain(key)) },
	} {
		if i := slices.IndexFunc(params, same); i >= 0 {
			return params[i], true
		}
	}
	return toolParam{}, false
}

// describe says in words which arguments there are.
func describe(params []toolParam) string {
	list := make([]string, len(params))
	for i, p := range params {
		kind := "string"
		if p.list {
			kind = "list of strings"
		}
		if p.required {
			kind += ", required"
		}
		list[i] = p.name + " (" + kind + ")"
	}
	return "a JSON object with " + strings.Join(list, ", ")
}

// A toolArgument is one argument as it is written.
type toolArgument struct {
	key   string
	value json.RawMessage
}

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 4 << 20

// argumentsIn reads a JSON object, or a JSON string that holds one; "" and null have no fields.
func argumentsIn(text string) ([]toolArgument, error) {
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
func argumentsOf(data []byte) ([]toolArgument, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, malformed(data, err)
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("%s is not a JSON object", quoted(string(raw)))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object, at character %d", len(raw)+1)
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.Token() // the brace
	var fields []toolArgument
	at := make(map[string]int) // in fields, by key
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, malformed(data, err)
		}
		f := toolArgument{key: key.(string)}
		if err := in.Decode(&f.value); err != nil {
			return nil, malformed(data, err)
		}
		if i, again := at[f.key]; again {
			fields[i] = f
			continue
		}
		at[f.key] = len(fields)
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
		return fmt.Errorf("the JSON ends too early, after %s", quoted(string(data[max(0, len(data)-maxNear):])))
	}
	return fmt.Errorf("the JSON is malformed at character %d, at the end of %s", at, quoted(string(data[max(0, at-maxNear):at])))
}

// maxNear is how many bytes before a mistake are quoted.
const maxNear = 30
