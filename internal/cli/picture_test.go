package cli

import (
	"encoding/xml"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"
)

// TestPicture: the picture of the README shows what the commands of its script print.
func TestPicture(t *testing.T) {
	script, err := os.ReadFile("../../docs/picture.txt")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.Open("../../docs/picture.svg")
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	var shown strings.Builder
	for d := xml.NewDecoder(picture); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			shown.Write(text)
		}
	}
	fixture(t)
	t.Chdir("../..")
	for l := range strings.Lines(string(script)) {
		typed, hidden, _ := strings.Cut(l, "##")
		wants := typed
		if command, ok := strings.CutPrefix(typed, "$ skills "); ok {
			words, err := shell.Fields(hidden+" "+command, nil)
			if err != nil {
				t.Fatal(err)
			}
			wants += call(t, 0, words...)
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
	return regexp.MustCompile(`[0-9]+`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "0")
}
