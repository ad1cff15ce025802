package gloss

import (
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
	"sync"
)

// compiled is the table of the lists in the folder lists, see Compile. It is read where it lies.
//
//go:embed table.bin
var compiled string

//go:generate go run ./make

// builtin is the table of the program's own lists.
var builtin = sync.OnceValue(func() *table { return open(compiled) })

// A table holds the lists of some languages. Its form, with all numbers little-endian:
//
//	magic
//	number of English words (4 bytes), and of languages (4)
//	where the text of each English word ends (4 each), the most frequent word first
//	the same words by their text, as numbers (2 each)
//	the texts of the English words
//	for each language: its code (4), its kind (4), the number of its groups (4), and how long they are (4)
//	for each language: where each group begins (4 each), and the groups
//
// A group has up to groupSize keys, in order. A key is the length of what it shares with the key before
// it (1), the length of the rest (1), the rest, the number of its entries (1), and these. An entry is the
// number of an English word (2), its place in its row (1), and a hash of the form of the row (1).
type table struct {
	ends, sorted, texts string
	languages           []language
}

// A language is the list of one.
type language struct {
	code   string
	kind   kind
	index  string // where each group begins
	groups string
}

const (
	magic     = "gloss 1\n"
	groupSize = 16
	entrySize = 4
	maxKey    = 96 // bytes
)

// A kind says how the words of a language are written.
type kind uint32

const (
	latin  kind = iota // between blanks, in letters that English has too
	spaced             // between blanks, in other letters
	dense              // without blanks, or with endings that the list does not have
)

// open returns the table in a text that Compile made.
func open(data string) *table {
	number := func() int {
		n := binary.LittleEndian.Uint32([]byte(data[:4]))
		data = data[4:]
		return int(n)
	}
	cut := func(n int) (part string) {
		part, data = data[:n], data[n:]
		return part
	}
	cut(len(magic))
	words, languages := number(), number()
	t := &table{ends: cut(4 * words), sorted: cut(2 * words), languages: make([]language, languages)}
	t.texts = cut(at32(t.ends, words-1))
	sizes := make([][2]int, languages)
	for i := range t.languages {
		l := &t.languages[i]
		l.code, l.kind, sizes[i] = strings.TrimRight(cut(4), " "), kind(number()), [2]int{number(), number()}
	}
	for i := range t.languages {
		t.languages[i].index, t.languages[i].groups = cut(4*sizes[i][0]), cut(sizes[i][1])
	}
	return t
}

// at32 returns number i of 4 bytes each; that before the first is 0.
func at32(s string, i int) int {
	if i < 0 {
		return 0
	}
	s = s[4*i:]
	return int(s[0]) | int(s[1])<<8 | int(s[2])<<16 | int(s[3])<<24
}

func at16(s string, i int) int { return int(s[2*i]) | int(s[2*i+1])<<8 }

// word returns English word n.
func (t *table) word(n int) string { return t.texts[at32(t.ends, n-1):at32(t.ends, n)] }

// english returns the number of an English word in lower case.
func (t *table) english(word string) (n int, ok bool) {
	low, high := 0, len(t.sorted)/2
	for low < high {
		mid := (low + high) / 2
		switch c := strings.Compare(word, t.word(at16(t.sorted, mid))); {
		case c == 0:
			return at16(t.sorted, mid), true
		case c < 0:
			high = mid
		default:
			low = mid + 1
		}
	}
	return 0, false
}

// entries are those of one key, as they lie in the table.
type entries string

// floor returns the greatest key that is not after a given one, in buf, and its entries.
func (l *language) floor(key string, buf *[maxKey]byte) (found []byte, list entries) {
	low, high := 0, len(l.index)/4 // the last group whose first key is not after key is below high
	for low < high {
		mid := (low + high) / 2
		start := l.groups[at32(l.index, mid):]
		if start[2:2+start[1]] <= key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return nil, ""
	}
	rest := l.groups[at32(l.index, low-1):]
	if low < len(l.index)/4 {
		rest = rest[:at32(l.index, low)-at32(l.index, low-1)]
	}
	n := 0
	for rest != "" {
		shared, size := int(rest[0]), int(rest[1])
		if string(buf[:shared])+rest[2:2+size] > key {
			break
		}
		n = shared + copy(buf[shared:], rest[2:2+size])
		rest = rest[2+size:]
		list, rest = entries(rest[1:1+entrySize*int(rest[0])]), rest[1+entrySize*int(rest[0]):]
	}
	return buf[:n], list
}

// find returns the entries of a key; "" if there is none.
func (l *language) find(key string) entries {
	var buf [maxKey]byte
	if found, list := l.floor(key, &buf); string(found) == key {
		return list
	}
	return ""
}

// longest returns the entries of the longest key that a text begins with, and its length.
func (l *language) longest(text string) (n int, list entries) {
	const most = 24 // eight characters of three bytes
	var buf [maxKey]byte
	for start := text[:min(len(text), most)]; start != ""; {
		found, list := l.floor(start, &buf)
		n := 0
		for n < len(found) && n < len(start) && found[n] == start[n] {
			n++
		}
		if n == len(found) {
			return n, list
		}
		start = start[:n]
	}
	return 0, ""
}

// An entry is what one row says of a key.
type entry struct {
	word  int  // number of the English word
	place int  // in the row, from 0
	form  byte // hash of the form, which may be another than that of the prompt
}

func (e entries) at(i int) entry {
	e = e[entrySize*i:]
	return entry{int(e[0]) | int(e[1])<<8, int(e[2]), e[3]}
}

func (e entries) len() int { return len(e) / entrySize }

// weight returns how likely a word means the English word of an entry: a row begins with the usual
// words, and an English word that is frequent in prompts and descriptions is more often meant.
func (e entry) weight() float64 { return math.Pow(float64(e.word+1), -.3) / float64(1+e.place) }

// formHash returns the hash of a form that entries have.
func formHash(form string) byte {
	h := uint32(2166136261)
	for i := range len(form) {
		h = (h ^ uint32(form[i])) * 16777619
	}
	return byte(h ^ h>>8 ^ h>>16 ^ h>>24)
}
