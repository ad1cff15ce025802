package search

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
)

func TestPlainText(t *testing.T) {
	for body, want := range map[string]string{
		"":                                 "",
		"# A\n\n## B #x":                   "A B #x",
		"- a\n* b\n+ c\n> d\n1. e":         "a b c d 1. e",
		"| a | b |\n|---|:-:|\n| c |":      "a b c",
		"```sh\nls -l\n```\n~~~\nx\n~~~":   "ls -l x",
		"**bold** __init__ `code` a*b _i_": "bold init code a*b _i_",
		"see [the docs](https://x.y/z) ![img](a.png).":    "see the docs img.",
		"a](b [c] (d) [e]( [f](g":                         "a](b [c] (d) [e]( [f](g",
		"[[1](x)](y) z":                                   "[1](y) z",
		"a\r\nb\tc  d\u2028e\u00a0f":                      "a b c d e f",
		"\x1b[31mred\x1b[0m \u202eevil\u202c \x00 \u200b": "[31mred[0m evil",
	} {
		if got := plainText(body); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func FuzzPlainText(f *testing.F) {
	for _, text := range wordstest.NastyTexts() {
		f.Add("# " + text + " [form](x)")
	}
	f.Add("#\ufe0f")
	f.Fuzz(func(t *testing.T, markdown string) {
		text := plainText(markdown)
		if tidy.Line(text) != text {
			t.Errorf("%+q became %+q, which is no clean line", markdown, text)
		}
	})
}
