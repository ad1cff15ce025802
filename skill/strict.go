package skill

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// checkFile judges the file of the skill. It checks the frontmatter first, because
// the reference validator reads a subset of YAML without flow style, anchors, tags
// or repeated keys; then the fields.
func (c *checker) checkFile() {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(c.skill.raw)
	if !strings.HasPrefix(text, "---") {
		c.failFence("the file must start with ---", "put the frontmatter first, with nothing before it",
			"opening-fence", "byte-order-mark", "text-before-frontmatter", "code-fence")
		return
	}
	// The reference validator ends the frontmatter at the next three dashes,
	// even inside a value.
	front, _, closed := strings.Cut(text[len("---"):], "---")
	if !closed {
		c.failFence("the frontmatter is not closed with ---", "end it with a line ---", "closing-fence")
		return
	}
	// For the reference validator, as in YAML 1.2, U+0085 does not end a line.
	front = strings.ReplaceAll(front, "\u0085", " ")
	root, err := parseMapping(front)
	if errors.Is(err, errNotMapping) {
		c.fail("not-a-mapping", 1, "the frontmatter is not a list of keys and values", "write name and description as \"key: value\" lines")
		return
	}
	if err != nil {
		line, message := yamlError(err)
		c.fail("invalid-yaml", line, "invalid YAML in the frontmatter: "+message, "quote the value, or write it as a block (key: >-)")
		return
	}
	c.lines = strings.Split(front, "\n")
	c.checkStyle(root)
	c.checkFields(strictFields(root))
}

// failFence reports that the frontmatter does not start or end where the reference
// validator looks for it. If Parse has warned about one of the rules, the problem
// takes that rule and line, so that it is reported once.
func (c *checker) failFence(message, hint string, rules ...string) {
	rule, line := rules[0], 1
	for _, p := range c.skill.Problems {
		if slices.Contains(rules, p.Rule) {
			rule, line = p.Rule, p.Line
			break
		}
	}
	c.fail(rule, line, message, hint)
}

// yamlError returns the line and the message of an error from the YAML parser.
func yamlError(err error) (int, string) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine().FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1]) // cannot fail: digits
		return line, m[2]
	}
	return 1, message
}

var yamlLine = lazyregexp.New(`^line (\d+): (.*)$`)

// strictFields returns the top-level fields as the reference validator reads them.
func strictFields(root *yaml.Node) map[string]strictField {
	fields := make(map[string]strictField, len(root.Content)/2)
	for key, value := range pairs(root) {
		fields[key.Value] = strictField{text: value.Value, scalar: value.Kind == yaml.ScalarNode, line: key.Line}
	}
	return fields
}

// checkStyle reports YAML that the reference validator refuses. It does not follow
// aliases, so that its work is bounded by the length of the file.
func (c *checker) checkStyle(n *yaml.Node) {
	const hint = "write it out in block style"
	switch {
	case n.Kind == yaml.AliasNode:
		c.fail("yaml-alias", n.Line, "aliases are not allowed: "+quote("*"+n.Value), "write the value out")
		return
	case n.Anchor != "":
		c.fail("yaml-anchor", n.Line, "anchors are not allowed: "+quote("&"+n.Anchor), "remove it")
	}
	if n.Style&yaml.TaggedStyle != 0 {
		c.fail("yaml-tag", n.Line, "tags are not allowed: "+quote(n.ShortTag()), "remove it; every value is text")
	}
	if n.Style&yaml.FlowStyle != 0 {
		c.fail("yaml-flow", n.Line, "brackets and braces ([a, b], {a: b}) are not allowed", hint)
		return // the parts of a flow value are written in flow style too
	}
	switch n.Kind {
	case yaml.ScalarNode:
		c.checkScalar(n)
	case yaml.MappingNode:
		c.checkKeys(n)
	}
	for _, child := range n.Content {
		c.checkStyle(child)
	}
}

// checkKeys reports keys that occur twice, and maps that are indented differently
// from their siblings.
func (c *checker) checkKeys(n *yaml.Node) {
	seen := map[string]bool{}
	column := 0
	for key, value := range pairs(n) {
		if seen[key.Value] {
			c.fail("duplicate-key", key.Line, "key "+quote(key.Value)+" occurs twice", "keep one of them")
		}
		seen[key.Value] = true
		if value.Kind != yaml.MappingNode || value.Anchor != "" {
			continue
		}
		if column = cmp.Or(column, value.Column); value.Column != column {
			c.fail("uneven-indentation", value.Line, "maps of one parent must be indented alike", "")
		}
	}
}

// checkScalar reports what our YAML parser accepts and the reference validator does
// not: tabs outside quotes and blocks, and \' between double quotes.
func (c *checker) checkScalar(n *yaml.Node) {
	line := ""
	if n.Line >= 1 && n.Line <= len(c.lines) {
		line = c.lines[n.Line-1]
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		if slices.Contains(escape().FindAllString(line, -1), `\'`) {
			c.fail("yaml-escape", n.Line, `\' is no escape of YAML`, "write ' without the backslash")
		}
	case n.Style == 0:
		if strings.Contains(n.Value, "\t") || strings.Contains(afterText(line, n.Value), "\t") {
			c.fail("yaml-tab", n.Line, "a tab outside quotes", "use blanks")
		}
	}
}

// afterText returns the blanks that follow the first occurrence of value in line,
// and, if value is a key, those after its colon.
func afterText(line, value string) string {
	_, rest, ok := strings.Cut(line, value)
	if !ok || value == "" {
		return ""
	}
	rest = strings.TrimPrefix(strings.TrimLeft(rest, " "), ":")
	return rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
}
