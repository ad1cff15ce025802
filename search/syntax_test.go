package search_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// library has what the tests of queries look for.
func library(t testing.TB) *searchtest.Catalog {
	t.Helper()
	return fillLibrary(t, searchtest.New(t, nil))
}

// plainLibrary is the library in an engine without a query language.
func plainLibrary(t testing.TB) *searchtest.Catalog {
	t.Helper()
	return fillLibrary(t, searchtest.Over(t, memorytest.New(), "", nil, nil))
}

func fillLibrary(t testing.TB, x *searchtest.Catalog) *searchtest.Catalog {
	t.Helper()
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("pdf-forms", "Fills in the forms of a PDF.", "Open the form. Then organize its fields.", "office"),
		searchtest.Skill("pdf-merge", "Merges files.", "Merge PDF files; a form stays what it is.", "office"),
		searchtest.Skill("github", "Opens pull requests on GitHub.", "A request to pull. Call getUserName of the GitHub API."),
		searchtest.Skill("数据", "填写数据库的表单", "用PDF填表"),
	).Refs())
	return x
}

func TestSearchSyntax(t *testing.T) {
	t.Parallel()
	x := library(t)
	for query, want := range map[string]string{
		`forms`:                        "pdf-forms pdf-merge",
		`"form of a pdf"`:              "pdf-forms",
		`"pdf form"`:                   "pdf-forms", // its name
		`"pull request"`:               "github",
		`"request pull"`:               "github",
		`"pull github"`:                "",
		`organiz*`:                     "pdf-forms",
		`NEAR(form field, 0)`:          "",
		`NEAR(form field, 1)`:          "pdf-forms",
		`^open`:                        "github pdf-forms",
		`body: ^open`:                  "pdf-forms",
		`name: form`:                   "pdf-forms",
		`-{name description}: form`:    "pdf-forms pdf-merge",
		`tags: office NOT name: merge`: "pdf-forms",
		`form NOT (merge OR organize)`: "",
		`GITHUB getUsername`:           "github",
		`"the github api"`:             "github",
		`"the GitHub API"`:             "github",
		`库的表单`:                         "数据",
		`单 OR 填*`:                      "数据",
		`表 pdf`:                        "数据",
		`zzyzx`:                        "",
	} {
		a := searchtest.Ask(t, x, search.Query{Text: query, Syntax: true})
		got := searchtest.IDs(a.Hits)
		slices.Sort(got)
		if strings.Join(got, " ") != want || a.Mode != "syntax" {
			t.Errorf("%s: finds %q (%s), want %s", query, got, a.Mode, want)
		}
	}
	a := searchtest.Ask(t, x, search.Query{Text: `form* NOT tags: office OR description: pull*`, Syntax: true})
	if len(a.Hits) != 1 || a.Hits[0].Relevant || !reflect.DeepEqual(a.Hits[0].Matched, search.Matched{Description: []string{"pull"}}) || a.Hits[0].Score <= 0 {
		t.Errorf("hits %+v", a.Hits)
	}
	if _, err := x.Why(t.Context(), "github", search.Query{Text: "pull", Syntax: true}); err == nil {
		t.Error("why takes a query for a prompt")
	}
}

// TestSearchSyntaxScope: skills outside the scope do not count against the limit, and
// copies that are not offered are not found.
func TestSearchSyntaxScope(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	for _, tt := range []struct {
		agent *search.Agent
		limit int
		want  []string
	}{
		{nil, 0, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
		{&search.Agent{Include: search.Rules{Tags: []string{"code"}}}, 2, []string{"deploy", "git"}},
		{&search.Agent{Exclude: search.Rules{Names: []string{"*"}}}, 0, []string{}},
		{&search.Agent{Include: search.Rules{Names: []string{"unknown"}}}, 0, []string{}},
		{&search.Agent{Exclude: search.Rules{Sources: []string{"home"}}}, 0, []string{"deploy", "pdf-forms"}},
	} {
		got := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Syntax: true, Agent: tt.agent, Limit: tt.limit}).Hits)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("agent %+v: %q, want %q", tt.agent, got, tt.want)
		}
	}
}

