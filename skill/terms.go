package skill

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Fields are the terms of a skill's text, in order, with repetitions. Of the ASCII
// characters, a term holds only letters and digits.
type Fields struct {
	Name, Description, Tags, Body []string

	// Shown is how many terms at the start of Description come from the visible
	// description. The rest (from when_to_use) is searched but never shown.
	Shown int
}

// Fields returns the terms of the skill's text.
func (s *Skill) Fields(a *words.Analyzer) Fields {
	// A prompt that has a word of what the skill is not for does not want it. Who says it twice does not say more. A body has all its words, which phrases are looked for in.
	terms := func(text string) []string { return a.Terms(words.Once(words.Unpressed(text))) }
	description, _ := ruledOut(s.Description)
	shown := terms(description)
	return Fields{
		Name:        a.Terms(s.Name),
		Description: append(shown, terms(s.WhenToUse)...),
		Shown:       len(shown),
		Tags:        terms(strings.Join(s.Tags, " ")),
		Body:        a.Terms(s.Body),
	}
}

// WhenToUse returns the when_to_use extension of a frontmatter, if it is a text.
func WhenToUse(frontmatter map[string]any) string {
	for _, key := range []string{"when_to_use", "when-to-use", "whenToUse"} {
		for k, v := range frontmatter {
			if text, ok := v.(string); ok && strings.EqualFold(k, key) && text != "" {
				return strings.TrimSpace(tidy.Clean(text))
			}
		}
	}
	return ""
}

// Weights say how much each field counts in a text score. No weight is negative.
type Weights struct{ Name, Description, Tags, Body float64 }

// Terms are the distinct terms of a skill, sorted and packed into bytes. Each term
// carries how often each field has it: all that ranking by text needs.
//
// A packed term is: the number of bytes that it shares with the term before it
// (one byte, less than maxShared), its counts, and its remaining bytes, each at
// least '0'. If only the body has the term, the counts are one number: twice the
// body's count. Otherwise they are the number 1, then the counts of name,
// description, tags, body and visible description. All these numbers are varints.
type Terms []byte

// maxShared bounds how many bytes a packed term shares with the term before it.
const maxShared = 32

// A Term is one term of Terms.
type Term struct {
	Text                          []byte // valid until the next term is read
	Name, Description, Tags, Body int    // how often the fields have it
	Shown                         int    // how often the visible part of the description has it
}

// errTerms means that bytes are not packed terms.
var errTerms = errors.New("malformed list of terms")

// countedTerm is a term in a termTable.
type countedTerm struct {
	start uint64 // its first 8 bytes, which sorting compares first
	text  string
	Term
}

// A termTable counts the distinct terms of fields.
type termTable struct {
	index map[string]int // text → index in terms
	terms []countedTerm
}

// termTables reuses tables, because growing a table takes longer than filling it.
var termTables = sync.Pool{New: func() any { return &termTable{index: make(map[string]int)} }}

// Pack counts and packs the terms of f. It skips empty terms and terms with a
// character below '0', which no analyzer makes.
func (f *Fields) Pack() Terms {
	t := termTables.Get().(*termTable)
	defer termTables.Put(t)
	clear(t.index)
	t.terms = t.terms[:0]
	t.count(f.Name, func(c *countedTerm) { c.Name++ })
	t.count(f.Description, func(c *countedTerm) { c.Description++ })
	t.count(f.Description[:f.Shown], func(c *countedTerm) { c.Shown++ })
	t.count(f.Tags, func(c *countedTerm) { c.Tags++ })
	t.count(f.Body, func(c *countedTerm) { c.Body++ })
	slices.SortFunc(t.terms, func(a, b countedTerm) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return strings.Compare(a.text, b.text)
	})
	data := make([]byte, 0, 8*len(t.terms))
	last := ""
	for i := range t.terms {
		c := &t.terms[i]
		data = c.append(data, last)
		last = c.text
	}
	return data
}

// count adds 1 to one count of each term in list.
func (t *termTable) count(list []string, add func(*countedTerm)) {
	for _, text := range list {
		i, ok := t.index[text]
		if !ok {
			if text == "" || strings.IndexFunc(text, func(r rune) bool { return r < '0' }) >= 0 {
				continue
			}
			i = len(t.terms)
			t.index[text] = i
			var start [8]byte
			copy(start[:], text)
			t.terms = append(t.terms, countedTerm{start: binary.BigEndian.Uint64(start[:]), text: text})
		}
		add(&t.terms[i])
	}
}

