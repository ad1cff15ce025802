package words_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// TestSameLanguage: function words and scripts tell languages apart; names and words of a craft do not.
func TestSameLanguage(t *testing.T) {
	const (
		english = "Fills in the fields of a PDF form. Use it when a form is to be filled in."
		german  = "Füllt die Felder eines PDF-Formulars aus. Für Formulare, die ausgefüllt werden."
	)
	for _, tt := range []struct {
		text, other string
		want        bool
	}{
		{"put my address on the form", english, true},
		{"pdf form", english, true},
		{"pdf form", german, true},
		{"füll das Formular aus", english, false},
		{"füll das Formular aus", german, true},
		{"put my address on the form", german, false},
		{"rellena el formulario con mi dirección", english, false},
		{"remplis le formulaire avec mon adresse", english, false},
		{"compila il modulo con il mio indirizzo", english, false},
		{"preencha o formulário com o meu endereço", english, false},
		{"vul het formulier in met mijn adres", english, false},
		{"wypełnij formularz moim adresem i podpisz go na dole", english, false},
		{"bu formu benim için doldur", english, false},
		{"заполни форму", english, false},
		{"フォームに記入する", english, false},
		{"", english, true},
	} {
		if got := words.SameLanguage(tt.text, tt.other); got != tt.want {
			t.Errorf("%q and %.12q: %t", tt.text, tt.other, got)
		}
	}
}
