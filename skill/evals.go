package skill

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// EvalsPattern is where the files of evals are in the folder of a skill.
const EvalsPattern = "evals/*.json"

// IsEvals reports whether a file of a skill holds evals, by its path in the folder.
func IsEvals(name string) bool {
	ok, _ := path.Match(EvalsPattern, name) // no error: the pattern is valid
	return ok
}

// An Eval is a prompt that the author of a skill wrote to try the skill.
type Eval struct {
	Prompt  string `json:"prompt"`
	Trigger bool   `json:"should_trigger"` // the prompt should lead to the skill
}

// An EvalsError says why a file of evals cannot be used.
type EvalsError struct {
	Line    int // from 1; 0 means the whole file
	Message string
}

func (e *EvalsError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// An evalEntry is a prompt: in the file a string, or an object with a prompt.
type evalEntry struct {
	prompt  string
	trigger *bool // nil means that the entry does not say
}

// UnmarshalJSON reads a string or an object.
func (e *evalEntry) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &e.prompt)
	}
	var o struct {
		Prompt, Query, Input string
		ShouldTrigger        *bool `json:"should_trigger"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	e.prompt, e.trigger = cmp.Or(o.Prompt, o.Query, o.Input), o.ShouldTrigger
	return nil
}

// ParseEvals reads the forms in which authors keep evals beside a skill: a list
// of strings or of objects with prompt, query or input and perhaps
// should_trigger; such a list as evals or prompts of an object; and lists of
// both signs, should_trigger and should_not_trigger. Entries without a prompt
// are skipped. A file that is malformed, or has no prompt, is an *EvalsError.
func ParseEvals(data []byte) ([]Eval, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		bad := &EvalsError{Message: err.Error()}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			bad.Line = lineAt(data, syntax.Offset)
		}
		return nil, bad
	}
	r := &evalsReader{data: data, json: json.NewDecoder(bytes.NewReader(data))}
	if err := r.read(); err != nil {
		return nil, err
	}
	if len(r.list) == 0 {
		return nil, &EvalsError{Message: "no prompts"}
	}
	return r.list, nil
}

// An evalsReader reads a file that is JSON, and knows the line of what it does not understand.
type evalsReader struct {
	data []byte
	json *json.Decoder
	list []Eval
}

// read reads the file.
func (r *evalsReader) read() error {
	at := r.json.InputOffset()
	switch start, err := r.json.Token(); {
	case err != nil:
		return err
	case start == json.Delim('['):
		return r.prompts(true)
	case start != json.Delim('{'):
		return r.bad(at, "it is neither a list nor an object")
	}
	for r.json.More() {
		key, err := r.json.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		switch name = strings.ToLower(name); name {
		case "should_trigger", "should_not_trigger", "evals", "prompts":
			err = r.field(name)
		default:
			var other json.RawMessage
			err = r.json.Decode(&other)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// field reads a list that is a field of an object; null is an empty one.
func (r *evalsReader) field(name string) error {
	at := r.json.InputOffset()
	switch start, err := r.json.Token(); {
	case err != nil:
		return err
	case start == nil:
		return nil
	case start != json.Delim('['):
		return r.bad(at, name+" is not a list")
	}
	if err := r.prompts(name != "should_not_trigger"); err != nil {
		return err
	}
	_, err := r.json.Token() // the end of the list
	return err
}

// prompts reads the entries of a list, up to its end. trigger is what an entry means that does
// not say.
func (r *evalsReader) prompts(trigger bool) error {
	for r.json.More() {
		var e evalEntry
		at := r.json.InputOffset()
		if r.json.Decode(&e) != nil {
			return r.bad(at, "this is neither a prompt in quotes nor an object with a prompt")
		}
		if strings.TrimSpace(e.prompt) == "" {
			continue
		}
		if e.trigger != nil {
			r.list = append(r.list, Eval{e.prompt, *e.trigger})
		} else {
			r.list = append(r.list, Eval{e.prompt, trigger})
		}
	}
	return nil
}

// bad is an error about the value behind a place.
func (r *evalsReader) bad(at int64, message string) error {
	value := bytes.TrimLeft(r.data[at:], " \t\r\n,:")
	return &EvalsError{lineAt(r.data, int64(len(r.data)-len(value))), message}
}

// lineAt returns the line of a place in a text.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}
