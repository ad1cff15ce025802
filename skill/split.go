package skill

import (
	"strings"
	"unicode"
)

// A block is the frontmatter of a file and where it stands.
type block struct {
	yaml     string // the lines between the fences
	line     int    // of the file on which yaml starts
	body     string // everything after the closing fence
	bodyLine int
	closed   bool // there was a closing fence
	found    []Problem
}

// note remembers what was odd about the place of the frontmatter.
func (b *block) note(rule string, line int, message, hint string) {
	b.found = append(b.found, Problem{Rule: rule, Severity: Warning, Line: line, Message: message, Hint: hint})
}

// maxPreamble is how many lines of text may stand before the frontmatter. A
// document whose first rule comes later shows an example or a divider, not
// its own frontmatter.
const maxPreamble = 10

// split finds the frontmatter of text. A block that starts on the first line
// of the text is taken whatever it holds; one further down, or one without an
// opening fence, only when it holds both a name and a description.
func split(text string) (*block, bool) {
	var first *block
	prose, wrapped := 0, false
	for at, line := 0, 1; at < len(text) && prose <= maxPreamble; line++ {
		s, next := cutLine(text, at)
		switch {
		case strings.TrimSpace(s) == "":
		case strings.HasPrefix(s, "<!--"):
			n := strings.Index(text[at:], "-->")
			if n < 0 {
				prose++ // also bounds how often the rest is searched in vain
				break
			}
			end := at + n + len("-->")
			line += strings.Count(text[at:end], "\n")
			_, next = cutLine(text, end)
		case strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~"):
			wrapped = true
		case strings.HasPrefix(s, "---"):
			b := openBlock(text, at, line)
			if at > 0 {
				b.preamble(wrapped)
			}
			if hasKey(b.yaml, "description") && (at == 0 || hasKey(b.yaml, "name")) {
				return b, true
			}
			if first == nil && prose == 0 {
				first = b
			}
			prose++
		case prose == 0 && topKey(s) != "":
			b := bareBlock(text, at, line)
			if wrapped {
				b.preamble(wrapped)
			}
			if hasKey(b.yaml, "name") && hasKey(b.yaml, "description") {
				return b, true
			}
			prose++
		default:
			prose++
		}
		at = next
	}
	return first, first != nil
}

// preamble notes that something stands before the opening fence, and drops
// the code fence around the text if that is what it was.
func (b *block) preamble(wrapped bool) {
	const hint = "the first line of the file must be ---"
	if wrapped {
		b.note("code-fence", 1, "the frontmatter stands inside a code fence", hint)
		b.body = dropCodeFence(b.body)
		return
	}
	b.note("text-before-frontmatter", 1, "the frontmatter does not start on the first line", hint)
}

// openBlock reads the block whose opening fence is the line at text[at:].
func openBlock(text string, at, line int) *block {
	b := &block{line: line + 1}
	s, next := cutLine(text, at)
	if s == "---" {
		b.close(text, next)
		return b
	}
	const hint = "the fence is a line of exactly three dashes"
	rest := strings.TrimSpace(strings.TrimLeft(s, "-"))
	b.note("opening-fence", line, "the opening fence is not a plain ---", hint)
	if topKey(rest) != "" { // "--- name: x"
		next, b.line = at+strings.Index(s, rest), line
	}
	b.close(text, next)
	return b
}

// bareBlock reads the block without an opening fence that starts at text[at:].
func bareBlock(text string, at, line int) *block {
	b := &block{line: line}
	b.note("opening-fence", line, "the opening --- is missing", "start the file with a line ---")
	b.close(text, at)
	return b
}

// close finds the end of the block that starts at text[from:], and its body.
func (b *block) close(text string, from int) {
	line := b.line
	for at := from; at < len(text); line++ {
		s, next := cutLine(text, at)
		if odd, ok := closes(s); ok {
			b.yaml, b.body, b.bodyLine, b.closed = text[from:at], text[next:], line+1, true
			if odd {
				b.note("closing-fence", line, "the closing fence is not a plain ---", "the fence is a line of exactly three dashes")
			}
			break
		}
		at = next
	}
	if !b.closed {
		b.yaml, b.bodyLine = text[from:], line
	}
	b.cutOverrun(text, from)
}

