package skill

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxEntries = 1000 // a repair gives up above this, because it parses each entry several times
	maxReasons = 5    // reasons that a warning names
)

// repair reads a block that is not a YAML mapping entry by entry, so that a broken
// value does not affect the others. It tries each entry as it stands, then with
// one fix after the other, then as plain text. The cause is parseMapping's error
// for the whole block.
func (p *parser) repair(b *block, cause error) error {
	entries := splitEntries(b.yaml, b.line)
	if len(entries) == 0 {
		return p.noEntries(b, cause)
	}
	if len(entries) > maxEntries {
		return errTooMany
	}
	var reasons []string
	line := 0
	p.repaired = comments(b.yaml)
	for _, e := range entries {
		f, text, reason := e.read()
		p.repaired += strings.TrimRight(quoted(text, p.restore(&f, text)), "\n") + "\n"
		if reason != "" {
			reasons = append(reasons, e.key+": "+reason)
			if line == 0 {
				line = e.line
			}
		}
		p.fields = append(p.fields, f)
	}
	if line == 0 {
		// Every entry is sound by itself, so the text between them is not.
		line, reasons = b.line, []string{"text that belongs to no key"}
	}
	if n := len(reasons) - maxReasons; n > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more", n))
	}
	report := p.warn
	if slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(reason, afterQuote) }) {
		report = p.fault
	}
	report("yaml-repaired", line, "malformed YAML was read as meant: "+strings.Join(reasons, "; "),
		"other clients may skip this skill; quote the value, or write it as a block (key: >-)")
	return nil
}

// noEntries returns the error for a block without any entry to repair.
func (p *parser) noEntries(b *block, cause error) error {
	const hint = "write name and description as \"key: value\" lines"
	switch {
	case !b.closed:
		return p.refuse("unclosed-frontmatter", b.line-1, "the frontmatter is never closed", "end it with a line ---")
	case !errors.Is(cause, errNotMapping):
		return p.refuse("invalid-yaml", b.line, "frontmatter: "+strings.TrimPrefix(cause.Error(), "yaml: "), hint)
	case !slices.ContainsFunc(strings.Split(b.yaml, "\n"), isContent):
		return p.refuse("empty-frontmatter", b.line, "the frontmatter is empty", hint)
	}
	return p.refuse("not-a-mapping", b.line, "the frontmatter is not a list of keys and values", hint)
}

// isContent reports whether a line is neither blank nor a comment.
func isContent(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

// An entry is the text of one top-level key: its line and all lines up to the next key.
type entry struct {
	key  string
	line int // of the file
	text string
}

// splitEntries cuts a block at its top-level keys and drops the text before the
// first. If there are no keys at all, it accepts "name x" and "description y"
// without a colon.
func splitEntries(block string, line int) []entry {
	entries := cutAt(block, line, topKey)
	if len(entries) > 0 {
		return entries
	}
	return cutAt(block, line, func(s string) string {
		word, _, _ := strings.Cut(s, " ")
		if w := strings.ToLower(word); w == "name" || w == "description" {
			return word
		}
		return ""
	})
}

// cutAt cuts a block before each line in which keyOf finds a key.
func cutAt(block string, line int, keyOf func(line string) string) []entry {
	var entries []entry
	start := 0 // of the last entry
	for at := 0; at < len(block); line++ {
		s, next := cutLine(block, at)
		if len(entries) == 0 {
			s = strings.TrimSpace(s) // the first key alone may be indented
		}
		if key := keyOf(s); key != "" {
			entries, start = append(entries, entry{key: key, line: line}), at
		}
		if n := len(entries); n > 0 {
			entries[n-1].text = block[start:next]
		}
		at = next
	}
	return entries
}

// read returns the field of e, its text as YAML, and the reason for repairing it; "" if e
// is sound.
func (e entry) read() (f field, text, reason string) {
	f = field{key: e.key, line: e.line, base: e.line - 1}
	if f.node = singleValue(e.text); f.node != nil {
		return f, e.text, ""
	}
	var reasons []string
	text = e.text
	for _, fix := range []fix{dropJunk, spaceIndent, listBelowKey, knownEscapes, quoteValues, evenIndent} {
		fixed, why := fix(text)
		if fixed == text {
			continue
		}
		text, reasons = fixed, append(reasons, why)
		if f.node = singleValue(text); f.node != nil {
			return f, text, strings.Join(reasons, ", ")
		}
	}
	// The fixes did not help, so the original text counts.
	value, reason := e.plainText()
	f.node = &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Line: 1, Value: value}
	return f, quotedEntry(e.key, value), strings.Join(append(reasons, reason), ", ")
}

// quotedEntry writes a key with a text as its value; "" if that is impossible.
func quotedEntry(key, value string) string {
	style := yaml.SingleQuotedStyle
	if strings.Contains(value, "\n") {
		style = yaml.LiteralStyle
	}
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: key}, {Kind: yaml.ScalarNode, Style: style, Value: value},
	}})
	if err != nil {
		return ""
	}
	return string(out)
}

// singleValue returns the value of text if it is a YAML mapping of one key.
func singleValue(text string) *yaml.Node {
	root, err := parseMapping(text)
	if err != nil || len(root.Content) != 2 {
		return nil
	}
	return root.Content[1]
}

// plainText reads the value of e as text: the rest of the key's line and the lines
// after it. A blank line ends the text unless the value is a block or the next
// line is indented. The reason says why e had to be read as text.
func (e entry) plainText() (text, reason string) {
	first, rest, _ := strings.Cut(e.text, "\n")
	_, value, _ := strings.Cut(first, e.key)
	value, colon := afterColon(value)
	isBlock := value != "" && (value[0] == '|' || value[0] == '>')
	lines := []string{value}
	blank := false
	for line := range strings.Lines(rest) {
		s := strings.TrimSpace(line)
		if s == "" {
			blank = true
			continue
		}
		if _, junk := dropJunk(line); junk != "" {
			continue
		}
		if blank && !isBlock && line[0] != ' ' && line[0] != '\t' {
			break
		}
		lines = append(lines, s)
	}
	separator := " "
	if strings.HasPrefix(value, "|") {
		separator = "\n"
	}
	return unquote(strings.TrimSpace(strings.Join(lines, separator))), plainReason(colon, rest)
}

// plainReason says why an entry had to be read as plain text.
func plainReason(colon, rest string) string {
	if colon != ":" {
		return "no colon after the key"
	}
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t' {
			return "text that goes on at column 0"
		}
	}
	if strings.Contains(rest, ": ") {
		return "an unquoted \": \""
	}
	return "read as plain text"
}

// afterColon returns the text after the colon at the start of s, and the colon. A
// closing quote and blanks may stand before it; a colon of "" means there is none.
func afterColon(s string) (rest, colon string) {
	s = strings.TrimLeft(s, " ")
	if s != "" && (s[0] == '"' || s[0] == '\'') && strings.HasPrefix(strings.TrimLeft(s[1:], " "), ":") {
		s = strings.TrimLeft(s[1:], " ") // the quote that closes the key
	}
	for _, colon := range []string{":", "："} {
		if rest, ok := strings.CutPrefix(s, colon); ok {
			return strings.TrimSpace(rest), colon
		}
	}
	return s, ""
}
