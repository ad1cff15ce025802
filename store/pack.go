package store

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/skill"
)

// packers keeps writers, which are far larger than the texts that they deflate.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, packLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// packLevel is the effort of deflating: the bodies of 20,000 skills take 76 MB
// at 1, 70 MB at 4 and 69 MB at 6, for half of the time more each step.
const packLevel = 4

// pack deflates data; SKILL.md files shrink to about 40 %.
func pack(data []byte) ([]byte, error) {
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	b := bytes.NewBuffer(make([]byte, 0, len(data)/2))
	w.Reset(b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte) ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(data)))
}

// errPacked says that bytes are not what this package packed.
var errPacked = errors.New("malformed value")

// What stands between the frontmatter as JSON, which has no such bytes, and the
// body. Most descriptions are kept as they are in the frontmatter, and once.
const (
	wholeEnd = 0 // of a whole frontmatter
	shortEnd = 1 // of one without its description
)

// packBody deflates the frontmatter and the body together, because the one repeats
// the words of the other.
func packBody(s *skill.Skill) ([]byte, error) {
	frontmatter, end := s.Frontmatter, byte(wholeEnd)
	if frontmatter["description"] == s.Description {
		frontmatter, end = maps.Clone(frontmatter), shortEnd
		delete(frontmatter, "description")
	}
	return pack(slices.Concat(marshal(frontmatter), []byte{end}, []byte(s.Body)))
}

// unpackBody sets the frontmatter and the body of a skill whose description is
// set.
func unpackBody(s *skill.Skill, packed []byte) error {
	text, err := unpack(packed)
	if err != nil {
		return err
	}
	end := bytes.IndexFunc(text, func(r rune) bool { return r <= shortEnd })
	if end < 0 {
		return errPacked
	}
	s.Body = string(text[end+1:])
	err = json.Unmarshal(text[:end], &s.Frontmatter)
	if text[end] == shortEnd && s.Frontmatter != nil {
		s.Frontmatter["description"] = s.Description
	}
	return err
}

// Terms are packed as a sorted list of the distinct ones, because their order is
// of no interest. Each is three things: how many bytes it shares with the one
// before (a byte below maxShared), how often it occurs, and its other bytes, none
// of which is below '0'. Occurrences are two times those in the body, or, when it
// is in another field too, 1 and then those in each field. All numbers but the
// first are varints.
const maxShared = 32

// A packedTerm is a term while it is packed.
type packedTerm struct {
	start  uint64 // the first 8 bytes of the term, which sorting compares first
	term   string
	counts [4]int // by field
}

// A termTable counts the distinct terms of fields.
type termTable struct {
	index map[string]int // in terms
	terms []packedTerm
}

// termTables keeps tables, because growing one takes longer than filling it.
var termTables = sync.Pool{New: func() any { return &termTable{index: make(map[string]int)} }}

// count returns the distinct terms of the fields, sorted, until the next call.
func (t *termTable) count(f *Fields) []packedTerm {
	clear(t.index)
	t.terms = t.terms[:0]
	for field, text := range f.list() {
		for term := range strings.FieldsFuncSeq(*text, isSeparator) {
			i, ok := t.index[term]
			if !ok {
				i = len(t.terms)
				t.index[term] = i
				var start [8]byte
				copy(start[:], term)
				t.terms = append(t.terms, packedTerm{start: binary.BigEndian.Uint64(start[:]), term: term})
			}
			t.terms[i].counts[field]++
		}
	}
	slices.SortFunc(t.terms, func(a, b packedTerm) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return strings.Compare(a.term, b.term)
	})
	return t.terms
}

func packFields(f *Fields) ([]byte, error) {
	table := termTables.Get().(*termTable)
	defer termTables.Put(table)
	terms := table.count(f)
	data := make([]byte, 0, 8*len(terms))
	last := ""
	for i := range terms {
		t := &terms[i]
		shared := 0
		for shared < min(len(last), len(t.term), maxShared-1) && last[shared] == t.term[shared] {
			shared++
		}
		data = t.appendCounts(append(data, byte(shared)))
		data = append(data, t.term[shared:]...)
		last = t.term
	}
	return pack(data)
}

func (t *packedTerm) appendCounts(data []byte) []byte {
	if t.counts == [4]int{bodyField: t.counts[bodyField]} {
		return binary.AppendUvarint(data, uint64(2*t.counts[bodyField]))
	}
	data = append(data, 1)
	for _, n := range t.counts {
		data = binary.AppendUvarint(data, uint64(n))
	}
	return data
}

// isSeparator reports whether full-text search cuts terms at r: ASCII but letters
// and digits.
func isSeparator(r rune) bool {
	return r < '0' || '9' < r && r < 'A' || 'Z' < r && r < 'a' || 'z' < r && r < utf8.RuneSelf
}

// unpackFields returns packed fields, the terms of each sorted.
func unpackFields(packed []byte) (*Fields, error) {
	data, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	var texts [4]strings.Builder
	var term []byte
	for r := (termReader{data}); len(r.data) > 0; {
		shared, counts, rest := r.next()
		if shared > len(term) || rest == nil {
			return nil, errPacked
		}
		term = append(term[:shared], rest...)
		for field, n := range counts {
			if texts[field].Len()+n*(len(term)+1) > maxField {
				return nil, errPacked
			}
			for range n {
				texts[field].Write(term)
				texts[field].WriteByte(' ')
			}
		}
	}
	f := new(Fields)
	for field, text := range f.list() {
		*text = strings.TrimSuffix(texts[field].String(), " ")
	}
	return f, nil
}

// maxField bounds the length of a field in bytes, so that damage cannot make one
// that fills the memory.
const maxField = 1 << 28

// A termReader reads packed terms.
type termReader struct{ data []byte }

// next returns the parts of the next term, of which there is one; rest is nil
// when it is malformed.
func (r *termReader) next() (shared int, counts [4]int, rest []byte) {
	shared, r.data = int(r.data[0]), r.data[1:]
	switch n := r.number(); {
	case n%2 == 0:
		counts[bodyField] = n / 2
	case n == 1:
		for i := range counts {
			counts[i] = r.number()
		}
	default:
		return 0, counts, nil
	}
	end := 0
	for end < len(r.data) && r.data[end] >= '0' {
		end++
	}
	rest, r.data = r.data[:end:end], r.data[end:]
	if shared >= maxShared || end == 0 || slices.Min(counts[:]) < 0 {
		return 0, counts, nil
	}
	return shared, counts, rest
}

// number returns the next number, or -1 when there is none that makes sense.
func (r *termReader) number() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > maxField {
		return -1
	}
	r.data = r.data[size:]
	return int(n)
}

// packVector returns a vector in steps of 1/127 of its largest value: the step
// as a float32 and an int8 for each value. That takes a quarter of the space, and
// turns a vector by less than a hundredth.
func packVector(v []float32) []byte {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	step := most / math.MaxInt8
	data := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(step))
	for _, x := range v {
		n := int8(0)
		if step > 0 {
			n = int8(math.Round(float64(x / step)))
		}
		data = append(data, byte(n))
	}
	return data
}

func unpackVector(data []byte) ([]float32, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%w: a vector of %d bytes", errPacked, len(data))
	}
	step := math.Float32frombits(binary.LittleEndian.Uint32(data))
	v := make([]float32, len(data)-4)
	for i := range v {
		v[i] = step * float32(int8(data[4+i]))
	}
	return v, nil
}
