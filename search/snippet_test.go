package search_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
)

// marked returns a snippet with brackets around what matches.
func marked(s search.Snippet) string {
	out, at := "", 0
	for _, m := range s.Matches {
		out += s.Text[at:m[0]] + "[" + s.Text[m[0]:m[1]] + "]"
		at = m[1]
	}
	return out + s.Text[at:]
}

// snippets returns the snippets of all hits of a query by ID.
func snippets(t testing.TB, x *searchtest.Catalog, q search.Query, length int) map[string]string {
	t.Helper()
	var entries []search.Entry
	for _, h := range searchtest.Ask(t, x, q).Hits {
		entries = append(entries, h.Entry)
	}
	list, err := x.Snippets(context.Background(), q, entries, length)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for i, s := range list {
		checkSnippet(t, s, length)
		out[entries[i].ID] = marked(s)
	}
	return out
}

// checkSnippet holds what is true of every snippet.
func checkSnippet(t testing.TB, s search.Snippet, length int) {
	t.Helper()
	if length <= 0 {
		length = snippetLength
	}
	if n := utf8.RuneCountInString(s.Text); n > max(length, 4) || !utf8.ValidString(s.Text) || (s.Text == "") != (len(s.Matches) == 0) {
		t.Fatalf("%d characters of %d, %d matches: %q", n, length, len(s.Matches), s.Text)
	}
	if i := strings.IndexFunc(s.Text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' }); i >= 0 {
		t.Fatalf("%q has %q", s.Text, s.Text[i:])
	}
	end := -1
	for _, m := range s.Matches {
		if m[0] <= end || m[1] <= m[0] || m[1] > len(s.Text) || !utf8.ValidString(s.Text[m[0]:m[1]]) {
			t.Fatalf("matches %v in %q", s.Matches, s.Text)
		}
		end = m[1]
	}
}

func TestSnippets(t *testing.T) {
	x := searchtest.New(t, nil)
	filler := strings.Repeat("some filler about nothing at all. ", 20)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("pdf", "d", "# Forms\n"+filler+"\n\nOpen **the form** in `AcroForms`, then [fill it](https://example.com/form) and save\x1b[31m the user's PDF.\n"+filler),
		searchtest.Skill("form-name", "fill forms", "Nothing here."),
		searchtest.Skill("中文", "d", "我们可以用它来处理文件。"+strings.Repeat("其他内容很多。", 30)+"打开数据库的表单，然后填写。"),
		searchtest.Skill("code", "d", "| a | getUserName |\n|---|---|\n```go\nx := getUserName() // café\n```"),
	).Refs())
	for _, tt := range []struct {
		q      search.Query
		length int
		id     string
		want   string
	}{
		{search.Query{Text: "fill in forms"}, 60, "pdf", "…all. Open the [form] in [AcroForms], then [fill] it and…"},
		{search.Query{Text: "fill in forms"}, 60, "form-name", ""},
		{search.Query{Text: "pdf users"}, 40, "pdf", "…save[31m the [user's] [PDF]. some filler…"},
		{search.Query{Text: "数据库"}, 24, "中文", "…多。打开[数据库]的表单，然…"},
		{search.Query{Text: "user"}, 0, "code", "a [getUserName] x := [getUserName]() // café"},
		{search.Query{Text: "CAFE", Syntax: true}, 0, "code", "a getUserName x := getUserName() // [café]"},
		{search.Query{Text: "cafe getus*", Syntax: true}, 20, "code", "…// [café]"},
		{search.Query{Text: "form NOT (nothing OR user) OR fil*", Syntax: true}, 40, "pdf", "[Forms] some [filler] about nothing at…"},
		{search.Query{Text: "name: form OR body: nothing", Syntax: true}, 0, "form-name", "[Nothing] here."},
	} {
		got, ok := snippets(t, x, tt.q, tt.length)[tt.id]
		if got != tt.want || !ok {
			t.Errorf("%s in %s: %q, want %q", tt.q.Text, tt.id, got, tt.want)
		}
	}
}

// TestSnippetsRare: of two places the one with the rarer term is shown, and of
// equal ones the first.
func TestSnippetsRare(t *testing.T) {
	x := searchtest.New(t, nil)
	gap := strings.Repeat(" and so on", 30)
	src := searchtest.Many(30)
	for i := range 8 {
		name := fmt.Sprint("common", i)
		src[name] = searchtest.Skill(name, "d", "common here")
	}
	src["one"] = searchtest.Skill("one", "d", "First common."+gap+" Second common beside rare."+gap+" Third rare and common.")
	searchtest.Sync(t, x, "a", src.Refs())
	if got, want := snippets(t, x, search.Query{Text: "common rare"}, 40)["one"], "…on Second [common] beside [rare]. and so…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := snippets(t, x, search.Query{Text: "rare zzyzx"}, 20)["one"], "…beside [rare]. and…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSnippetsScope: entries of elsewhere are not shown to an agent.
func TestSnippetsScope(t *testing.T) {
	x := library(t)
	agent := &search.Agent{Exclude: search.Rules{Names: []string{"github"}}}
	all, err := x.List(t.Context(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	list, err := x.Snippets(t.Context(), search.Query{Text: "request form", Agent: agent}, append(all, search.Entry{Meta: skill.Meta{ID: "gone"}}), 0)
	if err != nil || len(list) != 5 {
		t.Fatalf("%d snippets, %v", len(list), err)
	}
	for i, s := range list[:4] {
		if (s.Text != "") != strings.HasPrefix(all[i].ID, "pdf-") {
			t.Errorf("%s: %q", all[i].ID, s.Text)
		}
	}
}

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
		text := words.PlainText(body)
		s := h.excerpt(text, length)
		checkSnippet(t, s, length)
		inner := strings.TrimSuffix(strings.TrimPrefix(s.Text, "…"), "…")
		if !strings.Contains(text, inner) {
			t.Fatalf("%q is not in %q", inner, text)
		}
	})
}

func BenchmarkSnippets(b *testing.B) {
	x := searchtest.New(b, nil)
	searchtest.Sync(b, x, "a", corpus(b, 500).Refs())
	for _, q := range []search.Query{{Text: prompts()[0]}, {Text: `"pull request" OR generat*`, Syntax: true}} {
		var entries []search.Entry
		for _, h := range searchtest.Ask(b, x, q).Hits {
			entries = append(entries, h.Entry)
		}
		b.Run(fmt.Sprintf("syntax=%t/hits=%d", q.Syntax, len(entries)), func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Snippets(context.Background(), q, entries, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearchSyntax(b *testing.B) {
	x := searchtest.New(b, nil)
	searchtest.Sync(b, x, "a", corpus(b, 500).Refs())
	for _, query := range []string{`"pull request"`, `generat* AND NEAR(test case, 5)`, `name: pdf OR body: organiz*`, `a*`} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				searchtest.Ask(b, x, search.Query{Text: query, Syntax: true})
			}
		})
	}
}
