package skill

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Exact returns the frontmatter of a SKILL.md as every reader of YAML 1.2 finds
// it: string, bool, int64, float64, nil, []any and map[string]any. Use Parse to
// read a skill leniently; use Exact to pass the frontmatter on to programs that
// compare it with what they read themselves. Exact repairs nothing and changes no
// character: it fails if Parse would have to, or if readers differ about the text.
func Exact(text string) (map[string]any, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("larger than %d bytes", MaxFile)
	}
	block, err := exactBlock(strings.ReplaceAll(text, "\r\n", "\n"))
	if err != nil {
		return nil, err
	}
	root, err := parseMapping(block)
	if err != nil {
		return nil, err
	}
	if err := checkExact(root, 1); err != nil {
		return nil, err
	}
	var odd error
	r := resolver{found: func(_ string, n *yaml.Node, message string) {
		odd = fmt.Errorf("line %d: %s", n.Line+1, message)
	}}
	v, err := r.value(root, 1)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), odd
}

// exactBlock returns the frontmatter, or an error if readers disagree about where
// it is or if Parse would remove characters from it.
func exactBlock(text string) (string, error) {
	b, ok := split(text)
	if !ok || b.line != 2 || !strings.HasPrefix(text, "---\n") {
		return "", errors.New("the first line is not ---")
	}
	for line := range strings.SplitSeq(text[len("---\n"):], "\n") {
		if line == "---" {
			break
		}
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") {
			return "", fmt.Errorf("the line %s ends the frontmatter for some readers", quote(line))
		}
	}
	switch _, hidden := tidy.CleanAndCount(b.yaml); {
	case len(b.found) > 0:
		return "", errors.New(b.found[0].Message)
	case len(b.yaml) > MaxFrontmatter:
		return "", fmt.Errorf("frontmatter larger than %d bytes", MaxFrontmatter)
	case len(hidden) > 0:
		return "", errors.New(hiddenMessage(hidden[0]))
	case strings.Contains(b.yaml, "\r"):
		return "", errors.New("a carriage return without a line feed")
	}
	return b.yaml, nil
}

// checkExact refuses nodes whose value depends on the reader: tags, keys that
// are not plain words or numbers, invisible characters written as escapes.
func checkExact(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("line %d: the tag %s", n.Line+1, quote(n.Tag))
	}
	if n.Kind == yaml.ScalarNode && tidy.Clean(n.Value) != n.Value {
		return fmt.Errorf("line %d: characters written as escapes that a reader cannot see", n.Line+1)
	}
	for i, c := range n.Content { // an alias has no Content: its target is checked where it stands
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if err := checkKey(c); err != nil {
				return err
			}
		}
		if err := checkExact(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkKey refuses keys that JSON cannot express.
func checkKey(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		switch resolveScalar(n).(type) {
		case string, bool, int64:
			return nil
		}
	}
	return fmt.Errorf("line %d: a key that is not a word", n.Line+1)
}
