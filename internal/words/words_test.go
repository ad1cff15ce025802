package words_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// split returns the words of a text, with whole identifiers in parentheses and pairs in
// brackets.
func split(text string) string {
	var out []string
	words.Split(text, func(w string, kind words.Kind) {
		switch kind {
		case words.Whole:
			w = "(" + w + ")"
		case words.Pair:
			w = "[" + w + "]"
		}
		out = append(out, w)
	})
	return strings.Join(out, " ")
}

func TestSplit(t *testing.T) {
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
		if got := split(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("getURL 填写 \xff don't")
	f.Fuzz(func(t *testing.T, text string) {
		words.Split(text, func(w string, kind words.Kind) {
			if w == "" || strings.ContainsAny(w, " \t\n\"") {
				t.Errorf("%q: word %q", text, w)
			}
			if kind == words.Pair && utf8.RuneCountInString(w) > 2 {
				t.Errorf("%q: pair %q", text, w)
			}
		})
	})
}

func ExampleSplit() {
	words.Split("parse the XMLHttpRequest", func(w string, _ words.Kind) { fmt.Println(w) })
	// Output:
	// parse
	// the
	// XML
	// Http
	// Request
	// XMLHttpRequest
}
