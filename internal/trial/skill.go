package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A Skill says how the prompts of a skill's evals fare.
type Skill struct {
	ID       string           `json:"id"`
	Path     string           `json:"path"` // of its SKILL.md
	Summary  string           `json:"summary"`
	Prompts  []evals.Outcome  `json:"prompts"` // those that do not get what their author wants first
	Among    evals.Among      `json:"among"`
	Triggers []string         `json:"triggers,omitempty"` // proposed, see evals.Triggers
	Unusable []evals.Unusable `json:"unusable,omitempty"`
}

// RunSkill tries each prompt of the evals beside a skill in a room. A skill without any is an error
// that says where to put them.
func RunSkill(ctx context.Context, r *evals.Room, id string) (*Skill, error) {
	e, err := r.Lookup(ctx, id, r.Agent)
	if err != nil {
		return nil, err
	}
	prompts, bad, err := evals.Read(ctx, r, e, r.Agent)
	if err != nil {
		return nil, err
	}
	s := &Skill{ID: e.ID, Path: e.Location, Among: r.Among, Unusable: bad}
	if len(prompts) == 0 {
		folder := strings.TrimSuffix(e.Location, e.File())
		if len(bad) > 0 {
			return nil, fmt.Errorf("%s has no evals that can be used: %v", e.ID, bad[0])
		}
		return nil, fmt.Errorf("%s has no evals: put prompts into %s, such as [%q]", e.ID, filepath.Join(folder, "evals", "evals.json"), "a prompt that needs it")
	}
	if s.Prompts, err = r.Try(ctx, e.ID, prompts, evals.Levels{}); err != nil {
		return nil, err
	}
	s.Summary, s.Triggers = evals.Summary(s.Prompts, r.Among), evals.Triggers(s.Prompts, e.Triggers.Keywords)
	return s, nil
}

// Say lists the prompts in lines of text, and sums them up.
func (s *Skill) Say() string {
	const shown = 100 // characters of a prompt
	t := &sayer{}
	for i := range s.Prompts {
		o := &s.Prompts[i]
		t.line("%s: %s", o.Says(), tidy.Shorten(tidy.Line(o.Prompt), shown))
		if !o.Right && len(o.Missing) > 0 {
			t.line("  not in the skill: %s", strings.Join(o.Missing, " "))
		}
	}
	for _, u := range s.Unusable {
		t.line("%v", u)
	}
	t.line("%s: %s", s.ID, s.Summary)
	if len(s.Triggers) > 0 {
		t.line("triggers to consider: [%s]", strings.Join(s.Triggers, ", "))
	}
	return t.text.String()
}
