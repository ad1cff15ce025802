package skill

import (
	"strings"
	"unicode"
)

// A block is the frontmatter of a file and its position.
type block struct {
	yaml     string // the lines between the fences
	line     int    // first line of yaml in the file
	body     string // everything after the closing fence
	bodyLine int
	closed   bool // there was a closing fence
	found    []Problem
}

// note records a problem with the fences of the frontmatter.
func (b *block) note(rule string, line int, message, hint string) {
	b.found = append(b.found, Problem{Rule: rule, Severity: Warning, Line: line, Message: message, Hint: hint})
}

// maxPreamble is how many lines of text may precede the frontmatter. After more
// text, a line of dashes starts an example or is a divider.
const maxPreamble = 10

// split finds the frontmatter of text. It accepts a block that starts on the first
// line whatever the block holds. It accepts a block further down, or one without
// an opening fence, only if the block holds a name and a description.
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
				prose++ // so that a file of unclosed comments is not searched again and again
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
				b.notePreamble(wrapped)
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
				b.notePreamble(wrapped)
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

// notePreamble notes that text stands before the opening fence. If that text is a code
// fence, it removes the fence's end from the body.
func (b *block) notePreamble(wrapped bool) {
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
	if s != "---" {
		b.note("opening-fence", line, "the opening fence is not a plain ---", "the fence is a line of exactly three dashes")
		if rest := strings.TrimSpace(strings.TrimLeft(s, "-")); topKey(rest) != "" { // "--- name: x"
			next, b.line = at+strings.Index(s, rest), line
		}
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

// close finds the end of the block that starts at text[from:], and the body after it.
func (b *block) close(text string, from int) {
	line := b.line
	for at := from; at < len(text); line++ {
		s, next := cutLine(text, at)
		if odd, ok := isClosingFence(s); ok {
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

// isClosingFence reports whether the line s ends a block, and whether its form is odd. No
// YAML is lost: at column 0, --- and ... can only end a document, and ``` and
// other kinds of dashes are not YAML.
func isClosingFence(s string) (odd, ok bool) {
	if s == "---" {
		return false, true
	}
	t := strings.TrimRightFunc(s, unicode.IsSpace)
	switch {
	case strings.HasPrefix(t, "---"):
		rest := strings.TrimLeft(t, "-") // text directly after the dashes makes it a table or a title
		return true, rest == "" || rest != strings.TrimSpace(rest)
	case t == "...", strings.HasPrefix(t, "```"):
		return true, true
	}
	return true, t != "" && strings.Trim(t, "—–―") == ""
}

// cutOverrun ends the block where the Markdown starts, in case the closing fence
// is missing or is really a line of dashes in the instructions.
func (b *block) cutOverrun(text string, from int) {
	n := overrun(b.yaml, b.closed)
	if n < 0 || !hasKey(b.yaml[:n], "description") {
		if !b.closed {
			b.note("closing-fence", b.line, "the frontmatter is never closed", "end it with a line ---")
		}
		return
	}
	if b.closed && len(b.found) > 0 && b.found[len(b.found)-1].Rule == "closing-fence" {
		b.found = b.found[:len(b.found)-1] // that line was not a closing fence
	}
	b.closed = false
	b.yaml, b.body = b.yaml[:n], text[from+n:]
	b.bodyLine = b.line + strings.Count(b.yaml, "\n")
	b.note("closing-fence", b.bodyLine, "the frontmatter is never closed", "end it with a line ---")
}

// overrun returns where Markdown starts inside yaml, or -1. A heading looks like a
// YAML comment, so in a closed block overrun also wants a later line that cannot
// be YAML. Without a closing fence, a heading or a paragraph is enough.
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
		case !looksLikeYAML(s) && heading >= 0:
			return heading
		case !looksLikeYAML(s) && blank && !closed:
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

// looksLikeYAML reports whether s could be a line of frontmatter.
func looksLikeYAML(s string) bool {
	return s == "" || strings.IndexByte(" \t#-}]\"'<=>&", s[0]) >= 0 || topKey(s) != ""
}

// hasKey reports whether a line of yaml starts with key, in any case, and a colon.
func hasKey(yaml, key string) bool {
	for s := range strings.SplitSeq(yaml, "\n") {
		if strings.EqualFold(topKey(s), key) {
			return true
		}
	}
	return false
}

// topKey returns the key of a line "key: value" that starts at column 0, or "". A
// key has no spaces, else any sentence with a colon would have one. A full-width
// colon counts, because some keyboards write it.
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

// keyLength returns the length of the longest key that s can start with, in bytes.
func keyLength(s string) int {
	for i, r := range s {
		if i > 0 && (r == '-' || r == '.') || r == '_' || r != '：' && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			continue
		}
		return i
	}
	return len(s)
}

// dropCodeFence removes the end of the code fence that encloses the frontmatter or
// the whole file.
func dropCodeFence(body string) string {
	// A fence around the frontmatter ends on the first line of the body.
	first, rest, _ := strings.Cut(strings.TrimLeftFunc(body, unicode.IsSpace), "\n")
	if strings.TrimSpace(first) == "```" {
		return rest
	}
	return strings.TrimSuffix(strings.TrimRight(body, "\n "), "\n```")
}

// cutLine returns the line at s[at:] without its line end, and the start of the
// next line.
func cutLine(s string, at int) (line string, next int) {
	if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
		return s[at : at+n], at + n + 1
	}
	return s[at:], len(s)
}
