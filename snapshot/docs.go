package snapshot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// appendDocument encodes what Doc returns. The key comes first: it is searched
// for in place.
func appendDocument(b []byte, d *Document) []byte {
	b = appendString(b, d.Key)
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Row))
	b = append(b, d.Flags)
	b = appendInt(b, d.Tokens)
	for _, s := range []string{d.Ref, d.Name, d.Description, d.Source, d.Location, d.Path, d.Digest} {
		b = appendString(b, s)
	}
	for _, list := range [][]string{d.Tags, d.Requires} {
		b = appendInt(b, len(list))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	return b
}

// appendDocTerms encodes the term IDs of a document: those of its name as they
// stand, then those of name, description and tags, rising.
func appendDocTerms(b []byte, d *Document, ids map[string]uint32) []byte {
	b = appendInt(b, len(d.Terms.Name))
	for _, t := range d.Terms.Name {
		b = appendInt(b, int(ids[t]))
	}
	var head []uint32
	for _, t := range slices.Concat(d.Terms.Name, d.Terms.Description, d.Terms.Tags) {
		head = append(head, ids[t])
	}
	slices.Sort(head)
	head = slices.Compact(head)
	b = appendInt(b, len(head))
	last := uint32(0)
	for _, id := range head {
		b = appendInt(b, int(id-last))
		last = id
	}
	return b
}

func (s *Snapshot) checkOrdinal(doc int) error {
	if doc < 0 || doc >= s.header.docs {
		return fmt.Errorf("%s: no document %d, there are %d", s.path, doc, s.header.docs)
	}
	return nil
}

// Doc returns a document without its terms and vectors. Its strings are copies.
func (s *Snapshot) Doc(doc int) (d Document, err error) {
	end, err := s.begin()
	if err != nil {
		return d, err
	}
	defer end(&err)
	data, at, err := s.record(doc)
	if err != nil {
		return d, err
	}
	r := reader{cursor{b: data}, string(data)}
	d.Key = r.string()
	d.Row = int64(r.uint64())
	if flags := r.bytes(1); flags != nil {
		d.Flags = flags[0]
	}
	d.Tokens = r.uvarint()
	for _, field := range []*string{&d.Ref, &d.Name, &d.Description, &d.Source, &d.Location, &d.Path, &d.Digest} {
		*field = r.string()
	}
	d.Tags, d.Requires = r.strings(), r.strings()
	if r.bad {
		return Document{}, s.damaged(docSection, at)
	}
	return d, nil
}

// record returns the record of a document and where it stands.
func (s *Snapshot) record(doc int) ([]byte, int, error) {
	if err := s.checkOrdinal(doc); err != nil {
		return nil, 0, err
	}
	sp, err := s.span(docIndexSection, doc)
	if err != nil {
		return nil, 0, err
	}
	data, err := s.bytes(docSection, sp.a, sp.endA-sp.a)
	return data, sp.a, err
}

// A reader is a cursor over bytes of which text is a copy, so that all strings
// of a record share one allocation.
type reader struct {
	cursor
	text string
}

func (r *reader) string() string {
	n := r.uvarint()
	at := len(r.text) - len(r.b)
	if r.bytes(n) == nil {
		return ""
	}
	return r.text[at : at+n]
}

func (r *reader) strings() []string {
	var list []string
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		list = append(list, r.string())
	}
	return list
}

// NameTerms appends to dst the IDs of the terms of a document's name, in order,
// with repetitions.
func (s *Snapshot) NameTerms(dst []uint32, doc int) ([]uint32, error) {
	return s.docTerms(dst, doc, false)
}

// HeadTerms appends to dst the IDs of the terms of a document's name, description
// and tags, rising, each once.
func (s *Snapshot) HeadTerms(dst []uint32, doc int) ([]uint32, error) {
	return s.docTerms(dst, doc, true)
}

func (s *Snapshot) docTerms(dst []uint32, doc int, head bool) (_ []uint32, err error) {
	end, err := s.begin()
	if err != nil {
		return dst, err
	}
	defer end(&err)
	if err := s.checkOrdinal(doc); err != nil {
		return dst, err
	}
	sp, err := s.span(docIndexSection, doc)
	if err != nil {
		return dst, err
	}
	data, err := s.bytes(docTermSection, sp.b, sp.endB-sp.b)
	if err != nil {
		return dst, err
	}
	out := dst
	c := cursor{b: data}
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		if id := c.uvarint(); !head {
			out = append(out, uint32(id))
		}
	}
	if head {
		id := 0
		for n := c.uvarint(); n > 0 && !c.bad; n-- {
			id += c.uvarint()
			out = append(out, uint32(id))
		}
	}
	if c.bad {
		return dst, s.damaged(docTermSection, sp.b)
	}
	return out, nil
}

// Prefixed returns the documents whose keys start with prefix: those from first
// up to, not including, last. One whose key is the prefix comes first.
func (s *Snapshot) Prefixed(prefix string) (first, last int, err error) {
	end, err := s.begin()
	if err != nil {
		return 0, 0, err
	}
	defer end(&err)
	first, err = s.searchKeys(0, func(key string) bool { return key >= prefix })
	if err != nil {
		return 0, 0, err
	}
	last, err = s.searchKeys(first, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	return first, last, err
}

// searchKeys returns the first document from lo on for whose key after holds;
// it holds for all that follow.
func (s *Snapshot) searchKeys(lo int, after func(key string) bool) (int, error) {
	for hi := s.header.docs; lo < hi; {
		mid := int(uint(lo+hi) / 2)
		data, at, err := s.record(mid)
		if err != nil {
			return 0, err
		}
		c := cursor{b: data}
		key := string(c.block())
		if c.bad {
			return 0, s.damaged(docSection, at)
		}
		if after(key) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo, nil
}
