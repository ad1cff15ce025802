package snapshot

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// A Bitmap is a set of documents: one bit for each, the lowest first. nil means all
// documents. A document beyond the end of a bitmap is not in the set.
type Bitmap []uint64

// Has reports whether the document is in the set.
func (m Bitmap) Has(doc int) bool {
	return m == nil || doc>>6 < len(m) && m[doc>>6]>>(doc&63)&1 == 1
}

// Count returns the number of documents in the set, which must not be nil.
func (m Bitmap) Count() int {
	n := 0
	for _, x := range m {
		n += bits.OnesCount64(x)
	}
	return n
}

// All yields the documents in the set, which must not be nil, in ascending order.
func (m Bitmap) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, x := range m {
			for ; x != 0; x &= x - 1 {
				if !yield(64*w + bits.TrailingZeros64(x)) {
					return
				}
			}
		}
	}
}

// And returns the documents that are in both sets.
func (m Bitmap) And(o Bitmap) Bitmap { return m.with(o, func(x, y uint64) uint64 { return x & y }) }

// Or returns the documents that are in at least one of the sets.
func (m Bitmap) Or(o Bitmap) Bitmap { return m.with(o, func(x, y uint64) uint64 { return x | y }) }

// AndNot returns the documents that are in m and not in o.
func (m Bitmap) AndNot(o Bitmap) Bitmap {
	return m.with(o, func(x, y uint64) uint64 { return x &^ y })
}

// with combines the words of two sets of one snapshot. Neither may be nil, because a Bitmap
// does not know the number of all documents.
func (m Bitmap) with(o Bitmap, f func(x, y uint64) uint64) Bitmap {
	out := make(Bitmap, len(m))
	for i, x := range m {
		out[i] = f(x, o[i])
	}
	return out
}

// Set adds a document. The bitmap must be long enough.
func (m Bitmap) Set(doc int) { m[doc>>6] |= 1 << (doc & 63) }

// Clear removes a document, which must not be beyond the end of the bitmap.
func (m Bitmap) Clear(doc int) { m[doc>>6] &^= 1 << (doc & 63) }

// NewBitmap returns an empty set that is long enough for all documents.
func (s *Snapshot) NewBitmap() Bitmap { return make(Bitmap, (s.header.docs+63)/64) }

// All returns the set of all documents as a bitmap that is not nil.
func (s *Snapshot) All() Bitmap {
	m := s.NewBitmap()
	for i := range m {
		m[i] = ^uint64(0)
	}
	if rest := s.header.docs & 63; rest > 0 {
		m[len(m)-1] = 1<<rest - 1
	}
	return m
}

// Hidden returns the hidden documents.
func (r *Reader) Hidden() (Bitmap, error) {
	data, err := r.s.bytes(hiddenSection, 0, r.s.header.sizes[hiddenSection])
	if err != nil {
		return nil, err
	}
	return r.s.decodeSet(cursor{b: data}, hiddenSection, 0)
}

// A set is an ascending list of documents, encoded as the differences between them.
type set struct {
	entries []byte
	last    int
}

// add adds a document, which must not be before the last one. Adding it twice is harmless.
func (s *set) add(doc int) {
	s.entries = appendInt(s.entries, doc-s.last)
	s.last = doc
}

func addTo(sets map[string]*set, name string, doc int) {
	s := sets[name]
	if s == nil {
		s = new(set)
		sets[strings.Clone(name)] = s
	}
	s.add(doc)
}

// encodeSets encodes sets of documents by name: the number of sets, the offset of each,
// then the name and the documents of each, sorted by name.
func encodeSets(sets map[string]*set) []byte {
	names := slices.Sorted(maps.Keys(sets))
	var entries []byte
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(names)))
	start := 4 + 4*(len(names)+1)
	for _, name := range names {
		out = binary.LittleEndian.AppendUint32(out, uint32(start+len(entries)))
		entries = append(appendString(entries, name), sets[name].entries...)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(start+len(entries)))
	return append(out, entries...)
}

// Tag returns the documents with this tag, ignoring case; ok is false if there are none.
func (r *Reader) Tag(name string) (set Bitmap, ok bool, err error) {
	return r.s.set(tagSection, fold(name))
}

// Source returns the documents of a source; ok is false if there are none.
func (r *Reader) Source(label string) (set Bitmap, ok bool, err error) {
	return r.s.set(sourceSection, label)
}

func (s *Snapshot) set(sec section, name string) (set Bitmap, ok bool, err error) {
	head, err := s.bytes(sec, 0, 4)
	if err != nil {
		return nil, false, err
	}
	entry := func(i int) (c cursor, from int) {
		offsets, e := s.bytes(sec, 4+4*i, 8)
		if e == nil {
			from = int(binary.LittleEndian.Uint32(offsets))
			c.b, e = s.bytes(sec, from, int(binary.LittleEndian.Uint32(offsets[4:]))-from)
		}
		err = cmp.Or(err, e)
		return c, from
	}
	i, ok := sort.Find(int(binary.LittleEndian.Uint32(head)), func(i int) int {
		c, _ := entry(i)
		return strings.Compare(name, string(c.block()))
	})
	if !ok || err != nil {
		return nil, false, err
	}
	c, from := entry(i)
	c.block() // the name
	set, err = s.decodeSet(c, sec, from)
	return set, err == nil, err
}

// decodeSet reads a set that is at an offset of a section.
func (s *Snapshot) decodeSet(c cursor, sec section, off int) (Bitmap, error) {
	set := s.NewBitmap()
	for doc := 0; len(c.b) > 0; {
		doc += c.uvarint()
		if c.bad || doc >= s.header.docs {
			return nil, s.damaged(sec, off)
		}
		set.Set(doc)
	}
	return set, nil
}

// fold maps all texts that are equal by strings.EqualFold to the same text.
func fold(s string) string {
	out := []rune(s)
	for i, r := range out {
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		out[i] = least
	}
	return string(out)
}
