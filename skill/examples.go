package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Bounds on examples.
const (
	MaxExamples = 16  // of a skill
	maxClaimed  = 5   // of these, in the frontmatter, where they cost nothing
	maxExample  = 200 // code points
)

// examples reads metadata.examples: prompts that the skill is for, as a list or one in a line.
func (p *parser) examples(meta map[string]*yaml.Node) (list []string) {
	n, line := target(meta["examples"]), p.lookup("metadata").line
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		list = strings.Split(nodeText(n), "\n")
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			list = append(list, nodeText(c))
		}
	default:
		p.warn("examples-unclear", line, "metadata.examples is a mapping", "write prompts as a list")
	}
	if len(list) > maxClaimed {
		p.warn("examples-too-many", line, fmt.Sprintf("%d examples in the frontmatter; the first %d count", len(list), maxClaimed), "keep those that differ most, and put the others into "+EvalsPattern)
		list = list[:maxClaimed]
	}
	var m Meta
	for _, text := range list {
		if n := utf8.RuneCountInString(text); n > maxExample {
			p.warn("example-too-long", line, fmt.Sprintf("example %s has %d characters; the first %d count", quote(text), n, maxExample), "write what people say first")
		}
		m.AddExample(text)
	}
	return m.Examples
}

// AddExample adds the beginning of a prompt to the examples, unless they have it or are too many.
func (m *Meta) AddExample(prompt string) {
	prompt = strings.TrimSpace(tidy.First(strings.TrimSpace(tidy.Line(prompt)), maxExample))
	if prompt != "" && len(m.Examples) < MaxExamples {
		m.Examples = distinct(append(m.Examples, prompt))
	}
}
