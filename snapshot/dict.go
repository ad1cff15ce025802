package snapshot

import (
	"cmp"
	"encoding/binary"
	"errors"
	"sort"
	"strings"
)

// Terms are sorted and stored in groups. Each term but the first of its group leaves out
// the bytes that it shares with the previous term. After each term follow the number of
// its documents and, in a snapshot of several stretches, the length of its postings; all
// postings are stored in this order.
const groupSize = 16

// A Term is a term as one snapshot knows it.
type Term struct {
	ID   uint32  // its position among all terms
	Docs int     // number of documents that have it; 0 means there is no such term
	IDF  float64 // its weight in Search, at least 0; the default follows from Docs and Len

	at, size int // in the posting section
}

// dict writes the three sections of the dictionary.
type dict struct {
	terms, postings, groups *spool
	stretches               bool // there are several
	n                       int
	last                    string
}

// add adds a term, which must sort after the last one, and its postings.
func (d *dict) add(term string, docs int, postings []byte) error {
	if d.n%groupSize == 0 {
		d.startGroup(term)
		d.last = ""
	}
	shared := 0
	for shared < min(len(term), len(d.last)) && term[shared] == d.last[shared] {
		shared++
	}
	b := appendString(appendInt(d.terms.buf, shared), term[shared:])
	if d.terms.buf = appendInt(b, docs); d.stretches {
		d.terms.buf = appendInt(d.terms.buf, len(postings))
	}
	d.postings.buf = append(d.postings.buf, postings...)
	d.n++
	d.last = term
	return errors.Join(d.terms.spill(), d.postings.spill(), d.groups.spill())
}

// startGroup adds a group to the index: its offset in both sections, and the first 8
// bytes of its first term, so that a search seldom has to read the term itself.
func (d *dict) startGroup(term string) {
	b := appendSpan(d.groups.buf, d.terms.size(), d.postings.size())
	d.groups.buf = binary.LittleEndian.AppendUint64(b, prefixOf(term))
}

const groupEntrySize = spanSize + 8

// prefixOf returns the first 8 bytes of a term as a number that sorts like the bytes.
func prefixOf(term string) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

// finish marks the end of the last group.
func (d *dict) finish() { d.startGroup("") }

// Lookup appends what the snapshot knows about each term to dst, in the order of terms.
func (r *Reader) Lookup(dst []Term, terms []string) ([]Term, error) {
	n := len(dst)
	for _, text := range terms {
		t, err := r.s.lookup(text)
		if err != nil {
			return dst[:n], err
		}
		t.IDF = InverseFrequency(t.Docs, r.s.header.docs)
		dst = append(dst, t)
	}
	return dst, nil
}

func (s *Snapshot) lookup(text string) (t Term, err error) {
	next, err := s.groupAfter(text)
	if err != nil || next == 0 {
		return Term{}, err
	}
	c, at, err := s.group(next - 1)
	if err != nil {
		return Term{}, err
	}
	t, bad := find(c, text, s.header.docs > stretch)
	if bad {
		return Term{}, s.damaged(groupSection, (next-1)*groupEntrySize)
	}
	t.ID += uint32((next - 1) * groupSize)
	t.at += at
	return t, nil
}

// groupAfter returns the first group whose first term is after text.
func (s *Snapshot) groupAfter(text string) (i int, err error) {
	prefix := prefixOf(text)
	i = sort.Search((s.header.terms+groupSize-1)/groupSize, func(i int) bool {
		entry, e := s.bytes(groupSection, i*groupEntrySize, groupEntrySize)
		if e != nil {
			err = e
			return true
		}
		if p := binary.LittleEndian.Uint64(entry[spanSize:]); p != prefix {
			return p > prefix
		}
		c, _, e := s.group(i)
		err = cmp.Or(err, e)
		c.uvarint() // the first term of a group shares no bytes
		return string(c.block()) > text
	})
	return i, err
}

