// Package evals reads the prompts that authors keep beside a skill to try it, says how each
// of them fares in a catalog, and lets a model write proposals of more.
//
// The one rule: no other package knows where the files of evals are and what they look
// like.
package evals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
)

// Pattern is where the files of evals are in the folder of a skill.
const Pattern = "evals/*.json"

// IsFile reports whether a file of a skill holds evals, by its path in the folder.
func IsFile(name string) bool {
	ok, _ := path.Match(Pattern, name) // no error: the pattern is valid
	return ok
}

// An Eval is a prompt that the author of a skill wrote to try the skill.
type Eval struct {
	Prompt  string `json:"prompt"`
	Trigger bool   `json:"should_trigger"` // the prompt should lead to the skill
}

// A file is a file of evals whose top level is an object.
type file struct {
	ShouldTrigger    []entry `json:"should_trigger"`
	ShouldNotTrigger []entry `json:"should_not_trigger"`
	Evals            []entry `json:"evals"`
	Prompts          []entry `json:"prompts"`
}

// An entry is a prompt: in the file a string, or an object with a prompt.
type entry struct {
	prompt  string
	trigger *bool // nil means that the entry does not say
}

// UnmarshalJSON reads a string or an object.
func (e *entry) UnmarshalJSON(data []byte) error {
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

// Parse reads the forms in which authors keep evals beside a skill: a list
// of strings or of objects with prompt, query or input and perhaps
// should_trigger; such a list as evals or prompts of an object; and lists of
// both signs, should_trigger and should_not_trigger. Entries without a prompt
// are skipped; a file without any prompt is an error.
func Parse(data []byte) ([]Eval, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var f file
	var err error
	if bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &f.Evals)
	} else {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return nil, withLine(data, err)
	}
	var list []Eval
	add := func(entries []entry, trigger bool) {
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

// A Reader reads the files of skills as they are now; *repertoire.Catalog is one.
type Reader interface {
	Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error)
	File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error)
}

// A Prompt is an eval that was read.
type Prompt struct {
	ID string // of the skill, with the file and the place in it: "cat/evals/trigger.json#1"
	Eval
}

// An Unusable is a file of evals that could not be used.
type Unusable struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Read reads the evals beside a skill that the agent sees.
func Read(ctx context.Context, c Reader, e search.Entry, a *search.Agent) ([]Prompt, []Unusable, error) {
	in, err := c.Listing(ctx, e.ID, a, false)
	if err != nil {
		return nil, nil, err
	}
	var list []Prompt
	var bad []Unusable
	for _, f := range in.Files {
		if !IsFile(f.Path) {
			continue
		}
		prompts, err := read(ctx, c, e.ID, f.Path, a)
		if err != nil {
			bad = append(bad, Unusable{strings.TrimSuffix(e.Location, e.File()) + f.Path, err.Error()})
		}
		list = append(list, prompts...)
	}
	return list, bad, ctx.Err()
}

// read reads one file of evals.
func read(ctx context.Context, c Reader, id, name string, a *search.Agent) ([]Prompt, error) {
	file, err := c.File(ctx, id, name, a)
	if err != nil {
		return nil, err
	}
	parsed, err := Parse([]byte(file.Text))
	if err != nil {
		return nil, err
	}
	list := make([]Prompt, len(parsed))
	for i, e := range parsed {
		list[i] = Prompt{fmt.Sprintf("%s/%s#%d", id, name, i+1), e}
	}
	return list, nil
}
