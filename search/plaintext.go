package search

import (
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// plainText turns Markdown into one line of text. It removes the marks of headings,
// lists, quotes, tables, code and emphasis, the targets of links, and characters that a
// reader cannot see or a terminal would obey. It is not exact: some harmless marks may
// remain.
func plainText(markdown string) string {
	var out strings.Builder
	out.Grow(len(markdown))
	for line := range strings.Lines(words.Clean(markdown)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") || strings.Trim(line, "|-:=*_ +") == "" {
			continue
		}
		line = marks.Replace(withoutTargets(strings.TrimLeft(line, "#>-*+ ")))
		for word := range strings.FieldsSeq(line) {
			if out.Len() > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(word)
		}
	}
	return words.Line(out.String()) // again: the mark before a variation selector may be gone
}

var marks = strings.NewReplacer("**", "", "__", "", "`", "", "|", " ")

// withoutTargets replaces links and images by their texts.
func withoutTargets(line string) string {
	var out strings.Builder
	for {
		middle := strings.Index(line, "](")
		if middle < 0 {
			break
		}
		open := strings.LastIndexByte(line[:middle], '[')
		end := strings.IndexByte(line[middle:], ')')
		if open < 0 || end < 0 {
			out.WriteString(line[:middle+2])
			line = line[middle+2:]
			continue
		}
		out.WriteString(strings.TrimSuffix(line[:open], "!"))
		out.WriteString(line[open+1 : middle])
		line = line[middle+end+1:]
	}
	if out.Len() == 0 {
		return line
	}
	return out.String() + line
}
