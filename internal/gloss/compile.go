package gloss

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A List holds words of a language. Each line is an English word, a tab, and the words that people type
// where English speakers use it, separated by semicolons, the usual ones first: "invoice<tab>Rechnung;
// Faktura". "=" stands for the English word itself, and "-" for none. Lines that begin with # say nothing.
type List struct {
	Code string // of the language, such as "de"; "" for words of any language
	File string // for errors
	Text string
}

// maxPhrase is how many words a phrase of a list has at most; longer ones are never found.
const maxPhrase = 3

// Compile returns the table of some lists, see table.
func Compile(lists []List) (string, error) {
	c := compiler{number: make(map[string]int)}
	keys := make([]map[string][]entry, len(lists))
	kinds := make([]kind, len(lists))
	for i, l := range lists {
		rows, err := l.rows()
		if err != nil {
			return "", err
		}
		kinds[i] = kindOf(rows)
		if keys[i], err = c.keys(&l, kinds[i], rows); err != nil {
			return "", err
		}
	}
	return c.table(lists, kinds, keys), nil
}

// A row is one line of a list.
type row struct {
	line    int
	english string
	words   []string // as typed; "=" for the English word
}

// rows returns the lines of a list.
func (l *List) rows() (rows []row, err error) {
	n := 0
	for line := range strings.Lines(l.Text) {
		n++
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		english, rest, ok := strings.Cut(line, "\t")
		r := row{line: n, english: strings.ToLower(strings.TrimSpace(english))}
		if !ok || r.english == "" || !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s:%d: a line must be an English word, a tab, and words with semicolons between them", l.File, n)
		}
		for w := range strings.SplitSeq(rest, ";") {
			if w = strings.TrimSpace(w); w != "" && w != "-" {
				r.words = append(r.words, w)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// kindOf returns how most words of a list are written.
func kindOf(rows []row) kind {
	var n [dense + 1]int
	for _, r := range rows {
		for _, w := range r.words {
			if letter, _ := utf8.DecodeRuneInString(w); unicode.IsLetter(letter) {
				n[kindOfLetter(letter)]++
			}
		}
	}
	return kind(slices.Index(n[:], slices.Max(n[:])))
}

func kindOfLetter(r rune) kind {
	switch {
	case words.Dense(r):
		return dense
	case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
		return latin
	}
	return spaced
}

type compiler struct {
	english []string // by number
	number  map[string]int
}

// keys returns the entries of a list by their keys.
func (c *compiler) keys(l *List, k kind, rows []row) (map[string][]entry, error) {
	keys := make(map[string][]entry)
	add := func(key string, e entry) {
		if key == "" || len(key) > maxKey || slices.ContainsFunc(keys[key], func(o entry) bool { return o.word == e.word && o.form == e.form }) {
			return
		}
		keys[key] = append(keys[key], e)
	}
	s := stemmerOf(l.Code)
	for _, r := range rows {
		n, ok := c.number[r.english]
		if !ok {
			if n = len(c.english); n > 1<<16-1 {
				return nil, fmt.Errorf("%s:%d: more than %d English words", l.File, r.line, n)
			}
			c.number[r.english], c.english = n, append(c.english, r.english)
		}
		for place, w := range r.words {
			place = min(place, 100)
			if w == "=" {
				w = r.english
			}
			if k == dense && strings.ContainsFunc(w, words.Dense) {
				key := denseKey(w)
				add(key, entry{n, place, 0})
				if root := denseRoot(l.Code, key); root != "" {
					add(root, entry{n, 2*place + 1, 0})
				}
				continue
			}
			if form := formOf(w); strings.Count(form, " ") < maxPhrase {
				add(s.key(form), entry{n, place, formHash(form)})
			}
		}
	}
	for key, list := range keys {
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(b.weight(), a.weight()) })
		keys[key] = list[:min(len(list), 40)]
	}
	return keys, nil
}

// table encodes what was found.
func (c *compiler) table(lists []List, kinds []kind, keys []map[string][]entry) string {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32([]byte(magic), uint32(len(c.english))), uint32(len(lists)))
	order, end := make([]int, len(c.english)), 0
	for i, w := range c.english {
		order[i], end = i, end+len(w)
		b = le.AppendUint32(b, uint32(end))
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(c.english[i], c.english[j]) })
	for _, i := range order {
		b = le.AppendUint16(b, uint16(i))
	}
	for _, w := range c.english {
		b = append(b, w...)
	}
	var bodies []byte
	for i, l := range lists {
		index, groups := groupsOf(keys[i])
		b = append(b, (l.Code + "    ")[:4]...)
		b = le.AppendUint32(b, uint32(kinds[i]))
		b = le.AppendUint32(b, uint32(len(index)/4))
		b = le.AppendUint32(b, uint32(len(groups)))
		bodies = append(append(bodies, index...), groups...)
	}
	return string(append(b, bodies...))
}

// groupsOf encodes the keys of a list.
func groupsOf(keys map[string][]entry) (index, groups []byte) {
	last := ""
	for n, key := range slices.Sorted(maps.Keys(keys)) {
		if n%groupSize == 0 {
			index = binary.LittleEndian.AppendUint32(index, uint32(len(groups)))
			last = ""
		}
		shared := 0
		for shared < len(last) && shared < len(key) && last[shared] == key[shared] {
			shared++
		}
		groups = append(groups, byte(shared), byte(len(key)-shared))
		groups = append(groups, key[shared:]...)
		groups = append(groups, byte(len(keys[key])))
		for _, e := range keys[key] {
			groups = append(binary.LittleEndian.AppendUint16(groups, uint16(e.word)), byte(e.place), e.form)
		}
		last = key
	}
	return index, groups
}
