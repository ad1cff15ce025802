package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Script says how scripts of skills run. A field with its zero value leaves it to what is more
// general, see ScriptFor.
type Script struct {
	Executor string        // one of Executors
	Timeout  time.Duration // of one run
	Output   int64         // bytes of what a run writes to each of its outputs
	Network  []int         // TCP ports that it may connect to; empty means none, nil leaves it to what is more general
	Runtime  string        // of the container executor, such as "runsc"
}

// DefaultScript returns what holds where nothing else is said: the defaults of package sandbox.
func DefaultScript() Script { return Script{Timeout: 60 * time.Second, Output: 1 << 20} }

// The executors, see package sandbox/executors. The virtual one can harm nothing, the plain
// one everything.
const (
	executorVirtual = "virtual"
	executorPlain   = "plain"
)

// Executors returns the names of executors.
func Executors() []string {
	return []string{"confined", executorPlain, "bubblewrap", "container", executorVirtual}
}

// A ScriptRule says how the scripts of some skills run.
type ScriptRule struct {
	Skills  []string // patterns for whole names, see Rules
	Sources []string // labels of the only sources in which it holds; nil means all. Of further sources that they cover, see Rules, it narrows the skills
	Script
	Place Place // where a configuration has it; zero if nobody knows
}

// ScriptFor returns how the scripts of a skill run for an agent, which may be nil. Each field is
// decided by the first of these that sets it:
//
//  1. the agent
//  2. the rules that match the skill, in their order: first those with Sources, and of them, as
//     of the others, first those whose Skills have the whole name of the skill
//  3. DefaultScript
//
// Somebody else may have written a foreign agent, or chosen the name of a foreign skill. A
// foreign agent, and for a foreign skill a rule without Sources, only narrow what holds without
// them: they shorten times and outputs, close ports, and do not choose the plain executor.
func ScriptFor(rules []ScriptRule, m *skill.Meta, foreign bool, a *Agent) Script {
	s := DefaultScript()
	for specific := range 4 {
		for _, r := range slices.Backward(rules) {
			if r.matches(m) && r.specific(m) == specific {
				s = s.with(r.Script, foreign && !slices.Contains(r.Sources, m.Source))
			}
		}
	}
	if a != nil {
		s = s.with(a.Script, a.Foreign)
	}
	return s
}

// matches reports whether a rule holds for a skill.
func (r *ScriptRule) matches(m *skill.Meta) bool {
	return (r.Sources == nil || coversAny(r.Sources, m.Source)) && Rules{Names: r.Skills}.MatchSkill(m)
}

// specific returns how closely a rule that matches a skill names it, from 0.
func (r *ScriptRule) specific(m *skill.Meta) int {
	n := 0
	if slices.ContainsFunc(r.Skills, func(name string) bool {
		return slices.Contains([]string{words.NameKey(m.Name), words.NameKey(m.FullName())}, words.NameKey(name))
	}) {
		n = 1
	}
	if r.Sources != nil {
		n += 2
	}
	return n
}

// with returns s with what more sets. If narrow is set, more cannot permit what s does not.
func (s Script) with(more Script, narrow bool) Script {
	if !narrow {
		s.Executor, s.Runtime = cmp.Or(more.Executor, s.Executor), cmp.Or(more.Runtime, s.Runtime)
		s.Timeout, s.Output = cmp.Or(more.Timeout, s.Timeout), cmp.Or(more.Output, s.Output)
		if more.Network != nil {
			s.Network = more.Network
		}
		return s
	}
	if more.Executor != "" && more.Executor != executorPlain && s.Executor != executorVirtual {
		s.Executor, s.Runtime = more.Executor, more.Runtime
	}
	s.Timeout, s.Output = min(s.Timeout, cmp.Or(more.Timeout, s.Timeout)), min(s.Output, cmp.Or(more.Output, s.Output))
	if more.Network != nil {
		s.Network = slices.DeleteFunc(slices.Clone(s.Network), func(port int) bool { return !slices.Contains(more.Network, port) })
	}
	return s
}
