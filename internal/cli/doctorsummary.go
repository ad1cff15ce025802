package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/figures"
)

const (
	screenLines   = 23 // of a summary: a screen of 24 lines without the next prompt
	screenColumns = 80 // where the width is unknown
	placeLines    = 3  // at most, of a finding about no skill
	leastLines    = 3  // of each group, if it has as many
)

// A page has a width, and writes paths in a home with "~".
type page struct {
	width int
	home  string // "" means that there is none
}

// page returns the page of standard output.
func (ui *screen) page() page {
	width, ok := terminal(ui.stdout)
	if !ok {
		width = screenColumns
	}
	home, _ := os.UserHomeDir() // without one, paths are written in full
	return page{width, home}
}

// line returns a text on one line of any width.
func (p page) line(text string) string { return oneLine(tilde(p.home, text)) }

// summary returns a report for people, shorter than a screen: the verdict, then the findings
// by what they cost.
func (p page) summary(r *doctor.Report) string {
	v := r.Verdict()
	lines := p.folded(v.String(), "", "")
	if v.Next != "" {
		lines = append(lines, cut("Next: skills "+p.line(v.Next), p.width))
	}
	sections := r.Sections()
	if len(sections) == 0 {
		return strings.Join(lines, "\n")
	}
	blocks := make([][][]string, len(sections))
	for i, s := range sections {
		for _, row := range s.Rows[:min(len(s.Rows), screenLines)] {
			blocks[i] = append(blocks[i], p.row(row))
		}
	}
	lines = append(lines, "")
	room := screenLines - len(lines) - len(sections) - 1
	for i, n := range shares(blocks, room) {
		lines = append(lines, cut(headingOf(sections[i]), p.width))
		lines = append(lines, within(blocks[i], n, len(sections[i].Rows))...)
	}
	last := fmt.Sprintf("\"skills doctor NAME\" shows one skill, \"skills doctor --all\" each finding (%s).", figures.Thousands(len(r.Findings)))
	if r.OfFolders() {
		last = fmt.Sprintf("The folder of one skill shows it alone; with --all come all findings (%s).", figures.Thousands(len(r.Findings)))
	}
	return strings.Join(append(lines, cut(last, p.width)), "\n")
}

func headingOf(s doctor.Section) string {
	if s.Skills == 0 {
		return s.Group.Title()
	}
	return fmt.Sprintf("%s (%s)", s.Group.Title(), count(s.Skills, "skill"))
}

// shares divides lines among groups: each gets a few, and what is left goes to the first
// groups that want more.
func shares(groups [][][]string, lines int) []int {
	want := make([]int, len(groups))
	got := make([]int, len(groups))
	for i, rows := range groups {
		for _, row := range rows {
			want[i] += len(row)
		}
		got[i] = min(want[i], leastLines)
		lines -= got[i]
	}
	for i := range groups {
		more := max(0, min(want[i]-got[i], lines))
		got[i] += more
		lines -= more
	}
	return got
}

// within returns the first rows, as many as fit into n lines; the last line counts the others
// of all rows.
func within(rows [][]string, n, all int) []string {
	var lines []string
	for i, row := range rows {
		left := n - len(lines)
		if i < all-1 {
			left-- // for the line that counts
		}
		switch {
		case len(row) <= left:
			lines = append(lines, row...)
			continue
		case len(lines) == 0:
			lines = slices.Clone(row[:max(1, left)])
			if last := len(lines) - 1; last < len(row)-1 {
				lines[last] = unended(lines[last])
			}
			i++
		}
		if i < all {
			lines = append(lines, fmt.Sprintf("  … and %s more", figures.Thousands(all-i)))
		}
		break
	}
	return lines
}

// unended replaces the last word of a line with an ellipsis.
func unended(line string) string {
	if i := strings.LastIndexByte(line, ' '); i >= 0 {
		return line[:i] + " …"
	}
	return line
}

// row returns the lines of a row: one, or a few for what is about no single skill.
func (p page) row(row doctor.Row) []string {
	const indent, namesWidth = "  ", 26
	switch {
	case row.Many != nil:
		names := cut(p.line(strings.Join(row.Many[:min(namesWidth, len(row.Many))], ", ")), namesWidth)
		return p.folded(fmt.Sprintf("%s %s (%s): %s", figures.Thousands(len(row.Many)), row.Rule, names, row.Text), indent, indent+indent)
	case row.Skill == "":
		text := row.Text
		if row.Place != "" {
			text += " (" + row.Place + ")"
		}
		return p.folded(text, indent, indent+indent)
	}
	end := " [" + row.Rule + "]"
	if row.More > 0 {
		end += fmt.Sprintf(" and %d more", row.More)
	}
	text := indent + p.line(row.Skill+": "+row.Text)
	return []string{cut(cutWords(text, max(0, p.width-lipgloss.Width(end)))+end, p.width)}
}

// cutWords is cut between words, if the first of them leave half of the width free at most.
func cutWords(text string, width int) string {
	short := cut(text, width)
	if i := strings.LastIndexByte(short, ' '); short != text && i > 0 && lipgloss.Width(short[:i]) >= width/2 {
		return short[:i] + " …"
	}
	return short
}

// folded breaks a text between words into lines, at most placeLines of them. The
// first line starts with first, the others with rest.
func (p page) folded(text, first, rest string) []string {
	lines := []string{first}
	start := first
	for word := range strings.FieldsSeq(p.line(text)) {
		last := len(lines) - 1
		switch line := lines[last]; {
		case line == start:
			lines[last] += word
		case lipgloss.Width(line)+1+lipgloss.Width(word) <= p.width || len(lines) == placeLines:
			lines[last] += " " + word
		default:
			start = rest
			lines = append(lines, rest+word)
		}
	}
	for i, line := range lines {
		lines[i] = cut(line, p.width)
	}
	return lines
}
