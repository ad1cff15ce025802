package query

import (
	"errors"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		// A word becomes a term, or a phrase if it has several terms.
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
		// Identifiers are found in any case, and in phrases where their parts stand in
		// the way.
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
		// Stop words are left out, with the operators next to them.
		`the OR pdf`:              `"pdf"`,
		`pdf NOT the`:             `"pdf"`,
		`(the NOT pdf) OR x`:      `"x"`,
		`name: the pdf`:           `"pdf"`,
		`NEAR(the pdf "of a", 5)`: `"pdf"`,
		`"" pdf "…"`:              `"pdf"`,
	} {
		c, err := Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if c.root.fts() != want {
			t.Errorf("%s: %s, want %s", query, c.root.fts(), want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
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
		// Columns count characters as a reader sees them.
		`数据 "é👩‍👩‍👧🇩🇪🇫🇷👍🏽" (`: `query:13: the query ends where a word or a phrase is expected; add one`,
		"cafe\u0301 (pdf": `query:6: "(" is not closed; add ")"`,
		strings.Repeat("(", 7) + "x" + strings.Repeat(")", 7): `query:7: parentheses are nested more than 6 deep; remove some`,
		strings.Repeat("é", 2049):                             `query:2049: a query ends here at the latest, after 4096 bytes; search for a long text without syntax`,
	} {
		_, err := Parse(query)
		var se *SyntaxError
		if !errors.As(err, &se) || se.Error() != want {
			t.Errorf("%.60s: %v, want %s", query, err, want)
		}
	}
}
