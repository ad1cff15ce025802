package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// maxQuery is how long a query may be, in bytes. It bounds the work that one query
// can cause.
const maxQuery = 4096

// A tokenKind is a punctuation mark of the query language, or one of the constants
// below, which are negative.
type tokenKind rune

const (
	tokenEnd tokenKind = -iota - 1
	tokenWord
	tokenQuoted // text between quotes
	tokenAnd
	tokenOr
	tokenNot
)

type token struct {
	kind    tokenKind
	text    string // as it stands in the query, or what is between the quotes
	at, end int    // in bytes
}

// operators are words in capitals only, as in FTS5.
var operators = map[string]tokenKind{"AND": tokenAnd, "OR": tokenOr, "NOT": tokenNot}

const (
	punctuation = `(){}:*^,+-` // "-" and "+" are also found inside of words
	quoteMarks  = `"“”„`       // the curved ones come from word processors
)

// foreign are marks of other query languages and of shells, each with a hint. A word
// that begins with one is an error.
var foreign = map[rune]string{
	'&':  "write AND",
	'|':  "write OR",
	'!':  "write NOT before what is to be left out",
	'\'': `use " around a phrase`,
}

// lex cuts a query into tokens; the last one is a tokenEnd.
func lex(query string) ([]token, error) {
	if len(query) > maxQuery {
		return nil, syntaxError(query, len(tidy.Cut(query, maxQuery)), "a query ends here at the latest, after %d bytes; search for a long text without syntax", maxQuery)
	}
	var list []token
	for at := 0; ; {
		rest := strings.TrimLeftFunc(query[at:], unicode.IsSpace)
		at = len(query) - len(rest)
		if rest == "" {
			return append(list, token{kind: tokenEnd, at: at, end: at}), nil
		}
		t, err := lexOne(query, at)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
		at = t.end
	}
}

// lexOne returns the token at an offset.
func lexOne(query string, at int) (token, error) {
	rest := query[at:]
	r, size := utf8.DecodeRuneInString(rest)
	n := wordLength(rest)
	switch {
	case strings.ContainsRune(quoteMarks, r):
		return lexQuoted(query, at, r, size)
	case foreign[r] != "":
		return token{}, syntaxError(query, at, "%q means nothing here; %s", string(r), foreign[r])
	case strings.ContainsRune(punctuation, r) && (r == '-' || n == 0):
		return token{tokenKind(r), rest[:size], at, at + size}, nil
	}
	t := token{tokenWord, rest[:n], at, at + n}
	if kind, ok := operators[t.text]; ok {
		t.kind = kind
	} else if !strings.ContainsFunc(t.text, words.IsLetter) {
		return t, syntaxError(query, at, "%q has no letter or digit; leave it out", tidy.Shorten(t.text, maxQuoted))
	}
	return t, nil
}

// wordLength returns the length of the word that s starts with. A single "+" ends
// the word, two do not: C++ is a word.
func wordLength(s string) int {
	for i, r := range s {
		switch {
		case r == '-':
		case r == '+' && (strings.HasPrefix(s[i+1:], "+") || strings.HasSuffix(s[:i], "+")):
		case unicode.IsSpace(r), r == '|', strings.ContainsRune(punctuation, r), strings.ContainsRune(quoteMarks, r):
			return i
		}
	}
	return len(s)
}

// lexQuoted returns the text between quotes, in which a doubled quote stands
// for one.
func lexQuoted(query string, at int, mark rune, size int) (token, error) {
	closing := `"`
	if mark != '"' {
		closing = quoteMarks[1:]
	}
	t := token{kind: tokenQuoted, at: at}
	for i := at + size; ; {
		n := strings.IndexAny(query[i:], closing)
		if n < 0 {
			return t, syntaxError(query, at, `the quote is not closed; add "`)
		}
		t.text += query[i : i+n]
		i += n
		_, size := utf8.DecodeRuneInString(query[i:])
		i += size
		if mark != '"' || !strings.HasPrefix(query[i:], `"`) {
			t.end = i
			return t, nil
		}
		t.text += `"`
		i++
	}
}
