package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An Eval is a prompt that the author of a skill wrote to try the skill.
type Eval struct {
	Prompt  string
	Trigger bool // the prompt should lead to the skill
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
	var file evalFile
	var err error
	if bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &file.Evals)
	} else {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, withLine(data, err)
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
	add(file.ShouldTrigger, true)
	add(file.ShouldNotTrigger, false)
	add(file.Evals, true)
	add(file.Prompts, true)
	if len(list) == 0 {
		return nil, errors.New("no prompts")
	}
	return list, nil
}

// withLine adds the line number to a syntax error of JSON. It cannot do so for other
// errors, whose offsets may count from a nested value.
func withLine(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	n := min(syntax.Offset, int64(len(data)))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:n], []byte("\n")), err)
}

// Queries turns the evals in a skill's file into labelled prompts. A prompt that should
// not trigger the skill may still need another one.
func Queries(file, skill string, evals []Eval) []Query {
	list := make([]Query, len(evals))
	for i, e := range evals {
		q := Query{ID: fmt.Sprintf("%s#%d", file, i+1), Text: e.Prompt, Kind: "negative", Owner: skill}
		if e.Trigger {
			q.Kind, q.Wanted = "positive", []string{skill}
		}
		list[i] = q
	}
	return list
}
