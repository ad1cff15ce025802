package cli

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestPicture: the picture of the README shows what the commands of its script print.
func TestPicture(t *testing.T) {
	script := must.Read(t, "../../docs/picture.txt")
	picture, err := os.Open("../../docs/picture.svg")
	must.Do(t, err)
	defer picture.Close()
	var shown strings.Builder
	for d := xml.NewDecoder(picture); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		must.Do(t, err)
		if text, ok := token.(xml.CharData); ok {
			shown.Write(text)
		}
	}
	home := homeWith(t, filepath.Join(".claude", "skills"))
	for l := range strings.Lines(script) {
		wants := l
		if command, ok := strings.CutPrefix(l[min(len(l), 2):], "skills "); ok {
			words, err := shell.Fields(command, nil)
			must.Do(t, err)
			if words[0] == "try" {
				words = append(words, "--deadline", "30s") // a busy machine is late
			}
			wants += strings.ReplaceAll(call(t, 0, words...), home, "~")
		}
		if strings.HasPrefix(l, "! ") {
			continue // it is not shown
		}
		for line := range strings.Lines(wants) {
			if line = plainWords(line); !strings.Contains(plainWords(shown.String()), line) {
				t.Errorf("the picture lacks %q; \"go run ./cmd/skills-picture docs/picture.txt > docs/picture.svg\" draws it again", line)
			}
		}
	}
}

// plainWords returns a text with single blanks and without the numbers, since times differ.
func plainWords(text string) string {
	return regexp.MustCompile(`[0-9]+(\.[0-9]+)?( m?s\b)?`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "0")
}
