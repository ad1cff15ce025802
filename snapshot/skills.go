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

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Skills are a set of the skills of a Set, by number, or of the documents of a snapshot, by
// ordinal: one bit for each, the lowest first. What is beyond the end is not in the set, so
// nil is empty.
type Skills []uint64

// wordsFor returns how many words a set of n skills takes.
func wordsFor(n int) int { return (n + 63) / 64 }

// firsts returns the set of the first n skills.
func firsts(n int) Skills {
	s := make(Skills, wordsFor(n))
	for i := range s {
		s[i] = ^uint64(0)
	}
	if rest := n & 63; rest > 0 {
		s[len(s)-1] = 1<<rest - 1
	}
	return s
}

// Has reports whether a skill is in the set.
func (s Skills) Has(i int) bool { return i>>6 < len(s) && s[i>>6]>>(i&63)&1 == 1 }

// Count returns the number of skills in the set.
func (s Skills) Count() int {
	n := 0
	for _, x := range s {
		n += bits.OnesCount64(x)
	}
	return n
}

// All yields the skills in the set in ascending order.
func (s Skills) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, x := range s {
			for ; x != 0; x &= x - 1 {
				if !yield(64*w + bits.TrailingZeros64(x)) {
					return
				}
			}
		}
	}
}

// And returns the skills that are in both sets.
func (s Skills) And(o Skills) Skills {
	out := make(Skills, min(len(s), len(o)))
	for i := range out {
		out[i] = s[i] & o[i]
	}
	return out
}

// Or returns the skills that are in at least one of the sets.
func (s Skills) Or(o Skills) Skills {
	if len(s) < len(o) {
		s, o = o, s
	}
	out := slices.Clone(s)
	for i, x := range o {
		out[i] |= x
	}
	return out
}

// AndNot returns the skills that are in s and not in o.
func (s Skills) AndNot(o Skills) Skills {
	out := slices.Clone(s)
	for i := range min(len(s), len(o)) {
		out[i] &^= o[i]
	}
	return out
}

// Add adds a skill.
func (s *Skills) Add(i int) {
	if n := i>>6 + 1 - len(*s); n > 0 {
		*s = append(*s, make(Skills, n)...)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

// Remove removes a skill.
func (s Skills) Remove(i int) {
	if s.Has(i) {
		s[i>>6] &^= 1 << (i & 63)
	}
}

// All returns the set of all documents.
func (s *Snapshot) All() Skills { return firsts(s.header.docs) }

// Hidden returns the hidden documents.
func (r *Reader) Hidden() (Skills, error) { return r.only(hiddenSection) }

// Reserved returns the documents that only the user starts, see skill.About.
func (r *Reader) Reserved() (Skills, error) { return r.only(reservedSection) }

// only returns the documents in a section with one set.
func (r *Reader) only(sec section) (Skills, error) {
	data, err := r.s.bytes(sec, 0, r.s.header.sizes[sec])
	if err != nil {
		return nil, err
	}
	return r.s.decodeSet(cursor{b: data}, sec, 0)
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

// addTo adds a document to the set with this name, and returns the set.
func addTo(sets map[string]*set, name string, doc int) *set {
	s := sets[name]
	if s == nil {
		s = new(set)
		sets[strings.Clone(name)] = s
	}
	s.add(doc)
	return s
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

// Tag returns the documents with this tag, which is compared as names are.
func (r *Reader) Tag(name string) (Skills, error) { return r.s.set(tagSection, words.NameKey(name)) }

// Source returns the documents of a source.
func (r *Reader) Source(label string) (Skills, error) { return r.s.set(sourceSection, label) }

func (s *Snapshot) set(sec section, name string) (Skills, error) {
	all := s.sets(sec)
	i, ok := sort.Find(all.n, func(i int) int {
		c, _ := all.at(i)
		return strings.Compare(name, string(c.block()))
	})
	if !ok || all.err != nil {
		return nil, all.err
	}
	c, from := all.at(i)
	c.block() // the name
	return s.decodeSet(c, sec, from)
}

// namedSets reads what encodeSets has written. It is of no use after the first error.
type namedSets struct {
	s   *Snapshot
	sec section
	n   int // number of sets
	err error
}

func (s *Snapshot) sets(sec section) namedSets {
	x := namedSets{s: s, sec: sec}
	var head []byte
	if head, x.err = s.bytes(sec, 0, 4); x.err == nil {
		x.n = int(binary.LittleEndian.Uint32(head))
	}
	return x
}

// at returns the name and the documents of a set, and their offset.
func (x *namedSets) at(i int) (c cursor, from int) {
	offsets, err := x.s.bytes(x.sec, 4+4*i, 8)
	if err == nil {
		from = int(binary.LittleEndian.Uint32(offsets))
		c.b, err = x.s.bytes(x.sec, from, int(binary.LittleEndian.Uint32(offsets[4:]))-from)
	}
	x.err = cmp.Or(x.err, err)
	return c, from
}

// decodeSet reads a set that is at an offset of a section.
func (s *Snapshot) decodeSet(c cursor, sec section, off int) (Skills, error) {
	set := make(Skills, wordsFor(s.header.docs))
	for doc := 0; len(c.b) > 0; {
		doc += c.uvarint()
		if c.bad || doc >= s.header.docs {
			return nil, s.damaged(sec, off)
		}
		set.Add(doc)
	}
	return set, nil
}
