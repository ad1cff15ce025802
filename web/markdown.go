package web

import "strings"

// A block is some lines of a Markdown text, which a page shows as they are: no mark of them
// becomes an element, a link or a picture.
type block struct {
	Kind  blockKind
	Level int // of a heading, as a level of the page
	Text  string
}

// Shown is the text without blank lines around it.
func (b block) Shown() string { return strings.Trim(b.Text, "\r\n") }

// A blockKind says how a block looks.
type blockKind string

// The kinds of blocks.
const (
	prose       blockKind = "prose"
	heading     blockKind = "heading"
	code        blockKind = "code"
	frontmatter blockKind = "frontmatter"
)

// maxBlocks bounds the blocks of a page; the rest of the text is prose.
const maxBlocks = 2000

// blocksOf divides a Markdown text into blocks. Together they have all of it. above is the level
// of the heading of the page above it.
func blocksOf(text string, above int) []block {
	var list []block
	start, end := 0, 0 // of the last block
	var in lineKinds
	for line := range strings.Lines(text) {
		kind, level := in.next(strings.TrimRight(line, " \t\r\n"))
		n := len(list)
		if n >= maxBlocks {
			kind = prose
		}
		if n == 0 || list[n-1].Kind != kind || kind == heading {
			list, start = append(list, block{Kind: kind}), end
			n++
		}
		if kind == heading {
			list[n-1].Level = min(level+above, 6)
		}
		end += len(line)
		list[n-1].Text = text[start:end]
	}
	return list
}

// lineKinds finds out the kinds of the lines of a text, one after the other.
type lineKinds struct {
	begun bool
	front bool   // the last line is frontmatter, and not its end
	fence string // that ends the code that the last line is in; "" outside of code
}

// next returns the kind of the next line, which has no blanks at its end, and the level of a
// heading from 1.
func (k *lineKinds) next(line string) (kind blockKind, level int) {
	first, mark := !k.begun, fenceOf(line)
	k.begun = true
	switch {
	case first && line == "---":
		k.front = true
		return frontmatter, 0
	case k.front:
		k.front = line != "---"
		return frontmatter, 0
	case k.fence != "":
		if strings.HasPrefix(mark, k.fence) && strings.Trim(line, " \t"+mark[:1]) == "" {
			k.fence = ""
		}
		return code, 0
	case mark != "":
		k.fence = mark
		return code, 0
	}
	if level = headingLevel(line); level > 0 {
		return heading, level
	}
	return prose, 0
}

// fenceOf returns the marks with which a line begins or ends code; "" if it does neither.
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return ""
	}
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(text, mark); len(text)-len(rest) >= 3 {
			return text[:len(text)-len(rest)]
		}
	}
	return ""
}

// headingLevel returns the level of a heading, from 1; 0 if the line is none.
func headingLevel(line string) int {
	rest := strings.TrimLeft(line, "#")
	if n := len(line) - len(rest); n <= 6 && (rest == "" || rest[0] == ' ') {
		return n
	}
	return 0
}