// append appends the packed term to data; last is the term before it.
func (c *countedTerm) append(data []byte, last string) []byte {
	shared := 0
	for shared < min(len(last), len(c.text)-1, maxShared-1) && last[shared] == c.text[shared] {
		shared++
	}
	data = append(data, byte(shared))
	if c.Name+c.Description+c.Tags == 0 {
		data = binary.AppendUvarint(data, uint64(2*c.Body))
	} else {
		data = append(data, 1)
		for _, n := range []int{c.Name, c.Description, c.Tags, c.Body, c.Shown} {
			data = binary.AppendUvarint(data, uint64(n))
		}
	}
	return append(data, c.text[shared:]...)
}

// Each calls f for each term, in order. It returns errTerms at the first bytes that
// are not a packed term.
func (t Terms) Each(f func(*Term)) error {
	var term Term
	r := termReader{t}
	for len(r.data) > 0 {
		if !r.next(&term) {
			return errTerms
		}
		f(&term)
	}
	return nil
}

// Without returns the terms without those for which drop returns true. It may change
// the counts of the others.
func (t Terms) Without(drop func(*Term) bool) (Terms, error) {
	var kept Terms
	last := ""
	err := t.Each(func(term *Term) {
		if !drop(term) {
			c := countedTerm{text: string(term.Text), Term: *term}
			kept, last = c.append(kept, last), c.text
		}
	})
	return kept, err
}

// A termReader reads packed terms.
type termReader struct{ data []byte }

// next reads the next term into t, which still holds the term before it. It returns
// false if the bytes are not a packed term. There must be bytes left.
func (r *termReader) next(t *Term) bool {
	var shared int
	shared, r.data = int(r.data[0]), r.data[1:]
	if shared >= maxShared || shared > len(t.Text) {
		return false
	}
	t.Name, t.Description, t.Tags, t.Shown = 0, 0, 0, 0
	switch n := r.number(); {
	case n >= 0 && n%2 == 0:
		t.Body = n / 2
	case n == 1:
		for _, count := range []*int{&t.Name, &t.Description, &t.Tags, &t.Body, &t.Shown} {
			if *count = r.number(); *count < 0 {
				return false
			}
		}
		if t.Shown > t.Description {
			return false
		}
	default:
		return false
	}
	end := 0
	for end < len(r.data) && r.data[end] >= '0' {
		end++
	}
	t.Text = append(t.Text[:shared], r.data[:end]...)
	r.data = r.data[end:]
	return end > 0
}

// maxCount bounds one count and the total bytes of all terms with repetitions, so
// that damaged data cannot ask for gigabytes. A SKILL.md has at most MaxFile bytes.
const maxCount = 16 * MaxFile

// number reads a number; -1 means there is none, or it is above maxCount.
func (r *termReader) number() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > maxCount {
		return -1
	}
	r.data = r.data[size:]
	return int(n)
}

// Fields returns the terms of each field, sorted. In Description the terms of the
// visible description come first, then the others; each part is sorted.
func (t Terms) Fields() (Fields, error) {
	var f Fields
	var hidden []string
	total := 0
	err := t.Each(func(term *Term) {
		n := term.Name + term.Description + term.Tags + term.Body
		if total += n * len(term.Text); total > maxCount {
			return // reported after the loop
		}
		text := string(term.Text)
		f.Name = appendTimes(f.Name, text, term.Name)
		f.Description = appendTimes(f.Description, text, term.Shown)
		hidden = appendTimes(hidden, text, term.Description-term.Shown)
		f.Tags = appendTimes(f.Tags, text, term.Tags)
		f.Body = appendTimes(f.Body, text, term.Body)
	})
	if err == nil && total > maxCount {
		err = errTerms
	}
	f.Shown = len(f.Description)
	f.Description = append(f.Description, hidden...)
	return f, err
}

func appendTimes(list []string, text string, n int) []string {
	for range n {
		list = append(list, text)
	}
	return list
}
