package agent

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Kind is what an Event tells.
type Kind string

// The kinds of events.
const (
	Offered   Kind = "offered"   // a prompt got these skills
	Searched  Kind = "searched"  // a search found these skills
	Asked     Kind = "asked"     // the model answered: one iteration
	Loaded    Kind = "loaded"    // the instructions of a skill were given to the model
	Read      Kind = "read"      // a file of a skill was given to the model
	Ran       Kind = "ran"       // a script of a skill ran
	Failed    Kind = "failed"    // what the model asked for could not be done, or the model did not answer
	Compacted Kind = "compacted" // old messages were shortened
)

// An Event is one thing that an agent did.
type Event struct {
	Time     time.Time     `json:"time,omitzero"`
	Kind     Kind          `json:"kind"`
	Skills   []string      `json:"skills,omitempty"`      // IDs
	What     string        `json:"what,omitempty"`        // the file that was read, the command that ran, the name that was not found
	Exit     int           `json:"exit,omitempty"`        // of a run
	Duration time.Duration `json:"duration_ns,omitempty"` // of a run, or of an answer of the model
	Tokens   int           `json:"tokens,omitempty"`      // that it added to the conversation, estimated; Compacted: that it saved
	Error    string        `json:"error,omitempty"`       // of Failed
	Err      error         `json:"-"`                     // of Failed
	Stale    bool          `json:"-"`                     // of Loaded: the skill has changed since it was indexed
	Prompt   string        `json:"-"`                     // that skills were searched or offered for
	Because  string        `json:"-"`                     // of Offered: why the prompt wants no skill, see search.Ranking
	Session  string        `json:"-"`                     // of Offered: the session that the call names

	Unprotected []string `json:"unprotected,omitempty"` // of a run: what nothing kept it from, see [sandbox.Result]
}

// attrs returns the fields that are set, for a log.
func (e *Event) attrs() []any {
	list := []any{"event", string(e.Kind)}
	if len(e.Skills) > 0 {
		list = append(list, "skills", strings.Join(e.Skills, " "))
	}
	if e.What != "" {
		list = append(list, "what", e.What)
	}
	if e.Kind == Ran {
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
func SumUses(events []Event) []SkillUse {
	var uses []SkillUse
	at := make(map[string]int)
	for _, e := range events {
		for _, id := range e.Skills {
			i, ok := at[id]
			if !ok {
				i = len(uses)
				at[id] = i
				uses = append(uses, SkillUse{Skill: id})
			}
			uses[i].add(e)
		}
	}
	slices.SortFunc(uses, func(a, b SkillUse) int {
		return cmp.Or(cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Skill, b.Skill))
	})
	return uses
}

func (u *SkillUse) add(e Event) {
	switch e.Kind {
	case Offered:
		u.Offered++
	case Loaded:
		u.Loaded++
		u.Instructions += e.Tokens
	case Read:
		u.Read++
		u.Files += e.Tokens
	case Ran:
		u.Ran++
		u.Output += e.Tokens
	case Failed:
		u.Failed++
	}
}
