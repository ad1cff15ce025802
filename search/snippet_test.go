package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
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
	list, err := x.Snippets(t.Context(), q, entries, length)
	must.Do(t, err)
	out := make(map[string]string)
	for i, s := range list {
		search.CheckSnippet(t, s, length)
		out[entries[i].ID] = marked(s)
	}
	return out
}

func TestSnippets(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// TestSnippetsScope: an agent gets no snippets of skills outside its scope.
func TestSnippetsScope(t *testing.T) {
	t.Parallel()
	x := library(t)
	agent := &search.Agent{Exclude: search.Rules{Names: []string{"github"}}}
	all, err := x.List(t.Context(), nil, nil)
	must.Do(t, err)
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
