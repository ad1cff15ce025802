// Package evals reads the prompts that authors keep beside a skill to try it, and says how each
// of them fares in a catalog.
//
// The one rule: it only asks and tells; package skill knows where the files of evals are and
// what they look like.
package evals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Reader reads the files of skills as they are now; *repertoire.Catalog is one.
type Reader interface {
	Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error)
	File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error)
}

// MaxPrompts is how many prompts of a skill are asked by whoever asks unbidden, such as doctor and the check
// of a proposal.
const MaxPrompts = 200

// A Prompt is an eval that was read.
type Prompt struct {
	ID string // of the skill, with the file and the place in it: "cat/evals/trigger.json#1"
	skill.Eval
}

// An Unusable is a file of evals that could not be used.
type Unusable struct {
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"` // from 1; 0 means the whole file
	Reason string `json:"reason"`
}

// String says where and why the file is not used, and what to do.
func (u Unusable) String() string {
	at := u.Path
	if u.Line > 0 {
		at = fmt.Sprintf("%s:%d", u.Path, u.Line)
	}
	return fmt.Sprintf("%s: not used: %s; correct it (\"skills help evals\" shows the forms)", at, u.Reason)
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
		if !skill.IsEvals(f.Path) {
			continue
		}
		prompts, err := read(ctx, c, e.ID, f.Path, a)
		if err != nil {
			u := Unusable{Path: strings.TrimSuffix(e.Location, e.File()) + f.Path, Reason: err.Error()}
			if at, ok := errors.AsType[*skill.EvalsError](err); ok {
				u.Line, u.Reason = at.Line, at.Message
			}
			bad = append(bad, u)
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
	parsed, err := skill.ParseEvals([]byte(file.Text))
	if err != nil {
		return nil, err
	}
	list := make([]Prompt, len(parsed))
	for i, e := range parsed {
		list[i] = Prompt{fmt.Sprintf("%s/%s#%d", id, name, i+1), e}
	}
	return list, nil
}
