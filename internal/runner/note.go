package runner

import (
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/usage"
)

// UsageOf returns what the log of usage notes of an event of an agent; ok is false if it
// notes nothing. The client, the session and the prompt are left to the caller.
func UsageOf(e agent.Event) (u usage.Event, ok bool) {
	switch e.Kind {
	case agent.Offered: // its tokens are of the whole list, not of each skill
		u = usage.Event{Kind: usage.Offered}
	case agent.Loaded:
		u = usage.Event{Kind: usage.Loaded, Tokens: e.Tokens}
	case agent.Read:
		u = usage.Event{Kind: usage.Read, File: e.What, Tokens: e.Tokens}
	case agent.Ran:
		u = usage.Event{Kind: usage.Ran, File: e.What, Exit: e.Exit, Took: e.Duration.Seconds(), Tokens: e.Tokens}
	default:
		return u, false
	}
	for _, id := range e.Skills {
		u.Skills = append(u.Skills, usage.Skill{ID: id})
	}
	return u, len(e.Skills) > 0 || e.Kind == agent.Offered
}
