package gloss

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// lists returns the lists of the program.
func lists(t testing.TB) (lists []List) {
	files, err := filepath.Glob("lists/*.tsv")
	must.Do(t, err)
	for _, f := range files {
		lists = append(lists, List{Code: strings.TrimSuffix(filepath.Base(f), ".tsv"), File: f, Text: must.Read(t, f)})
	}
	return lists
}

func TestTable(t *testing.T) {
	table, err := Compile(lists(t))
	must.Do(t, err)
	if table != compiled {
		t.Error("table.bin is not what the lists give; run: go generate ./internal/gloss")
	}
	if n := len(table); n > 2_500_000 {
		t.Errorf("the table has %d bytes", n)
	}
}

// TestLists: each row of a list is found again by its first form.
func TestLists(t *testing.T) {
	table := builtin()
	for i, l := range lists(t) {
		rows, err := l.rows()
		must.Do(t, err)
		lost := 0
		for _, r := range rows {
			for _, w := range r.words[:min(1, len(r.words))] {
				key := stemmerOf(l.Code).key(formOf(w))
				if table.languages[i].kind == dense && strings.ContainsFunc(w, func(r rune) bool { return kindOfLetter(r) == dense }) {
					key = denseKey(w)
				}
				if list := table.languages[i].find(key); w != "=" && list == "" && strings.Count(formOf(w), " ") < maxPhrase {
					lost++
					t.Errorf("%s:%d: %q is not found", l.File, r.line, w)
				}
			}
			if lost > 5 {
				break
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ text, language, want string }{
		{"erstelle eine rechnung als pdf", "de", "create an invoice as pdf"},
		{"deploy das auf staging", "de", "deploy the on stag"},
		{"Rechnungsvorlage für InvoiceService.java", "de", "invoice template for InvoiceService.java"},
		{"häng die routingtabellen an us-east-2", "de", "us-east-2"},
		{"Straßenkarte zeichnen", "de", "draw"},
		{"base de données lente, trouver la cause", "fr", "database slow"},
		{"corrige l'erreur dans le fichier", "fr", "error in"},
		{"arréglalo en la base de datos", "es", "database"},
		{"consulta no banco de dados está lenta", "pt", "database"},
		{"проверь запросы к базе данных", "ru", "database"},
		{"把这个数据库迁移到 postgres", "zh", "database migration to postgres"},
		{"データベースをpostgresに移行して", "ja", "database"},
		{"웹 앱 데이터베이스 마이그레이션", "ko", "web app database migration"},
	} {
		r := Read(tt.text)
		if r == nil {
			t.Errorf("%q has no reading", tt.text)
			continue
		}
		if got := strings.Join(strings.Fields(r.English()), " "); !strings.Contains(got, tt.want) || r.Languages[0] != tt.language {
			t.Errorf("%q is %q in %v, want %q in %s", tt.text, got, r.Languages, tt.want, tt.language)
		}
	}
}

// TestEnglish: English prompts have no reading, whatever words they have.
func TestEnglish(t *testing.T) {
	for _, text := range []string{
		"", "die on me", "four plus file in plan", "add alerts for the checkout service", "explain what this regex does: ^die$",
		"rotate my openrouter key", "the B站 video about the new phone, count its likes and favorites for my report please",
		"make the chat app pour data into main, as a comment", "https://example.org/die/der/das",
	} {
		if r := Read(text); r != nil {
			t.Errorf("%q has the reading %q in %v", text, r.English(), r.Languages)
		}
	}
	data, err := os.ReadFile("../../search/work.jsonl")
	must.Do(t, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		var x struct{ Prompt string }
		must.Do(t, json.Unmarshal([]byte(line), &x))
		if r := Read(x.Prompt); r != nil && !strings.ContainsFunc(x.Prompt, func(r rune) bool { return r > '~' }) {
			n++
			t.Logf("%q has the reading %q in %v", x.Prompt, r.English(), r.Languages)
		}
	}
	if all := strings.Count(string(data), "\n"); 500*n > all {
		t.Errorf("%d of %d English prompts have a reading", n, all)
	}
}

func TestSenses(t *testing.T) {
	w := Read("eine Rechnung schreiben").Words
	i := slices.IndexFunc(w, func(w Word) bool { return w.Senses[0].English == "invoice" })
	if i < 0 || w[i].Senses[0].Weight != 1 || len(w[i].Senses) < 2 || w[i].Senses[1].Weight >= 1 {
		t.Errorf("the senses of Rechnung: %v", w)
	}
}

// TestScripts: marks that combine, and text from right to left, are words as others are.
func TestScripts(t *testing.T) {
	data, err := Compile([]List{
		{"ar", "ar.tsv", "invoice\tفاتورة; فواتير\ncreate\tأنشئ\n"},
		{"hi", "hi.tsv", "invoice\tबिल; चालान\ndatabase\tडेटाबेस\n"},
		{"vi", "vi.tsv", "database\tcơ sở dữ liệu; cơ sở\ninvoice\thóa đơn\ncreate\ttạo\n"},
	})
	must.Do(t, err)
	table := open(data)
	for _, tt := range []struct{ text, want string }{
		{"أنشئ فاتورة pdf", "create invoice pdf"},
		{"डेटाबेस का बिल", "database का invoice"},
		{"tạo hóa đơn", "create invoice"},
		{"ta\u0323o ho\u0301a đơn", "create invoice"},
	} {
		r := table.read(tt.text)
		if r == nil {
			t.Errorf("%q has no reading", tt.text)
		} else if got := r.English(); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, text := range []string{"invoice Rechnung\n", "\tRechnung\n", "a\tb\nc\xff\td\n"} {
		if _, err := Compile([]List{{"de", "own.tsv", text}}); err == nil || !strings.HasPrefix(err.Error(), "own.tsv:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "die Rechnung", "l'erreur", "コンパイルで", "앱", "把数据", "ё\u0301й", "İstanbul ﬁx", "\xff", "a\u0300b die-der.das", "und/oder `die`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := Read(s)
		if r == nil {
			return
		}
		_, _ = r.English(), r.Embeddable()
		at := 0
		for _, w := range r.Words {
			if w.Start < at || w.End < w.Start || w.End > len(r.text) || len(w.Senses) == 0 || w.Senses[0].Weight != 1 {
				t.Fatalf("%q: word %+v after %d", s, w, at)
			}
			at = w.Start
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add("invoice\tRechnung; Faktura\n# no\nbill\t=; -\n", "Rechnung")
	f.Add("a\tb c d e\n", "b c")
	f.Fuzz(func(t *testing.T, list, text string) {
		data, err := Compile([]List{{"de", "x.tsv", list}, {"zh", "y.tsv", list}})
		if err != nil {
			return
		}
		if r := open(data).read(text); r != nil {
			_ = r.English()
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, text := range map[string]string{
		"english":  "AWS us-east-2: OrdersLatency fired at 09:41 and there were two deployments at 09:20 and 09:38. Give me Logs Insights queries that show which one was to blame and how many customers were hit.",
		"german":   "AWS, us-east-2: um 09:41 hat der Alarm OrdersLatency ausgelöst, davor gab es um 09:20 und 09:38 zwei Deployments. Gib mir Logs-Insights-Abfragen, die zeigen, welches davon schuld war und wie viele Kunden es getroffen hat.",
		"japanese": "AWS、us-east-2。OrdersLatency のアラームが09:41に発報して、09:20と09:38にデプロイが2回ありました。どちらが原因か、影響を受けた顧客が何人かがわかる Logs Insights のクエリをください。",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Read(text)
			}
		})
	}
}
