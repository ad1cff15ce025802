package words_test

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "",
		"Fill in the forms.":                    "Fill in the forms.",
		"Fill in the forms. Fill in the forms.": "Fill in the forms.",
		"Fill in the forms, FILL IN THE FORMS - fill in the forms!": "Fill in the forms!",
		"Fill in the forms. Also: fill in the forms now":            "Fill in the forms. Also now",
		"pdf pdf pdf pdf pdf pdf pdf":                               "pdf",
		"when the user asks, or when the user waits":                "when the user asks, or when the user waits",
		"Fill forms. Fill forms.":                                   "Fill forms. Fill forms.",
		"填写表格和文件。填写表格和文件。":                                          "填写表格和文件。",
		"use pdf填写表格 or pdf填写表格":                                    "use pdf填写表格 or",
	} {
		if got := words.Once(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestUnpressed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"Fill forms, then check the forms.":   "Fill forms, then check the forms.",
		"PDF form, pdf table, (pdf) merge":    "PDF form, table, merge",
		"the cat and the dog and the bird":    "the cat and the dog and the bird",
		"a - b - c - d":                       "a - b - c - d",
		"pdf form form pdf pdf form pdf form": "pdf form",
	} {
		if got := words.Unpressed(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzOnce checks that nothing but repetitions is left out: a text that is written twice
// has the words of one, and each word of a text stays.
func FuzzOnce(f *testing.F) {
	f.Add("Fill in the forms. Also: fill in the forms now")
	f.Add("a a a a a b a a a a 填写表格和文件填写表格和文件")
	f.Fuzz(func(t *testing.T, text string) {
		once := words.Once(text)
		if len(once) > len(text) {
			t.Fatalf("%q is longer than %q", once, text)
		}
		all := " " + words.NameKey(once) + " "
		for start, end := range words.Runs(text) {
			word := text[start:end]
			if !strings.ContainsFunc(word, words.Dense) && !strings.Contains(all, words.NameKey(word)) {
				t.Fatalf("%q lacks %q of %q", once, word, text)
			}
		}
	})
}
