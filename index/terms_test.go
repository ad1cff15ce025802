package index

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		" \t\n.,;":              "",
		"camelCase":             "camel case camelcas",
		"PDFReader":             "pdf reader pdfreader",
		"PDFs APIs":             "pdf api",
		"PDFsReader":            "pdf reader pdfsreader",
		"getHTTPResponse2":      "http response2 gethttpresponse2",
		"snake_case kebab-case": "snake case kebab case",
		"don't can’t":           "",
		"user's users’":         "user user",
		"O'Reilly rock'n'roll":  "o reilli oreilli rocknrol",
		"café Café cafe ÇA":     "cafe cafe cafe ca",
		"Ελλάδα ελλαδα":         "ελλαδα ελλαδα",
		"ｆｕｌｌ　ｗｉｄｔｈ ＰＤＦ２": "full width pdf2",
		"ﬁle № ½":                    "file 1 2",
		"数据库":                        "数据 据库",
		"表":                          "表",
		"データベース":                     "デー ータ タベ ベー ース",
		"ﾃﾞｰﾀ":                       "デー ータ",
		"これを使ってください":                 "を使 使っ",
		"帮我看看这个表单":                   "我看 看这 个表 表单",
		"데이터를":                       "데이 이터 터를",
		"ฐานข้อมูล":                  "ฐา าน นข ข้ ้อ อม มู ูล",
		"用PDF填表":                     "用 pdf 填表",
		"中's PDF'中":                  "中 pdf 中",
		"ship it 🚀🚀 now":             "ship",
		"a1 2024 v2 utf8 3.14":       "a1 2024 v2 utf8 3 14",
		"C++ C# F#":                  "c c f",
		"running ran databases":      "run ran databas",
		"Русский языки":              "русский языки",
		"हिन्दी":                     "हिन्दी",
		strings.Repeat("x", 100):     strings.Repeat("x", 40),
		strings.Repeat("ж", 100):     strings.Repeat("ж", 20),
		strings.Repeat("1ж", 40):     strings.Repeat("1ж", 13) + "1",
		"nul\x00byte bad\xff\xfeutf": "nul byte bad utf",
		"a NEAR(b, c) OR col:x*":     "near b c col x",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTermsSameWord holds what a user may write the one or the other way.
func TestTermsSameWord(t *testing.T) {
	for _, pair := range [][2]string{
		{"café", "cafe\u0301"}, {"PDFs", "pdf"}, {"user’s", "user's"}, {"ＰＤＦ", "pdf"},
		{"kebab-case", "kebab case"}, {"databases", "database"}, {"가", "\u1100\u1161"}, {"Straße", "straße"},
	} {
		if a, b := Terms(pair[0]), Terms(pair[1]); !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %q, %q: %q", pair[0], a, pair[1], b)
		}
	}
}

// TestTermsAreTokens: what is one term here must be one token of the
// tokenizer in the store, or a term that was indexed is never found.
func TestTermsAreTokens(t *testing.T) {
	var text strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// Of the large scripts a part is enough.
		if inWord(r) && (r < 0x3000 || r%61 == 0) {
			text.WriteString("x" + string(r) + "y ")
		}
	}
	text.WriteString("PDFReader getHTTPResponse2 don't ＰＤＦ 数据库 ฐานข้อมูล データベース 데이터 हिन्दी 用PDF填表 עברית العربية")
	x := newIndex(t, nil)
	s := newSkill("all", "d", text.String())
	syncTree(t, x, "a", treeOf(s).refs())
	terms := Terms(s.Body)
	counts, _, err := x.db.Frequencies(context.Background(), terms)
	if err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, term := range terms {
		if counts[term] != 1 {
			missing++
			if missing < 10 {
				t.Errorf("%q (%U) is not one token", term, []rune(term))
			}
		}
	}
	if missing > 0 || len(terms) < 8_000 {
		t.Errorf("%d of %d terms are not one token", missing, len(terms))
	}
}

// inWord reports whether words are made of r.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

func FuzzTerms(f *testing.F) {
	for _, text := range nastyTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range Terms(text) {
			if term == "" || len(term) > maxTerm || !utf8.ValidString(term) {
				t.Fatalf("%q: term %q", text, term)
			}
			if i := strings.IndexFunc(term, func(r rune) bool { return !inWord(r) }); i >= 0 {
				t.Fatalf("%q: term %q has %q", text, term, term[i:])
			}
		}
	})
}

// nastyTexts are seeds for what must be safe for any text.
func nastyTexts() []string {
	return []string{
		"", " ", "\"", "'", "''s", "’", "a'b'c's", "x's", "*", "pdf*", "^pdf", "name:pdf", "NEAR(pdf form, 2)", "pdf AND", "OR OR", "NOT pdf",
		"(((", "\"unbalanced", "{name body} : pdf", "- pdf", "+pdf", "pdf -form", "--", "/* */", ";DROP TABLE skills", "%s %d", "\\", "`pdf`", "$pdf @pdf /pdf",
		"NUL\x00in the middle", "bad \xff\xfe utf \xc3", "\xef\xbf\xbd", "\u202edrow\u202c", "zero\u200bwidth", "🚀🏳️‍🌈👩‍👩‍👧", "e\u0301\u0301\u0301", "\u0301", "İstanbul ıI ßẞ",
		"数据库 データ 데이터 ฐาน", "用PDF填表ﾃﾞｰﾀ", "ﷺ ﷺ", "Ⅷ ² ½", "camelCaseXMLHttpRequest2GPUs", "aB" + strings.Repeat("aB", 300), strings.Repeat("y", 100_000),
		strings.Repeat("pdf form ", 12_000), strings.Repeat("数据", 20_000), strings.Repeat("\xff", 70_000), strings.Repeat("x y'", 20_000),
	}
}

func BenchmarkTerms(b *testing.B) {
	var text strings.Builder
	for _, p := range prompts() {
		text.WriteString(p + "\n")
	}
	s := strings.Repeat(text.String(), 8<<10/text.Len()+1)[:8<<10]
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Terms(s)
	}
}
