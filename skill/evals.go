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

// An evalFile is a file of evals whose top level is an object.
type evalFile struct {
	ShouldTrigger    []evalEntry `json:"should_trigger"`
	ShouldNotTrigger []evalEntry `json:"should_not_trigger"`
	Evals            []evalEntry `json:"evals"`
	Prompts          []evalEntry `json:"prompts"`
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
// are skipped; a file without any prompt is an error.
func ParseEvals(data []byte) ([]Eval, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var f evalFile
	var err error
	if bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &f.Evals)
	} else {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return nil, jsonError(data, err)
	}
	var list []Eval
	add := func(entries []evalEntry, trigger bool) {
		for _, e := range entries {
			if strings.TrimSpace(e.prompt) == "" {
				continue
			}
			if e.trigger != nil {
				list = append(list, Eval{e.prompt, *e.trigger})
			} else {
				list = append(list, Eval{e.prompt, trigger})
			}
		}
	}
	add(f.ShouldTrigger, true)
	add(f.ShouldNotTrigger, false)
	add(f.Evals, true)
	add(f.Prompts, true)
	if len(list) == 0 {
		return nil, errors.New("no prompts")
	}
	return list, nil
}

// jsonError adds the line number to a syntax error of JSON. It cannot do so for other
// errors, whose offsets may count from a nested value.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	n := min(syntax.Offset, int64(len(data)))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:n], []byte("\n")), err)
}
