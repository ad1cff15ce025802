package words

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
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

// TestTermsSameWord: different spellings of a word have the same term.
func TestTermsSameWord(t *testing.T) {
	for _, pair := range [][2]string{
		{"café", "cafe\u0301"}, {"PDFs", "pdf"}, {"user’s", "user's"}, {"ＰＤＦ", "pdf"},
		{"kebab-case", "kebab case"}, {"databases", "database"}, {"가", "\u1100\u1161"}, {"Straße", "straße"},
		{"Größenmaß", "GRÖSSENMASS"}, {"STRAẞE", "strasse"}, {"Отчёты", "отчеты"}, {"Ещё", "еще\u0308"}, {"ΛΌΓΟΣ", "λόγος"},
	} {
		if a, b := Terms(pair[0]), Terms(pair[1]); !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %q, %q: %q", pair[0], a, pair[1], b)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range Terms(text) {
			if term == "" || len(term) > MaxTerm || !utf8.ValidString(term) {
				t.Fatalf("%q: term %q", text, term)
			}
			if i := strings.IndexFunc(term, IsSeparator); i >= 0 {
				t.Fatalf("%q: term %q has %q", text, term, term[i:])
			}
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	const prompts = `Can you fill in the attached PDF form with the data from customers.csv and save one file per customer?
The checkout page re-renders on every keystroke, find out why and fix it without changing the API of the components
write a postgres migration that adds a tenant_id column to all tables and backfills it from the accounts table
Our terraform state is locked since the CI job was cancelled this morning, how do I recover without losing resources?
why does getHTTPResponse return null when the server answers with a redirect, and where should that be handled?
`
	text := strings.Repeat(prompts, 8<<10/len(prompts)+1)[:8<<10]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Terms(text)
	}
}

// TestLongForms: a short form and what it stands for are one term, in any case.
func TestLongForms(t *testing.T) {
	for short, long := range map[string]string{
		"k8s DBs": "Kubernetes databases", "i18n of the TS repo": "internationalization of the typescript repository", "xlsx, pptx": "Excel, Powerpoint",
	} {
		if a, b := Terms(short), Terms(long); !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("%q has the terms %q, %q has %q", short, a, long, b)
		}
	}
}
