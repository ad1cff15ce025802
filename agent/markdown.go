package agent

import "strings"

// literal marks the bytes of a Markdown text that only show something: fenced code, block
// quotes and inline code. Where programs read Markdown differently it marks what any of them
// takes for code:
//   - a fence may be indented, and stand behind the mark of a list item; one without an end
//     reaches to the end of the text; the line that closes it is not indented further than it;
//   - a line that starts with > is a quote, but > alone is not, because it may end a tag;
//   - inline code is paired within its line and also within its paragraph.
func literal(text string) []bool {
	m := marker{text: text, marks: make([]bool, len(text))}
	for at := 0; at < len(text); {
		end := at + lineLen(text[at:])
		m.line(at, end)
		at = end
	}
	m.inline(m.paragraph, len(text))
	return m.marks
}

// A marker reads a text line by line.
type marker struct {
	text      string
	marks     []bool
	paragraph int  // where the paragraph starts that the last line belongs to
	fence     byte // ` or ~ within fenced code, else 0
	length    int  // of the fence
	indent    int  // that a line may have which closes the fence
}

// lineLen returns the length of the first line of s, with its end.
func lineLen(s string) int {
	i := strings.IndexAny(s, "\r\n")
	switch {
	case i < 0:
		return len(s)
	case s[i] == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		return i + 2
	}
	return i + 1
}

func (m *marker) line(at, end int) {
	line := strings.TrimRight(m.text[at:end], " \t\r\n")
	if m.fence != 0 {
		m.mark(at, end)
		rest := strings.TrimLeft(line, " \t")
		if n := run(rest, m.fence); n >= m.length && n == len(rest) && column(line, len(line)-n) <= m.indent {
			m.fence, m.paragraph = 0, end
		}
		return
	}
	in := content(line)
	if c, n := opensFence(line[in:]); n > 0 {
		m.fence, m.length, m.indent = c, n, max(3, column(line, in))
	}
	if m.fence != 0 || strings.HasPrefix(line[in:], ">") && in+1 < len(line) {
		m.mark(at, end)
	}
	switch {
	case m.marks[at]:
		m.inline(m.paragraph, at)
		m.paragraph = end
	case line == "":
		m.inline(m.paragraph, at)
		m.paragraph = end
	default:
		m.inline(at, end)
	}
}

func (m *marker) mark(from, to int) {
	for i := from; i < to; i++ {
		m.marks[i] = true
	}
}

// content returns where a line starts behind blanks and the marks of list items.
func content(line string) int {
	at := 0
	for {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		mark := at
		for mark < len(line) && mark < at+9 && line[mark] >= '0' && line[mark] <= '9' {
			mark++
		}
		digits := mark > at
		if mark+1 >= len(line) || line[mark+1] != ' ' && line[mark+1] != '\t' {
			return at
		}
		if c := line[mark]; digits && c != '.' && c != ')' || !digits && c != '-' && c != '*' && c != '+' {
			return at
		}
		at = mark + 1
	}
}

// column returns how far the byte at an index is indented.
func column(line string, index int) int {
	n := 0
	for i := range index {
		n++
		if line[i] == '\t' {
			n = (n + 3) / 4 * 4
		}
	}
	return n
}

// opensFence returns the character and the length of a fence that opens; 0 means none.
func opensFence(s string) (c byte, length int) {
	for _, c := range []byte("`~") {
		if n := run(s, c); n >= 3 && (c == '~' || strings.IndexByte(s[n:], '`') < 0) {
			return c, n
		}
	}
	return 0, 0
}

// run returns how often s starts with c.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// inline marks the inline code between two indexes: from a run of backticks to the next run of
// the same length. A backslash takes its meaning from a backtick, but not within code.
func (m *marker) inline(from, to int) {
	s := m.text[from:to]
	if strings.Count(s, "`") < 2 {
		return
	}
	runs := make(map[int][]int) // where the runs of a length start
	for i := 0; i < len(s); i++ {
		if n := run(s[i:], '`'); n > 0 {
			runs[n] = append(runs[n], i)
			i += n
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		n := run(s[i:], '`')
		if n == 0 {
			continue
		}
		ends := runs[n]
		for len(ends) > 0 && ends[0] < i+n {
			ends = ends[1:]
		}
		if runs[n] = ends; len(ends) > 0 {
			m.mark(from+i, from+ends[0]+n)
			i = ends[0]
		}
		i += n - 1
	}
}
