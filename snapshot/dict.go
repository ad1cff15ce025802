package snapshot

import "errors"

// Terms stand sorted in groups. Within a group each but the first leaves out
// what it shares with the one before. Behind each term stand the number of its
// documents and the length of its postings, which follow one another.
const groupSize = 16

// A Term is a term as one snapshot knows it.
type Term struct {
	ID   uint32  // its place among all terms
	Docs int     // number of documents that have it; 0: there is no such term
	IDF  float64 // its weight in Search, from 0 up: what Docs and Searched make of it

	at, size int // in the postings
}

// dict builds the three sections of the dictionary.
type dict struct {
	terms, postings, groups *spool
	n                       int
	last                    string
}

// add adds a term, which sorts after the last, and its postings.
func (d *dict) add(term string, docs int, postings []byte) error {
	if d.n%groupSize == 0 {
		d.groups.buf = appendSpan(d.groups.buf, d.terms.size(), d.postings.size())
		d.last = ""
	}
	shared := 0
	for shared < min(len(term), len(d.last)) && term[shared] == d.last[shared] {
		shared++
	}
	b := appendString(appendInt(d.terms.buf, shared), term[shared:])
	d.terms.buf = appendInt(appendInt(b, docs), len(postings))
	d.postings.buf = append(d.postings.buf, postings...)
	d.n++
	d.last = term
	return errors.Join(d.terms.spill(), d.postings.spill(), d.groups.spill())
}

// finish ends the last group.
func (d *dict) finish() {
	d.groups.buf = appendSpan(d.groups.buf, d.terms.size(), d.postings.size())
}

// Lookup appends to dst what the snapshot knows of each of the terms, in their
// order.
func (r *Reader) Lookup(dst []Term, terms []string) ([]Term, error) {
	n := len(dst)
	for _, text := range terms {
		t, err := r.s.lookup(text)
		if err != nil {
			return dst[:n], err
		}
		t.IDF = InverseFrequency(t.Docs, r.s.header.searched)
		dst = append(dst, t)
	}
	return dst, nil
}

func (s *Snapshot) lookup(text string) (Term, error) {
	// The last group whose first term is not after text.
	lo, hi := 0, (s.header.terms+groupSize-1)/groupSize
	var in []byte
	var at span
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		sp, err := s.span(groupSection, mid)
		if err != nil {
			return Term{}, err
		}
		group, err := s.bytes(dictSection, sp.a, sp.endA-sp.a)
		if err != nil {
			return Term{}, err
		}
		c := cursor{b: group}
		c.uvarint() // shares nothing
		if first := c.block(); c.bad {
			return Term{}, s.damaged(dictSection, sp.a)
		} else if string(first) > text {
			hi = mid
			continue
		}
		lo, in, at = mid+1, group, sp
	}
	if lo == 0 {
		return Term{}, nil
	}
	t, bad := find(in, text)
	if bad {
		return Term{}, s.damaged(dictSection, at.a)
	}
	t.ID += uint32((lo - 1) * groupSize)
	t.at += at.b
	return t, nil
}

// find looks for text in one group, from the start of which the ID and the
// place of the postings count.
func find(group []byte, text string) (t Term, bad bool) {
	var buf [64]byte
	term := buf[:0]
	c := cursor{b: group}
	for i, at := uint32(0), 0; len(c.b) > 0; i++ {
		shared, rest := c.uvarint(), c.block()
		docs, size := c.uvarint(), c.uvarint()
		if c.bad || shared > len(term) {
			return Term{}, true
		}
		term = append(term[:shared], rest...)
		switch {
		case string(term) == text:
			return Term{ID: i, Docs: docs, at: at, size: size}, false
		case string(term) > text:
			return Term{}, false
		}
		at += size
	}
	return Term{}, c.bad
}
