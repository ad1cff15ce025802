package search_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

func TestCompile(t *testing.T) {
	for query, want := range map[string]string{
		// Words become terms, phrases of terms where they are several.
		`Forms`:               `"form"`,
		`pdf forms`:           `("pdf" AND "form")`,
		`"fill in the Forms"`: `"fill" + "form"`,
		`“fill forms”`:        `"fill" + "form"`,
		`"say ""cheese"""`:    `"sai" + "chees"`,
		`kebab-case a/b.c`:    `("kebab" + "case" AND "b" + "c")`,
		`C++`:                 `"c"`,
		`red+two`:             `"red" + "two"`,
		`fill + "pdf forms"`:  `"fill" + "pdf" + "form"`,
		`数据库`:                 `"数据" + "据库"`,
		`表`:                   `"表" *`,
		`用PDF填`:               `"用" + "pdf" + "填" *`,
		`café ＰＤＦ`:            `("cafe" AND "pdf")`,
		// Identifiers are found in any case, and where their parts are in the way.
		`GitHub`:         `"github"`,
		`bY`:             `"b" + "y"`, // "by" is not in the index
		`"open GitHub"`:  `("open" + "github" OR "open" + "git" + "hub" + "github")`,
		`^GitHub`:        `(^ "github" OR ^ "git" + "hub" + "github")`,
		`NEAR(GitHub x)`: `NEAR("github" "x", 10)`,
		// Prefixes.
		`form*`:             `"form" *`,
		`Organiz*`:          `("organiz" * OR "organ")`,
		`the*`:              `"the" *`,
		`"the organiz" *`:   `("organiz" * OR "organ")`,
		`"my pdf organiz"*`: `"pdf" + "organ" *`,
		`fill* + pdf`:       `"fill" * + "pdf"`,
		`getUser*`:          `("getuser" * OR "getus")`,
		`数*`:                `"数" *`,
		`^rep*`:             `^ "rep" *`,
		// Operators, from the weakest to the strongest.
		`a1 OR b AND c NOT d e`:         `("a1" OR ("b" AND ("c" NOT ("d" AND "e"))))`,
		`(a1 OR b) (c)`:                 `(("a1" OR "b") AND "c")`,
		`a1 NOT b NOT c`:                `("a1" NOT ("b" OR "c"))`,
		`NEAR(pdf "fill form", 5)`:      `NEAR("pdf" "fill" + "form", 5)`,
		`NEAR (pdf form)`:               `NEAR("pdf" "form", 10)`,
		`NEAR`:                          `"near"`,
		`name: pdf form`:                `({name} : ("pdf") AND "form")`,
		`NAME:pdf`:                      `{name} : ("pdf")`,
		`"name" : ^pdf`:                 `{name} : (^ "pdf")`,
		`{name description}: (a1 OR b)`: `{name description} : ("a1" OR "b")`,
		`-body: x`:                      `{name description tags} : ("x")`,
		`- {tags body} : x`:             `{name description} : ("x")`,
		// Stop words vanish with the operators that they stand at.
		`the OR pdf`:              `"pdf"`,
		`pdf NOT the`:             `"pdf"`,
		`(the NOT pdf) OR x`:      `"x"`,
		`name: the pdf`:           `"pdf"`,
		`NEAR(the pdf "of a", 5)`: `"pdf"`,
		`"" pdf "…"`:              `"pdf"`,
	} {
		c, err := compile(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if c.fts != want {
			t.Errorf("%s: %s, want %s", query, c.fts, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for query, want := range map[string]string{
		``:                                 `query:1: the query is empty; write a word, or a phrase in quotes`,
		" \n ":                             `query:4: the query is empty; write a word, or a phrase in quotes`,
		`the`:                              `query:1: nothing is left to search for: "the" is too common to be in the index; add a word that says more`,
		`the NOT pdf`:                      `query:1: nothing is left to search for: "the" is too common to be in the index; add a word that says more`,
		`""`:                               `query:1: there is no word between the quotes; write one`,
		`pdf "form`:                        `query:5: the quote is not closed; add "`,
		`pdf (form`:                        `query:5: "(" is not closed; add ")"`,
		`pdf form)`:                        `query:9: ")" closes nothing; remove it, or add "("`,
		`()`:                               `query:1: there is nothing between the parentheses; write a word`,
		`AND`:                              `query:1: "AND" needs a word or a phrase before it; add one, or remove AND`,
		`pdf OR`:                           `query:5: "OR" needs a word or a phrase after it; add one, or remove OR`,
		`pdf AND OR form`:                  `query:5: "AND" needs a word or a phrase after it; add one, or remove AND`,
		`NOT pdf`:                          `query:1: "NOT" needs a word or a phrase before it; add one, or remove NOT`,
		`pdf or form`:                      `query:5: "or" is too common to be searched for; write OR in capitals, or remove it`,
		`title: pdf`:                       `query:1: no column "title"; there are name, description, tags, body (a text with ":" in it needs quotes)`,
		`{name titel}: pdf`:                `query:7: no column "titel"; there are name, description, tags, body (a text with ":" in it needs quotes)`,
		`name:`:                            `query:6: a word, a phrase or "(" is expected after the column`,
		`name: AND`:                        `query:7: a word, a phrase or "(" is expected after the column`,
		`name: tags: x`:                    `query:11: ":" needs a column before it: name, description, tags, body`,
		`{name pdf`:                        `query:7: no column "pdf"; there are name, description, tags, body (a text with ":" in it needs quotes)`,
		`{name`:                            `query:1: "{" is not closed; write the names of columns and then "}:"`,
		`{name} pdf`:                       `query:1: columns are written as {name description}: before what is searched for in them`,
		`-{name description tags body}: x`: `query:1: no column is left; there are name, description, tags, body`,
		`pdf -form`:                        `query:5: "-" stands before a column only, as in -body: word; to leave out a word write NOT before it`,
		`NEAR(pdf form`:                    `query:1: "NEAR(" is not closed; add ")"`,
		`NEAR(pdf form, x)`:                `query:16: the greatest distance is expected here, a number of words; write NEAR(a b, 5)`,
		`NEAR(pdf form, 99999999999)`:      `query:16: the greatest distance is expected here, a number of words; write NEAR(a b, 5)`,
		`NEAR(pdf OR form)`:                `query:10: words and phrases are expected in NEAR, then ")"; write NEAR(a b, 5)`,
		`NEAR()`:                           `query:1: there is nothing in NEAR; write NEAR(a b, 5)`,
		`near(pdf form)`:                   `query:1: write NEAR in capitals, or "near" in quotes for the word`,
		`*`:                                `query:1: "*" needs the start of a word before it, as in form*`,
		`wo*rd`:                            `query:3: "*" stands at the end of a word only; put a space after it`,
		`^ OR`:                             `query:3: "OR" needs a word or a phrase before it; add one, or remove OR`,
		`pdf +`:                            `query:6: the query ends where a word or a phrase is expected; add one`,
		`pdf, form`:                        `query:4: "," stands only in NEAR(a b, 5); remove it`,
		`pdf && form`:                      `query:5: "&" means nothing here; write AND`,
		`pdf|form`:                         `query:4: "|" means nothing here; write OR`,
		`pdf !form`:                        `query:5: "!" means nothing here; write NOT before what is to be left out`,
		`'pdf form'`:                       `query:1: "'" means nothing here; use " around a phrase`,
		`pdf => form`:                      `query:5: "=>" has no letter or digit; leave it out`,
		// Positions are those of characters as a reader counts them.
		`数据 "é👩‍👩‍👧🇩🇪🇫🇷👍🏽" (`: `query:13: the query ends where a word or a phrase is expected; add one`,
		"cafe\u0301 (pdf": `query:6: "(" is not closed; add ")"`,
		strings.Repeat("(", 7) + "x" + strings.Repeat(")", 7): `query:7: parentheses are nested more than 6 deep; remove some`,
		strings.Repeat("é", 2049):                             `query:2049: a query ends here at the latest, after 4096 bytes; search for a long text without syntax`,
	} {
		_, err := compile(query)
		var se *search.SyntaxError
		if !errors.As(err, &se) || se.Error() != want {
			t.Errorf("%.60s: %v, want %s", query, err, want)
		}
	}
}

// library has what the tests of queries look for.
func library(t testing.TB) *searchtest.Catalog {
	t.Helper()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("pdf-forms", "Fills in the forms of a PDF.", "Open the form. Then organize its fields.", "office"),
		searchtest.Skill("pdf-merge", "Merges files.", "Merge PDF files; a form stays what it is.", "office"),
		searchtest.Skill("github", "Opens pull requests on GitHub.", "A request to pull. Call getUserName of the GitHub API."),
		searchtest.Skill("数据", "填写数据库的表单", "用PDF填表"),
	).Refs())
	return x
}

func TestSearchSyntax(t *testing.T) {
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

// TestSearchSyntaxScope: what is outside does not count against the limit, and
// copies that are not offered are not found.
func TestSearchSyntaxScope(t *testing.T) {
	x := zoo(t)
	for _, tt := range []struct {
		agent *search.Agent
		limit int
		want  []string
	}{
		{nil, 0, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
		{&search.Agent{Include: search.Rules{Tags: []string{"code"}}}, 2, []string{"deploy", "git"}},
		{&search.Agent{Exclude: search.Rules{Names: []string{"*"}}}, 0, []string{}},
	} {
		got := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Syntax: true, Agent: tt.agent, Limit: tt.limit}).Hits)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("agent %+v: %q, want %q", tt.agent, got, tt.want)
		}
	}
	if _, err := x.Search(t.Context(), search.Query{Text: "animal", Syntax: true, Agent: &search.Agent{Include: search.Rules{Names: []string{"unknown"}}}}); err == nil {
		t.Error("an agent with a misspelt rule sees something")
	}
}

// TestPrefixFindsAll: whatever stemming makes of a word, the start of the word
// finds it, alone and in a phrase.
func TestPrefixFindsAll(t *testing.T) {
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
	x := library(t)
	for _, text := range deepQueries() {
		searchtest.Ask(t, x, search.Query{Text: text, Syntax: true})
	}
}

// FuzzSyntax: a query is an error with a place in it, or SQLite accepts it.
func FuzzSyntax(f *testing.F) {
	x := library(f)
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
		a, err := x.Search(context.Background(), q)
		var se *search.SyntaxError
		switch {
		case errors.As(err, &se):
			if se.Offset < 0 || se.Offset > len(text) || se.Column < 1 || se.Column > se.Offset+1 || !strings.Contains(se.Message, " ") {
				t.Fatalf("%q: %+v", text, se)
			}
			return
		case err != nil:
			c, _ := compile(text)
			t.Fatalf("%.200q: %v in %.300s", text, err, c.fts)
		}
		var entries []search.Entry
		for _, h := range a.Hits {
			entries = append(entries, h.Entry)
		}
		list, err := x.Snippets(context.Background(), q, entries, 40)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, s := range list {
			checkSnippet(t, s, 40)
		}
	})
}
