package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/usage"
)

// attrs returns the fields that are set, for a log.
func attrs(e *usage.Event) []any {
	list := []any{"event", string(e.Kind)}
	if len(e.Skills) > 0 {
		list = append(list, "skills", strings.Join(e.IDs(), " "))
	}
	if e.What != "" {
		list = append(list, "what", e.What)
	}
	if e.Kind == usage.Ran {
		list = append(list, "exit", e.Exit)
	}
	if e.Duration > 0 {
		list = append(list, "duration", e.Duration)
	}
	if e.Tokens > 0 {
		list = append(list, "tokens", e.Tokens)
	}
	if e.Error != "" {
		list = append(list, "error", e.Error)
	}
	return list
}

// A SkillUse sums what events tell of one skill.
type SkillUse struct {
	Skill   string `json:"skill"` // ID
	Offered int    `json:"offered,omitempty"`
	Loaded  int    `json:"loaded,omitempty"`
	Read    int    `json:"read,omitempty"`
	Ran     int    `json:"ran,omitempty"`
	Failed  int    `json:"failed,omitempty"`

	// The tokens that it added to the conversation, estimated.
	Instructions int `json:"instruction_tokens,omitempty"`
	Files        int `json:"file_tokens,omitempty"`
	Output       int `json:"output_tokens,omitempty"` // of its scripts
}

// Tokens returns how many tokens the skill added to the conversation, estimated.
func (u SkillUse) Tokens() int { return u.Instructions + u.Files + u.Output }

// SumUses sums events by skill. The skill that added most tokens comes first.
func SumUses(events []usage.Event) []SkillUse {
	var uses []SkillUse
	at := make(map[string]int)
	for _, e := range events {
		for _, id := range e.IDs() {
			i, ok := at[id]
			if !ok {
				i = len(uses)
				at[id] = i
				uses = append(uses, SkillUse{Skill: id})
			}
			uses[i].add(&e)
		}
	}
	slices.SortFunc(uses, func(a, b SkillUse) int {
		return cmp.Or(cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Skill, b.Skill))
	})
	return uses
}

func (u *SkillUse) add(e *usage.Event) {
	switch e.Kind {
	case usage.Offered:
		u.Offered++
	case usage.Loaded:
		u.Loaded++
		u.Instructions += e.Tokens
	case usage.Read:
		u.Read++
		u.Files += e.Tokens
	case usage.Ran:
		u.Ran++
		u.Output += e.Tokens
	case usage.Failed:
		u.Failed++
	}
}