// closes reports whether the line s ends a block, and in an odd form. Inside
// YAML a line of --- or ... at column 0 could only end the document; ``` and
// dashes of other kinds mean nothing there.
func closes(s string) (odd, ok bool) {
	if s == "---" {
		return false, true
	}
	t := strings.TrimRightFunc(s, unicode.IsSpace)
	switch {
	case strings.HasPrefix(t, "---"):
		rest := strings.TrimLeft(t, "-") // not a table or a title: |, text
		return true, rest == "" || rest != strings.TrimSpace(rest)
	case t == "...", strings.HasPrefix(t, "```"):
		return true, true
	}
	return true, t != "" && strings.Trim(t, "—–―") == ""
}

// cutOverrun ends the block where the instructions start, if the fence that
// seemed to close it belongs to them or there was none.
func (b *block) cutOverrun(text string, from int) {
	n := overrun(b.yaml, b.closed)
	if n < 0 || !hasKey(b.yaml[:n], "description") {
		if !b.closed {
			b.note("closing-fence", b.line, "the frontmatter is never closed", "end it with a line ---")
		}
		return
	}
	if b.closed && len(b.found) > 0 && b.found[len(b.found)-1].Rule == "closing-fence" {
		b.found = b.found[:len(b.found)-1] // that was no closing fence
	}
	b.closed = false
	b.yaml, b.body = b.yaml[:n], text[from+n:]
	b.bodyLine = b.line + strings.Count(b.yaml, "\n")
	b.note("closing-fence", b.bodyLine, "the frontmatter is never closed", "end it with a line ---")
}

// overrun returns where Markdown starts inside yaml, or -1. A heading looks
// like a comment, so in a closed block it takes a later line that cannot be
// YAML to tell; without a closing fence, the first paragraph is enough.
func overrun(yaml string, closed bool) int {
	heading, blank := -1, false
	for at := 0; at < len(yaml); {
		s, next := cutLine(yaml, at)
		switch {
		case strings.TrimSpace(s) == "":
			blank = true
			at = next
			continue
		case blank && isHeading(s) && heading < 0:
			if !closed {
				return at
			}
			heading = at
		case !yamlish(s) && heading >= 0:
			return heading
		case !yamlish(s) && blank && !closed:
			return at
		}
		blank = false
		at = next
	}
	return -1
}

// isHeading reports whether s is a Markdown heading.
func isHeading(s string) bool {
	n := len(s) - len(strings.TrimLeft(s, "#"))
	return n >= 1 && n <= 6 && strings.HasPrefix(s[n:], " ")
}

// yamlish reports whether s could be a line of a frontmatter.
func yamlish(s string) bool {
	return s == "" || strings.IndexByte(" \t#-}]\"'<=>&", s[0]) >= 0 || topKey(s) != ""
}

// hasKey reports whether a line of yaml starts with key and a colon, in any
// case.
func hasKey(yaml, key string) bool {
	for at := 0; at < len(yaml); {
		s, next := cutLine(yaml, at)
		if k := topKey(s); len(k) == len(key) && strings.EqualFold(k, key) {
			return true
		}
		at = next
	}
	return false
}

// topKey returns the key of a line "key: value" that starts at column 0, or
// "". Spaces are not accepted in keys, or any sentence with a colon would be
// one. A full-width colon counts: it is what some keyboards give.
func topKey(s string) string {
	quoted := s != "" && (s[0] == '"' || s[0] == '\'')
	t := s
	if quoted {
		t = s[1:]
	}
	n := keyLength(t)
	if n == 0 || n > 64 {
		return ""
	}
	rest := t[n:]
	if quoted {
		if rest == "" || rest[0] != s[0] {
			return ""
		}
		rest = rest[1:]
	}
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "：") || rest == ":" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, ":\t") {
		return t[:n]
	}
	return ""
}

// keyLength returns how many bytes of s may be a key.
func keyLength(s string) int {
	for i, r := range s {
		if i > 0 && (r == '-' || r == '.') || r == '_' || r != '：' && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			continue
		}
		return i
	}
	return len(s)
}

// dropCodeFence removes the end of the code fence that stood around the
// frontmatter or around the whole file.
func dropCodeFence(body string) string {
	at := 0
	for at < len(body) { // around the frontmatter: the first line of the body
		s, next := cutLine(body, at)
		if strings.TrimSpace(s) != "" {
			if strings.TrimSpace(s) == "```" {
				return body[next:]
			}
			break
		}
		at = next
	}
	return strings.TrimSuffix(strings.TrimRight(body, "\n "), "\n```")
}

// cutLine returns the line at s[at:] without its end, and where the next one
// starts.
func cutLine(s string, at int) (line string, next int) {
	if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
		return s[at : at+n], at + n + 1
	}
	return s[at:], len(s)
}
