package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

func TestFirstSentence(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{" \n", ""},
		{"Fills in PDF forms, and reads them.", "Fills in PDF forms, and reads them."},
		{"Fills in all forms of a PDF", "Fills in all forms of a PDF"},
		{"Fills in the forms of a PDF. Use it for forms.", "Fills in the forms of a PDF."},
		{"Fills in the\n  forms of a PDF.\nUse it for forms.", "Fills in the forms of a PDF."},
		{"Fills in the forms of a PDF\n \nUse it for forms.", "Fills in the forms of a PDF"},

		// Stops within a sentence.
		{"Reads forms, e.g. PDF forms or i.e. Word forms. Use it.", "Reads forms, e.g. PDF forms or i.e. Word forms."},
		{"Prüft Verträge, z. B. Mietverträge, vs. Kaufverträge. Und mehr.", "Prüft Verträge, z. B. Mietverträge, vs. Kaufverträge."},
		{"Writes in the style of D. Knuth and Prof. Dr. Smith. Use it.", "Writes in the style of D. Knuth and Prof. Dr. Smith."},
		{"Checks a SKILL.md against v1.2 of the format in Node.js or go.mod. Use it.", "Checks a SKILL.md against v1.2 of the format in Node.js or go.mod."},
		{"Moves the apps of a team to iOS 17. Use it.", "Moves the apps of a team to iOS 17."},
		{"Moves the code of an app to v1.2. Use it.", "Moves the code of an app to v1.2."},
		{"Keeps the rules in CLAUDE.md. Use it for rules.", "Keeps the rules in CLAUDE.md. Use it for rules."},
		{"Does what the team needs: 1. Plan it 2. Build it. Use it.", "Does what the team needs: 1. Plan it 2. Build it."},
		{"Use it when somebody asks \"why?\" or \"how!\" in a review. Not else.", "Use it when somebody asks \"why?\" or \"how!\" in a review."},
		{"Searches logs, traces, etc. of a server on .NET. Use it.", "Searches logs, traces, etc. of a server on .NET."},
		{"Plans a trip, a party, a move etc. Use it.", "Plans a trip, a party, a move etc."},

		// What closes belongs to the sentence.
		{"Use it when somebody asks \"is this all right?\" Not else.", "Use it when somebody asks \"is this all right?\""},
		{"Writes the tests of a package (with a table.) Use it.", "Writes the tests of a package (with a table.)"},
		{"Knows what to do with the rest... Use it.", "Knows what to do with the rest..."},
		{"Is your build of the app too slow?! Use it.", "Is your build of the app too slow?!"},

		// One that says little needs the next, too.
		{"PDF tools. Fill in the forms of a PDF. Use it.", "PDF tools. Fill in the forms of a PDF."},
		{"All PDF tools — two modes. Fill in forms.", "All PDF tools — two modes. Fill in forms."},
		{"PDF. Forms. Fill them in. Use it for all forms.", "PDF. Forms. Fill them in. Use it for all forms."},
		{"A b c d e f g. Use it for all forms. Not else.", "A b c d e f g. Use it for all forms."},
		{"Qlty (qlty.sh). Use it for any request. Not else.", "Qlty (qlty.sh). Use it for any request."},

		// Other scripts.
		{"填写PDF文件中的表单，并读取其内容。需要时使用。", "填写PDF文件中的表单，并读取其内容。"},
		{"表单。填写PDF文件中的表单，并读取其内容。需要时使用。", "表单。填写PDF文件中的表单，并读取其内容。"},
		{"フォームに「完了。」と書き込み、内容を確認します。必要な時に使う。", "フォームに「完了。」と書き込み、内容を確認します。"},
		{"フォームに必要な内容をすべて書き込む「作業。」必要な時に使う。", "フォームに必要な内容をすべて書き込む「作業。」必要な時に使う。"},
		{"PDF 양식을 채우고 그 내용을 읽습니다. 필요할 때 사용하세요.", "PDF 양식을 채우고 그 내용을 읽습니다."},
		{"यह पीडीएफ के सभी फॉर्म भरता है। इसका उपयोग करें।", "यह पीडीएफ के सभी फॉर्म भरता है।"},
		{"هل تريد ملء كل النماذج في الملف؟ استخدم هذا.", "هل تريد ملء كل النماذج في الملف؟"},
		{"Заполняет все формы в файлах PDF. Используйте это.", "Заполняет все формы в файлах PDF."},
		{"¿Quieres rellenar todos los formularios del PDF? Usa esto.", "¿Quieres rellenar todos los formularios del PDF?"},
	} {
		if got := FirstSentence(tt.text, 100); got != tt.want {
			t.Errorf("FirstSentence(%q)\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

func TestFirstSentenceIsCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"Fills in the forms of a PDF. Use it.", 28, "Fills in the forms of a PDF."},
		{"Fills in the forms of a PDF. Use it.", 27, "Fills in the forms of a…"},
		{"Fills in the forms, of a PDF. Use it.", 20, "Fills in the forms…"},
		{"Fills/in/the/forms/of/a PDF. Use it.", 20, "Fills/in/the/forms…"},
		{"填写PDF文件中的表单，并读取其内容。", 33, "填写PDF文件中的表单，并读取其内容。"},
		{"填写PDF文件中的表单，并读取其内容。", 32, "填写PDF文件中的表单，并读取其内…"},
		{"填写PDF文件中的表单，并读取其内容。", 1, "…"},
	} {
		if got := FirstSentence(tt.text, tt.most); got != tt.want {
			t.Errorf("FirstSentence(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// FuzzFirstSentence: the result is a line of bounded length, and a start of the text.
func FuzzFirstSentence(f *testing.F) {
	f.Add("Reads forms, e.g. PDF forms. \"Use it!\" 1. 表单。」x\n\ny", 20)
	f.Add("...", 1)
	f.Add("\xff。\xff. \u200b", 160)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(1, min(most, 1000))
		got := FirstSentence(text, most)
		start, cut := strings.CutSuffix(got, "…")
		if n := utf8.RuneCountInString(got); n > most {
			t.Errorf("%d characters, want %d", n, most)
		}
		if line := tidy.Line(text); !strings.HasPrefix(line, got) && !(cut && strings.HasPrefix(line, start)) {
			t.Errorf("%q is no start of %q", got, line)
		}
		if got == "" && tidy.Line(text) != "" {
			t.Errorf("nothing of %q", text)
		}
	})
}
