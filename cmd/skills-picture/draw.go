package main

import (
	"fmt"
	"html"
	"strings"
)

// A kind of line decides its colour.
type kind string

const (
	prompt  kind = "#7ee787"
	comment kind = "#8b949e"
	output  kind = "#e6edf3"
)

// A line is one line of the picture.
type line struct {
	text string
	kind kind
}

// Sizes in pixels, and the length of a line in characters.
const (
	columns    = 88
	charWidth  = 8.4
	lineHeight = 20
	margin     = 20
	titleBar   = 36
)

// wrap breaks a text at blanks into lines of the picture; continued lines keep the indent.
func wrap(text string, k kind) []line {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var lines []line
	for len([]rune(text)) > columns {
		runes := []rune(text)
		at := strings.LastIndex(string(runes[:columns+1]), " ")
		if at <= len(indent) {
			break // one long word
		}
		lines = append(lines, line{text[:at], k})
		text = indent + "  " + text[at+1:]
	}
	return append(lines, line{text, k})
}

// draw returns the lines as an SVG picture of a terminal. It names no font that a reader may
// lack without a fallback, and holds no script and no link.
func draw(lines []line) string {
	width := margin*2 + columns*charWidth
	height := titleBar + margin + len(lines)*lineHeight
	var svg strings.Builder
	fmt.Fprintf(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" role=\"img\" aria-label=\"skills in a terminal\">\n",
		width, height, width, height)
	fmt.Fprintf(&svg, "<rect width=\"100%%\" height=\"100%%\" rx=\"10\" fill=\"#0d1117\"/>\n")
	for i, colour := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(&svg, "<circle cx=\"%d\" cy=\"18\" r=\"6\" fill=\"%s\"/>\n", margin+i*20, colour)
	}
	svg.WriteString("<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n")
	for i, l := range lines {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		fmt.Fprintf(&svg, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", margin, titleBar+14+i*lineHeight, l.kind, html.EscapeString(l.text))
	}
	svg.WriteString("</g>\n</svg>\n")
	return svg.String()
}
