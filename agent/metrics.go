package agent

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/usage"
)

// maxCounted is how many skills Metrics count one by one; the others are counted together,
// so that a server does not keep a line for each name that was ever asked for.
const maxCounted = 1000

// others is the name under which skills beyond maxCounted are counted.
const others = "(others)"

// Metrics count what agents do, for monitoring. The zero value is ready for use, and several
// agents may share one: set Config.Observe to its method Observe.
type Metrics struct {
	mu      sync.Mutex
	asked   int
	waited  time.Duration // for answers of models
	bad     int           // what could not be done
	ran     int
	nonzero int           // runs with another status than 0
	running time.Duration // of all runs
	uses    map[string]*SkillUse
}

// Observe counts an event.
func (m *Metrics) Observe(e usage.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Kind {
	case usage.Asked:
		m.asked++
		m.waited += e.Duration
	case usage.Failed:
		m.bad++
	case usage.Ran:
		m.ran++
		m.running += e.Duration
		if e.Exit != 0 {
			m.nonzero++
		}
	}
	for _, id := range e.IDs() {
		m.use(id).add(&e)
	}
}

// use returns the counts of a skill.
func (m *Metrics) use(id string) *SkillUse {
	u := m.uses[id]
	if u == nil && len(m.uses) >= maxCounted {
		id = others
		u = m.uses[id]
	}
	if u == nil {
		if m.uses == nil {
			m.uses = make(map[string]*SkillUse)
		}
		u = &SkillUse{Skill: id}
		m.uses[id] = u
	}
	return u
}

// Write writes all counts in the text format of Prometheus.
func (m *Metrics) Write(w io.Writer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, c := range []struct {
		name, help string
		value      any
	}{
		{"iterations_total", "Answers of models.", m.asked},
		{"model_seconds_total", "Time that models took to answer.", m.waited.Seconds()},
		{"runs_total", "Commands of skills that ran.", m.ran},
		{"runs_failed_total", "Commands of skills that ran and ended with another status than 0.", m.nonzero},
		{"run_seconds_total", "Time that commands of skills took.", m.running.Seconds()},
		{"refused_total", "What a model asked for and could not be done.", m.bad},
	} {
		fmt.Fprintf(&b, "%s%s%s %v\n", head(c.name, c.help), prefix, c.name, c.value)
	}
	m.writeSkills(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// prefix is what the names of all counts start with.
const prefix = "repertoire_agent_"

// head returns the lines that explain a count.
func head(name, help string) string {
	return "# HELP " + prefix + name + " " + help + "\n# TYPE " + prefix + name + " counter\n"
}

// writeSkills writes the counts of each skill.
func (m *Metrics) writeSkills(b *strings.Builder) {
	uses := slices.SortedFunc(maps.Values(m.uses), func(a, b *SkillUse) int { return cmp.Compare(a.Skill, b.Skill) })
	const events = "skill_events_total"
	b.WriteString(head(events, "What happened with skills."))
	for _, u := range uses {
		for _, c := range []struct {
			kind usage.Kind
			n    int
		}{{usage.Offered, u.Offered}, {usage.Loaded, u.Loaded}, {usage.Read, u.Read}, {usage.Ran, u.Ran}, {usage.Failed, u.Failed}} {
			if c.n > 0 {
				fmt.Fprintf(b, "%s%s{skill=%s,event=%q} %d\n", prefix, events, label(u.Skill), string(c.kind), c.n)
			}
		}
	}
	const tokens = "skill_tokens_total"
	b.WriteString(head(tokens, "Tokens that skills added to conversations, estimated."))
	for _, u := range uses {
		if u.Tokens() > 0 {
			fmt.Fprintf(b, "%s%s{skill=%s} %d\n", prefix, tokens, label(u.Skill), u.Tokens())
		}
	}
}

// label writes the value of a label: of its characters, the format escapes three.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}