// group returns the terms of a group, and the offset of its postings.
func (s *Snapshot) group(i int) (terms cursor, at int, err error) {
	b, err := s.bytes(groupSection, i*groupEntrySize, 2*groupEntrySize)
	if err != nil {
		return terms, 0, err
	}
	from, to := int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[groupEntrySize:]))
	terms.b, err = s.bytes(dictSection, from, to-from)
	return terms, int(binary.LittleEndian.Uint64(b[8:])), err
}

// find looks for text in one group. The ID and the offset of the postings are relative to
// the start of the group. If a term shares more bytes with the previous term than text
// does, then it sorts before text like the previous term, and find skips it.
func find(c cursor, text string, stretches bool) (t Term, bad bool) {
	same, length := 0, 0 // of the previous term: bytes in common with text, and all bytes
	for i, at := uint32(0), 0; len(c.b) > 0; i++ {
		shared, rest := c.uvarint(), c.block()
		docs := c.uvarint()
		size := postingSize * docs
		if stretches {
			size = c.uvarint()
		}
		if c.bad || shared > length {
			return Term{}, true
		}
		if shared < same {
			return Term{}, false
		}
		if shared == same {
			n := 0
			for n < len(rest) && same < len(text) && rest[n] == text[same] {
				n++
				same++
			}
			switch {
			case n == len(rest) && same == len(text):
				return Term{ID: i, Docs: docs, at: at, size: size}, false
			case n < len(rest) && (same == len(text) || rest[n] > text[same]):
				return Term{}, false
			}
		}
		length = shared + len(rest)
		at += size
	}
	return Term{}, c.bad
}

// Beginning returns the terms that begin with a prefix, in order. Their IDs are
// consecutive.
func (r *Reader) Beginning(prefix string) ([]Term, error) {
	next, err := r.s.groupAfter(prefix)
	if err != nil {
		return nil, err
	}
	var list []Term
	for i := max(next-1, 0); i < (r.s.header.terms+groupSize-1)/groupSize; i++ {
		if past, err := r.s.beginning(&list, i, prefix); err != nil || past {
			return list, err
		}
	}
	return list, nil
}

// beginning appends the terms of one group that begin with a prefix. past means that the
// group has a term after them.
func (s *Snapshot) beginning(list *[]Term, group int, prefix string) (past bool, err error) {
	c, at, err := s.group(group)
	if err != nil {
		return false, err
	}
	var text []byte
	for id := uint32(group * groupSize); len(c.b) > 0; id++ {
		shared, rest := c.uvarint(), c.block()
		t := Term{ID: id, Docs: c.uvarint(), at: at}
		t.size = postingSize * t.Docs
		if s.header.docs > stretch {
			t.size = c.uvarint()
		}
		if c.bad || shared > len(text) {
			return false, s.damaged(groupSection, group*groupEntrySize)
		}
		text = append(text[:shared], rest...)
		at += t.size
		if strings.HasPrefix(string(text), prefix) {
			t.IDF = InverseFrequency(t.Docs, s.header.docs)
			*list = append(*list, t)
		} else if string(text) > prefix {
			return true, nil
		}
	}
	return false, nil
}

// Occurrences adds to counts, by document, how often each document has a term. An
// occurrence counts by the weight of its field, and less in a document that is longer than
// the mean, as in BM25. The count of a document that has the term is never 0.
func (r *Reader) Occurrences(counts []float32, t Term) error {
	lists := work{}
	if err := r.s.startLists(&lists, []Term{t}); err != nil {
		return err
	}
	for l := &lists.lists[0]; l.at >= 0; {
		for i, code := range l.codes {
			doc := l.at*stretch + int(l.docs[2*i]) + int(l.docs[2*i+1])<<8
			if doc >= len(counts) {
				return r.s.damaged(postingSection, t.at)
			}
			// impact = maxImpact * count / (1 + count), but for rounding
			x := min(r.s.impacts[code]/maxImpact, maxShare)
			counts[doc] += x / (1 - x)
		}
		if l.next(); l.rest.bad {
			return r.s.damaged(postingSection, t.at)
		}
	}
	return nil
}

// maxShare keeps a count finite.
const maxShare = .999
