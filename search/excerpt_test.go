package search

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
)

func FuzzExcerpt(f *testing.F) {
	for i, text := range wordstest.NastyTexts() {
		f.Add("# pdf "+text+" [form](x)", "pdf form", i)
		f.Add(text, text, 30)
	}
	f.Add("数x", "数", 1)
	f.Add("中文pdf填"+strings.Repeat("写", 90)+"表单", "pdf 表单", 11)
	f.Fuzz(func(t *testing.T, body, query string, length int) {
		length %= 1000
		h := &highlighter{analyzer: new(words.Analyzer), terms: make(map[string]int)}
		for i, term := range words.Terms(query) {
			h.add(term, i%5 == 4, float64(i%7))
		}
		text := plainText(body)
		s := h.excerpt(text, length)
		CheckSnippet(t, s, length)
		inner := strings.TrimSuffix(strings.TrimPrefix(s.Text, "…"), "…")
		if !strings.Contains(text, inner) {
			t.Fatalf("%q is not in %q", inner, text)
		}
	})
}
