package snapshot

// Terms stand sorted in groups. Within a group each but the first leaves out
// what it shares with the one before. Behind each term stand the number of its
// documents and the length of its postings, which follow one another.
const groupSize = 16

// A Term is a term as one snapshot knows it.
type Term struct {
	ID   uint32 // its place among all terms
	Docs int    // number of documents that have it; 0: there is no such term

	at, size int // in the postings
}

// dict builds the three sections of the dictionary.
type dict struct {
	terms    []byte
	postings []byte
	groups   []byte
	n        int
	last     string
}

// add adds a term, which sorts after the last, and its postings.
func (d *dict) add(term string, docs int, postings []byte) {
	if d.n%groupSize == 0 {
		d.groups = appendSpan(d.groups, len(d.terms), len(d.postings))
		d.last = ""
	}
	shared := 0
	for shared < min(len(term), len(d.last)) && term[shared] == d.last[shared] {
		shared++
	}
	d.terms = appendInt(d.terms, shared)
	d.terms = appendString(d.terms, term[shared:])
	d.terms = appendInt(d.terms, docs)
	d.terms = appendInt(d.terms, len(postings))
	d.postings = append(d.postings, postings...)
	d.n++
	d.last = term
}

func (d *dict) finish() { d.groups = appendSpan(d.groups, len(d.terms), len(d.postings)) }

// Lookup returns what the snapshot knows of each of the terms, in their order.
func (s *Snapshot) Lookup(terms []string) (list []Term, err error) {
	end, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer end(&err)
	list = make([]Term, len(terms))
	for i, text := range terms {
		if list[i], err = s.lookup(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// DocFreq returns the number of documents that have the term.
func (s *Snapshot) DocFreq(term string) (int, error) {
	list, err := s.Lookup([]string{term})
	if err != nil {
		return 0, err
	}
	return list[0].Docs, nil
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
