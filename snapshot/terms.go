package snapshot

import "strings"

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