// TestPrefixFindsAll: whatever stemming makes of a word, the start of the word
// finds it, alone and in a phrase.
func TestPrefixFindsAll(t *testing.T) {
	t.Parallel()
	words := strings.Fields(`organize organization generates automation validity visualization configured databases running happily
		relational analysis analyze migrating compatibility responsibilities creative hopefulness digitizer conditional dependent
		caresses ponies agreed motoring conflated troubled sized falling rating`)
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("one", "d", strings.Join(words, " zzyzx "))).Refs())
	for _, word := range words {
		for n := 1; n <= len(word); n++ {
			for _, query := range []string{word[:n] + "*", `"zzyzx ` + word[:n] + `"* OR ^` + word[:n] + "*"} {
				if got := searchtest.Ask(t, x, search.Query{Text: query, Syntax: true}).Hits; len(got) != 1 {
					t.Errorf("%s does not find %s", query, word)
				}
			}
		}
	}
}

// maxDepth is how deep parentheses may be nested, as package query has it.
const maxDepth = 6

// deepQueries are as deep as queries can be for the parser of SQLite.
func deepQueries() []string {
	var list []string
	for _, inner := range []string{`-name: NEAR(x1 "y GitHub z"*)`, `^ "y GitHub z" + organiz*`, `NEAR("a1 GitHub" x1 + y1)`} {
		for _, level := range []string{"x1 OR y1 AND z1 NOT -name: (", "x1 OR (", "x1 y1 OR z1 NOT (", "x1 NOT tags: (y1 "} {
			list = append(list, strings.Repeat(level, maxDepth)+"x1 OR y1 AND z1 NOT "+inner+strings.Repeat(")", maxDepth))
		}
	}
	return append(list, strings.Repeat("x1 NOT ", 580)+"y1", strings.Repeat("x1 OR y1 AND z1 ", 250), strings.Repeat("a* ", 1300))
}

func TestSyntaxDeep(t *testing.T) {
	t.Parallel()
	x, plain := library(t), plainLibrary(t)
	for _, text := range deepQueries() {
		q := search.Query{Text: text, Syntax: true}
		if diff := differ(searchtest.Ask(t, x, q), searchtest.Ask(t, plain, q), false); diff != "" {
			t.Errorf("%.80s: %s", text, diff)
		}
	}
}

// FuzzSyntax: a query either gives an error that points at a character, or is
// accepted by SQLite and finds the same without it.
func FuzzSyntax(f *testing.F) {
	x, plain := library(f), plainLibrary(f)
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	for _, text := range []string{
		`NEAR("a1 GitHub" b* ^c, 65535) AND {name tags} : (x OR -body: (y NOT z))`, `^"x y"* + z OR ((((((x))))))`, `“x” „y“ ""z`,
		`name: (tags: (body: x))`, "bY",
	} {
		f.Add(text)
	}
	for _, text := range deepQueries() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := search.Query{Text: text, Syntax: true}
		a, err := x.Search(t.Context(), q)
		var se *query.SyntaxError
		switch {
		case errors.As(err, &se):
			if se.Offset < 0 || se.Offset > len(text) || se.Column < 1 || se.Column > se.Offset+1 || !strings.Contains(se.Message, " ") {
				t.Fatalf("%q: %+v", text, se)
			}
			return
		case err != nil:
			t.Fatalf("%.200q: %v in %.300s", text, err, search.Compiled(text))
		}
		if diff := differ(a, searchtest.Ask(t, plain, q), false); diff != "" {
			t.Fatalf("%.200q: %s", text, diff)
		}
		var entries []search.Entry
		for _, h := range a.Hits {
			entries = append(entries, h.Entry)
		}
		list, err := x.Snippets(t.Context(), q, entries, 40)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, s := range list {
			search.CheckSnippet(t, s, 40)
		}
	})
}
