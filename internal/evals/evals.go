// Package evals reads the prompts that authors keep beside a skill to try it, says how each
// of them fares in a catalog, and lets a model write proposals of more.
//
// The one rule: it only asks and tells; package skill knows where the files of evals are and
// what they look like.
package evals

import (
	"context"
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

// A Prompt is an eval that was read.
type Prompt struct {
	ID string // of the skill, with the file and the place in it: "cat/evals/trigger.json#1"
	skill.Eval
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
		if !skill.IsEvals(f.Path) {
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
