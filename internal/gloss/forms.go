package gloss

import (
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A stemmer cuts the endings of words of a language; nil means that the list has its forms.
type stemmer func(*snowballstem.Env) bool

func stemmerOf(code string) stemmer {
	switch code {
	case "de":
		return german.Stem
	case "es":
		return spanish.Stem
	case "fr":
		return french.Stem
	case "pt":
		return portuguese.Stem
	case "ru":
		return russian.Stem
	}
	return nil
}

// key returns the key of a form: the stems of its words.
func (s stemmer) key(form string) string {
	if s == nil {
		return form
	}
	if !strings.Contains(form, " ") {
		return s.stem(form)
	}
	var b strings.Builder
	for w := range strings.SplitSeq(form, " ") {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.stem(w))
	}
	return b.String()
}

func (s stemmer) stem(word string) string {
	env := snowballstem.NewEnv(word)
	s(env)
	return env.Current()
}

// plain returns a word in lower case and in one spelling, without accents.
func plain(word string) string { return words.Lower(words.Fold(word)) }

// formOf returns the words of a text in their plain spelling, with blanks between them.
func formOf(text string) string {
	return strings.Join(strings.FieldsFunc(plain(text), words.IsSeparator), " ")
}

// denseKey is formOf for scripts without blanks.
func denseKey(text string) string { return strings.Join(strings.Fields(plain(text)), "") }

// denseRoot returns what stays of a verb when it gets another ending; "" for a word that has none.
func denseRoot(code, key string) string {
	list := []rune(key)
	switch last := len(list) - 1; {
	case last < 1 || last == 1 && !unicode.Is(unicode.Han, list[0]):
	case code == "ko" && list[last] == '다', code == "ja" && strings.ContainsRune("るすくむぶぐうつぬ", list[last]):
		return string(list[:last])
	}
	return ""
}

// isEnding reports whether a character that the list of a language does not have says nothing alone: it
// belongs to a particle or to the ending of a verb.
func isEnding(r rune) bool { return r == 'ー' || unicode.In(r, unicode.Hiragana, unicode.Hangul) }

// withoutPronoun returns a Spanish verb without the pronouns that are written behind it: arreglalo is arregla.
func withoutPronoun(code, form string) string {
	if code != "es" {
		return form
	}
	for range 2 {
		for _, end := range []string{"las", "los", "la", "lo", "les", "le", "me", "se", "nos"} {
			if rest, ok := strings.CutSuffix(form, end); ok && len(rest) > 3 {
				form = rest
				break
			}
		}
	}
	return form
}

// marks returns the ASCII form of a punctuation mark of a script without blanks.
func marks(c rune) (ascii string, ok bool) {
	if at := strings.IndexRune("，。、：；？！（）「」『』【】“”", c); at >= 0 {
		return []string{", ", ". ", ", ", ": ", "; ", "? ", "! ", " (", ") ", ` "`, `" `, ` "`, `" `, " [", "] ", ` "`, `" `}[at/3], true
	}
	return "", false
}
