package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"golang.org/x/term"
)

// terminal returns the width of w in characters; ok is false when w is no terminal.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := bare(w).(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width <= 0 {
		width, _, err = term.GetSize(int(f.Fd()))
	}
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// rows prints a table: aligned, coloured and cut to the width of a terminal, else one line
// a row with tabs. On a terminal the lines of below, which the caller has made visible
// and styled, stand below each row.
func (ui *screen) rows(header []string, rows [][]string, below ...[]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	if width, ok := terminal(ui.stdout); ok {
		lines := strings.Split(styled(header, rows, width), "\n") // the first is the header
		for i := len(below); i > 0; i-- {
			lines = slices.Insert(lines, i+1, below[i-1]...)
		}
		_, err := lipgloss.Fprintln(ui.raw, strings.Join(lines, "\n"))
		return err
	}
	var out strings.Builder
	for _, row := range rows {
		out.WriteString(strings.Join(row, "\t") + "\n")
	}
	_, err := io.WriteString(ui.stdout, out.String())
	return err
}

// tableOr prints the result for programs with --json, and else a table.
func (ui *screen) tableOr(result any, header []string, rows [][]string) error {
	if ui.json {
		return ui.printJSON(result)
	}
	return ui.rows(header, rows)
}

// further prints one more table after an empty line, if the table has rows.
func (ui *screen) further(header []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(ui.stdout)
	return ui.rows(header, rows)
}

// cells returns the values of a row as text.
func cells(values ...any) []string {
	return mapped(values, func(v any) string { return fmt.Sprint(v) })
}

// gap is the space between two columns.
const gap = 2

func styled(header []string, rows [][]string, width int) string {
	fit(header, rows, width)
	return table.New().Headers(header...).Rows(rows...).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderRow(false).BorderHeader(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			style := lipgloss.NewStyle()
			if col < len(header)-1 {
				style = style.PaddingRight(gap)
			}
			switch {
			case row == table.HeaderRow:
				return style.Bold(true)
			case col == 0:
				return style.Foreground(lipgloss.Color("6"))
			}
			return style
		}).Render()
}

// fit cuts the cells so that no row is wider than width.
func fit(header []string, rows [][]string, width int) {
	all := append([][]string{header}, rows...)
	widths := make([]int, len(header))
	for _, row := range all {
		for col, cell := range row {
			widths[col] = max(widths[col], lipgloss.Width(cell))
		}
	}
	shrink(widths, width-gap*(len(header)-1))
	for _, row := range all {
		for col, cell := range row {
			row[col] = cut(cell, widths[col])
		}
	}
}

// shrink lowers widths until they fit into room: first the last column, a long description,
// then the middle ones, and only then the first, the name that other commands want.
func shrink(widths []int, room int) {
	over := -room
	for _, w := range widths {
		over += w
	}
	last := len(widths) - 1
	lower := func(col, least int) {
		n := max(0, min(over, widths[col]-least))
		widths[col] -= n
		over -= n
	}
	third := max(1, room/3)
	lower(last, third)
	for col := last - 1; col > 0; col-- {
		lower(col, 12)
	}
	lower(0, max(24, third))
	for col := last; col >= 0; col-- {
		lower(col, 1)
	}
}

// cut shortens s to a width in terminal cells, without splitting a character on screen.
func cut(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	if width <= 1 {
		return "…" // lipgloss takes a width of 0 for none
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(s) + "…"
}
