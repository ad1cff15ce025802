package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// TestDraw: the picture is well-formed, shows every line, and escapes what a skill says.
func TestDraw(t *testing.T) {
	long := strings.Repeat("word ", 40)
	lines := append(wrap("  "+long, output), line{`$ skills try "<b> & 'x'"`, prompt})
	svg := draw(lines)
	var shown []string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			shown = append(shown, string(text))
		}
	}
	if len(shown) != len(lines) || shown[len(shown)-1] != lines[len(lines)-1].text {
		t.Errorf("%q shows %q", lines, shown)
	}
	for _, l := range shown {
		if n := len([]rune(l)); n > columns {
			t.Errorf("a line has %d characters: %q", n, l)
		}
	}
	if words := strings.Fields(strings.Join(shown[:len(shown)-1], " ")); len(words) != 40 {
		t.Errorf("%d of 40 words are shown", len(words))
	}
}
