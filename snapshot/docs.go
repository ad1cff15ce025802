package snapshot

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// appendDocument encodes all that Doc returns and Facts does not. The key comes first,
// because searchKeys reads it in place.
func appendDocument(b []byte, d *Document) []byte {
	b = appendString(b, d.Key)
	for _, s := range []string{d.ID, d.Name, d.Description, d.Source, d.Location, d.Path, d.Digest, d.TextDigest} {
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

// appendDocTerms encodes the term IDs of a document in three ascending lists: the terms of
// its name, with repetitions, of the visible part of its description, and of its tags.
func appendDocTerms(b []byte, lists *[3][]uint32) []byte {
	for i, list := range lists {
		b = appendInt(b, len(list))
		last := uint32(0)
		for _, id := range list {
			b = appendInt(b, int(id-last))
			if i > 0 {
				last = id
			}
		}
	}
	return b
}

// readDocTerms reads what appendDocTerms wrote, and replaces each ID by its entry in ids.
func readDocTerms(r io.ByteReader, lists *[3][]uint32, ids []uint32) error {
	for i := range lists {
		n, err := binary.ReadUvarint(r)
		last := uint64(0)
		for lists[i] = lists[i][:0]; n > 0 && err == nil; n-- {
			var id uint64
			if id, err = binary.ReadUvarint(r); err != nil {
				break
			}
			id += last
			if id >= uint64(len(ids)) {
				return fmt.Errorf("term %d of %d", id, len(ids))
			}
			if i > 0 {
				last = id
			}
			lists[i] = append(lists[i], ids[id])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) checkOrdinal(doc int) error {
	if doc < 0 || doc >= s.header.docs {
		return fmt.Errorf("%s: no document %d, there are %d", s.name, doc, s.header.docs)
	}
	return nil
}

// Doc returns a document without its terms and vectors. Its strings are copies.
func (r *Reader) Doc(doc int) (Document, error) {
	facts, err := r.Facts(doc)
	if err != nil {
		return Document{}, err
	}
	data, at, err := r.s.record(doc)
	if err != nil {
		return Document{}, err
	}
	d := Document{Meta: skill.Meta{Tokens: facts.Tokens}, Row: facts.Row, Hidden: facts.Hidden}
	c := textCursor{cursor{b: data}, string(data)}
	for _, field := range []*string{&d.Key, &d.ID, &d.Name, &d.Description, &d.Source, &d.Location, &d.Path, &d.Digest, &d.TextDigest} {
		*field = c.string()
	}
	d.Tags, d.Requires = c.strings(), c.strings()
	if c.bad {
		return Document{}, r.s.damaged(docSection, at)
	}
	return d, nil
}

// record returns the record of a document and its offset.
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

// A textCursor is a cursor with a copy of its bytes as text, so that all strings of a
// record share one allocation.
type textCursor struct {
	cursor
	text string
}

func (c *textCursor) string() string {
	n := c.uvarint()
	at := len(c.text) - len(c.b)
	if c.bytes(n) == nil {
		return ""
	}
	return c.text[at : at+n]
}

func (c *textCursor) strings() []string {
	var list []string
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		list = append(list, c.string())
	}
	return list
}

// Key returns the key of a document.
func (r *Reader) Key(doc int) (string, error) {
	data, at, err := r.s.record(doc)
	if err != nil {
		return "", err
	}
	c := cursor{b: data}
	key := string(c.block())
	if c.bad {
		return "", r.s.damaged(docSection, at)
	}
	return key, nil
}

// AppendRef appends the ID of a document to dst.
func (r *Reader) AppendRef(dst []byte, doc int) ([]byte, error) {
	data, at, err := r.s.record(doc)
	if err != nil {
		return dst, err
	}
	c := cursor{b: data}
	c.block() // the key
	ref := c.block()
	if c.bad {
		return dst, r.s.damaged(docSection, at)
	}
	return append(dst, ref...), nil
}

// NameTerms appends the IDs of the terms of a document's name to dst, ascending, with
// repetitions.
func (r *Reader) NameTerms(dst []uint32, doc int) ([]uint32, error) {
	ids, _, err := r.docTerms(dst, doc, 1)
	return ids, err
}

// HeadTerms appends three ascending lists of term IDs to dst: the terms of a document's
// name, with repetitions, of the visible part of its description, and of its tags. ends
// are the positions in ids after each list.
func (r *Reader) HeadTerms(dst []uint32, doc int) (ids []uint32, ends [3]int, err error) {
	return r.docTerms(dst, doc, 3)
}

// docTerms reads the first lists of term IDs; lists is their number.
func (r *Reader) docTerms(dst []uint32, doc, lists int) (ids []uint32, ends [3]int, err error) {
	s := r.s
	if err := s.checkOrdinal(doc); err != nil {
		return dst, ends, err
	}
	sp, err := s.span(docIndexSection, doc)
	if err != nil {
		return dst, ends, err
	}
	data, err := s.bytes(docTermSection, sp.b, sp.endB-sp.b)
	if err != nil {
		return dst, ends, err
	}
	ids = slices.Grow(dst, min(len(data), 256))
	c := cursor{b: data}
	for i := range lists {
		last := 0
		n := c.uvarint()
		for ; n > 0 && len(c.b) >= 3; n-- {
			// Nearly all differences take one or two bytes. Decoding these
			// without a call halves the time.
			id := last
			switch b := c.b; {
			case b[0] < 0x80:
				id, c.b = id+int(b[0]), b[1:]
			case b[1] < 0x80:
				id, c.b = id+(int(b[0]&0x7f)|int(b[1])<<7), b[2:]
			default:
				id += c.uvarint()
			}
			ids = append(ids, uint32(id))
			if i > 0 {
				last = id
			}
		}
		for ; n > 0 && !c.bad; n-- {
			id := last + c.uvarint()
			ids = append(ids, uint32(id))
			if i > 0 {
				last = id
			}
		}
		ends[i] = len(ids)
	}
	if c.bad {
		return dst, ends, s.damaged(docTermSection, sp.b)
	}
	return ids, ends, nil
}

// Prefixed returns the documents whose keys start with prefix: first up to, but not
// including, last. A document whose key equals prefix comes first.
func (r *Reader) Prefixed(prefix string) (first, last int, err error) {
	first, err = r.s.searchKeys(0, func(key string) bool { return key >= prefix })
	if err != nil {
		return 0, 0, err
	}
	last, err = r.s.searchKeys(first, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	return first, last, err
}

// searchKeys returns the first document from lo on for whose key after is true; after must
// be true for all later keys as well.
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
