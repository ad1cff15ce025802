package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/usage"
)

// A Transcript is what happened in a conversation, to be kept as JSON or Markdown.
type Transcript struct {
	Agent    string        `json:"agent,omitempty"`  // its name in the configuration
	System   string        `json:"system,omitempty"` // what stood before the messages when the model was asked last
	Messages []Message     `json:"messages"`         // all, also those that were compacted
	Events   []usage.Event `json:"events"`
	Skills   []SkillUse    `json:"skills"` // the tokens of each skill, most first
	Usage    Usage         `json:"usage"`  // of all answers, as the server counts
}

// Transcript returns what happened until now.
func (c *Conversation) Transcript() Transcript {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := Transcript{
		System: c.system, Messages: slices.Clone(c.all), Events: slices.Clone(c.events), Skills: SumUses(c.events),
	}
	if c.cfg.Agent != nil {
		t.Agent = c.cfg.Agent.Name
	}
	for _, m := range t.Messages {
		t.Usage.In += m.Usage.In
		t.Usage.Out += m.Usage.Out
	}
	return t
}

// Markdown returns the transcript as text for people. What models, users and scripts wrote
// is quoted, so that no heading or list in it can be taken for one of the transcript.
func (t Transcript) Markdown() string {
	var b strings.Builder
	b.WriteString("# Conversation")
	if t.Agent != "" {
		b.WriteString(" of agent " + tidy.Line(t.Agent))
	}
	b.WriteString("\n")
	for _, m := range t.Messages {
		m.markdown(&b)
	}
	if len(t.Skills) > 0 {
		b.WriteString("\n## Skills\n\n| skill | offered | loaded | read | run | failed | tokens |\n|---|--:|--:|--:|--:|--:|--:|\n")
	}
	for _, u := range t.Skills {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n",
			strings.ReplaceAll(tidy.Line(u.Skill), "|", "\\|"), u.Offered, u.Loaded, u.Read, u.Ran, u.Failed, u.Tokens())
	}
	if t.Usage != (Usage{}) {
		fmt.Fprintf(&b, "\nThe server counted %d tokens in and %d out.\n", t.Usage.In, t.Usage.Out)
	}
	return b.String()
}

// markdown writes one message.
func (m *Message) markdown(b *strings.Builder) {
	switch m.Role {
	case User:
		b.WriteString("\n## User\n")
	case Assistant:
		b.WriteString("\n## Model\n")
	default:
		b.WriteString("\n## Result")
		if len(m.Skills) > 0 {
			b.WriteString(" with the instructions of " + tidy.Line(strings.Join(m.Skills, ", ")))
		}
		b.WriteString("\n")
	}
	if m.Text != "" {
		b.WriteString("\n" + quote(m.Text))
	}
	for _, call := range m.Calls {
		b.WriteString("\nCalls " + tidy.Line(call.Name) + ":\n\n" + quote(call.Arguments))
	}
	if m.Cut {
		b.WriteString("\n(The answer was cut off: it reached the most tokens that the server writes, or the server ended it half-way.)\n")
	}
}

// quote returns a text as lines of a Markdown quote. Nothing in it reaches a terminal as a
// control character.
func quote(text string) string {
	text = strings.TrimRight(tidy.Clean(text), "\n")
	return "> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n"
}
