package contextual

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// pieceBytes is more than nearly all pieces have: what lies further inside of a text need not be
// cut into pieces, which takes longer than to embed them.
const pieceBytes = 32

// longestWord is how many characters a word may have that is cut into pieces.
const longestWord = 100

// split returns the rows of the pieces of a text, as BERT's uncased WordPiece cuts it: words in
// lower case without accents, each punctuation mark and each Chinese character by itself; a
// word becomes the longest piece that it begins with, and so on, or [UNK]. The first is [CLS],
// the last [SEP]. Of a text of more than most pieces, two thirds are from its start and one
// third from its end.
func (m *model) split(text string, most int) []int {
	text = tidy.CutMiddle(text, most*pieceBytes)
	list := []int{m.first}
	var word []byte
	end := func() {
		if len(word) > 0 {
			list = m.cut(list, word)
			word = word[:0]
		}
	}
	add := func(r rune) {
		switch {
		case isSpace(r):
			end()
		case isAlone(r):
			end()
			list = m.cut(list, utf8.AppendRune(nil, r))
		default:
			word = utf8.AppendRune(word, r)
		}
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c >= ' ' && c != 0x7f || c == '\t' || c == '\n' || c == '\r' {
				add(rune(c))
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		for _, r := range plain(r) {
			add(unicode.ToLower(r))
		}
	}
	end()
	list = append(list, m.first+1)
	if len(list) > most {
		head := most * 2 / 3
		list = append(list[:head], list[len(list)-(most-head):]...)
	}
	return list
}

// plain returns a character without accents, and nothing for one that is not seen.
func plain(r rune) string {
	if r == utf8.RuneError || unicode.In(r, unicode.C) && !isSpace(r) {
		return ""
	}
	kept := make([]rune, 0, 4)
	for _, r := range norm.NFD.String(string(r)) {
		if !unicode.Is(unicode.Mn, r) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r >= utf8.RuneSelf && unicode.IsSpace(r)
}

// isAlone reports whether a character is a word of its own.
func isAlone(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}
	return unicode.Is(unicode.P, r) ||
		r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// cut appends the pieces of a word.
func (m *model) cut(list []int, word []byte) []int {
	if utf8.RuneCount(word) > longestWord {
		return append(list, m.unknown)
	}
	before := len(list)
	for from := 0; from < len(word); {
		row, to := m.longest(word[from:], from > 0)
		if to == 0 {
			return append(list[:before], m.unknown)
		}
		list, from = append(list, row), from+to
	}
	return list
}

// longest returns the longest piece that the rest of a word begins with, and its length; 0
// means that there is none.
func (m *model) longest(rest []byte, inside bool) (row, length int) {
	h := startHash(inside)
	for i, c := range rest {
		h.add(c)
		if i+1 < len(rest) && !utf8.RuneStart(rest[i+1]) {
			continue
		}
		if found, ok := m.lookup(h.sum()); ok {
			row, length = found, i+1
		}
	}
	return row, length
}

// A hash is the hash of a piece, by which a model finds its row: FNV-1a, mixed.
type hash uint64

// startHash begins the hash of a piece inside of a word, or at its start.
func startHash(inside bool) hash {
	if inside {
		return 0x9e3779b97f4a7c15
	}
	return 0xcbf29ce484222325
}

func (h *hash) add(c byte) { *h = (*h ^ hash(c)) * 0x100000001b3 }

func (h hash) sum() uint64 {
	x := uint64(h)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
