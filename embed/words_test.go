package embed_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/embed"
)

// words returns the words of a text; a whole identifier stands in parentheses,
// a pair in brackets.
func words(text string) string {
	var out []string
	embed.Words(text, func(w string, kind embed.WordKind) {
		switch kind {
		case embed.Whole:
			w = "(" + w + ")"
		case embed.Pair:
			w = "[" + w + "]"
		}
		out = append(out, w)
	})
	return strings.Join(out, " ")
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		" -- ":                      "",
		"Fill a form.":              "Fill a form",
		"getUserName":               "get User Name (getUserName)",
		"PDFReader reads PDFs":      "PDF Reader (PDFReader) reads PDFs",
		"kebab-case and snake_case": "kebab case and snake case",
		"don't say 'no'":            "don't say no",
		"utf8 h264 v2":              "utf8 h264 v2",
		"café Ünï":                  "cafe Uni",
		"ｆｕｌｌ":                      "full",
		"填写表单":                      "[填写] [写表] [表单]",
		"用Excel填":                   "[用] Excel [填]",
		"й":                         "й",
	} {
		if got := words(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("getURL 填写 \xff don't")
	f.Fuzz(func(t *testing.T, text string) {
		embed.Words(text, func(w string, kind embed.WordKind) {
			if w == "" || strings.ContainsAny(w, " \t\n\"") {
				t.Errorf("%q: word %q", text, w)
			}
			if kind == embed.Pair && utf8.RuneCountInString(w) > 2 {
				t.Errorf("%q: pair %q", text, w)
			}
		})
	})
}

func ExampleWords() {
	embed.Words("parse the XMLHttpRequest", func(w string, _ embed.WordKind) { fmt.Println(w) })
	// Output:
	// parse
	// the
	// XML
	// Http
	// Request
	// XMLHttpRequest
}
