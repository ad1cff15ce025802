package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// maxPlaces limits how many places the writer keeps in memory.
const maxPlaces = 1 << 12

// appendDocument encodes all that Doc returns and Facts does not: key, name and ID, the
// place, the folder, and the rest. The key comes first, because searchKeys reads it in
// place. A text that mostly equals another one takes one byte then, see appendOther.
func (w *writer) appendDocument(b []byte, d *Document) []byte {
	b = appendString(b, d.Key)
	b = appendOther(b, d.Name, d.Key)
	b = appendOther(b, d.ID, d.Name)

	// The folder is the last one of the path: path = dir + folder + file.
	upper, _ := path.Split(d.Path)
	dir, folder := path.Split(strings.TrimSuffix(upper, "/"))
	file := d.Path[len(dir)+len(folder):]
	root, ok := strings.CutSuffix(d.Location, filepath.FromSlash(d.Path))
	if !ok {
		root = ""
	}
	b = w.appendPlace(b, d.Source, root, dir, file)
	b = appendOther(b, folder, d.Name)
	b = appendOther(b, d.Location, filepath.FromSlash(root+d.Path))
	b = appendDigest(b, d.Digest)
	return append(b, d.Meta.Pack()...)
}

// appendPlace encodes what the skills of one folder have in common. The first of them holds
// it after a 0; the others hold the distance to the first.
func (w *writer) appendPlace(b []byte, texts ...string) []byte {
	var place []byte
	for _, s := range texts {
		place = appendString(place, s)
	}
	if first, ok := w.places[string(place)]; ok {
		return appendInt(b, w.h.docs-first)
	}
	if len(w.places) < maxPlaces {
		w.places[string(place)] = w.h.docs
	}
	return appendString(append(b, 0), string(place))
}

// appendOther encodes a text: 0 if it is the same text, otherwise its length plus 1 and its
// bytes.
func appendOther(b []byte, s, same string) []byte {
	if s == same {
		return append(b, 0)
	}
	return append(appendInt(b, len(s)+1), s...)
}

const digestPrefix = "sha256:"

// appendDigest encodes a digest: a 0 and its 32 bytes if it is digestPrefix and their
// hexadecimal form, otherwise its length plus 1 and its text.
func appendDigest(b []byte, digest string) []byte {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, digestPrefix))
	if err == nil && len(sum) == sha256.Size && digest == digestPrefix+hex.EncodeToString(sum) {
		return append(append(b, 0), sum...)
	}
	return append(appendInt(b, len(digest)+1), digest...)
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
	c := cursor{b: data}
	key, name, id := c.names()
	place, err := r.s.place(&c, doc)
	if err != nil {
		return Document{}, err
	}
	folder := c.other(name)
	var t texts
	t.Grow(len(data) + len(place.b) + 3*len(name) + sha256.Size) // enough for most documents
	d := Document{Row: facts.Row, Key: t.add(key), Hidden: facts.Hidden}
	d.Meta = skill.Meta{Name: t.add(name), ID: t.add(id), Source: t.add(place.block())}
	root := place.block()
	location := t.add(root, place.block(), folder, place.block())
	d.Path, d.Location = location[len(root):], filepath.FromSlash(location)
	if other := c.other(nil); other != nil { // the location does not end in the path
		d.Location = t.add(other)
	}
	d.Digest = t.digest(&c)
	if err := d.Unpack(t.add(c.b)); err != nil || c.bad || place.bad {
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

// names reads the first three texts of a record.
func (c *cursor) names() (key, name, id []byte) {
	key = c.block()
	name = c.other(key)
	return key, name, c.other(name)
}

// other reads what appendOther wrote.
func (c *cursor) other(same []byte) []byte {
	if n := c.uvarint(); n > 0 {
		return c.bytes(n - 1)
	}
	return same
}

// place reads what appendPlace wrote in the record of a document, and returns the texts.
func (s *Snapshot) place(c *cursor, doc int) (texts cursor, err error) {
	first := doc - c.uvarint()
	if first == doc {
		return cursor{b: c.block()}, nil
	}
	if first < 0 {
		return texts, s.damaged(docSection, 0)
	}
	data, at, err := s.record(first)
	if err != nil {
		return texts, err
	}
	o := cursor{b: data}
	o.names()
	if o.uvarint() != 0 {
		return texts, s.damaged(docSection, at)
	}
	return cursor{b: o.block()}, nil
}

// texts collects the strings of a document, so that they share one allocation.
type texts struct{ strings.Builder }

// add returns the parts as one string.
func (t *texts) add(parts ...[]byte) string {
	from := t.Len()
	for _, b := range parts {
		t.Write(b)
	}
	return t.String()[from:]
}

// digest reads what appendDigest wrote.
func (t *texts) digest(c *cursor) string {
	from := t.Len()
	if n := c.uvarint(); n > 0 {
		return t.add(c.bytes(n - 1))
	}
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], c.bytes(sha256.Size))
	t.WriteString(digestPrefix)
	t.Write(digits[:])
	return t.String()[from:]
}

// names returns the key and the ID of a document, as parts of the mapping.
func (s *Snapshot) names(doc int) (key, id []byte, err error) {
	data, at, err := s.record(doc)
	if err != nil {
		return nil, nil, err
	}
	c := cursor{b: data}
	if key, _, id = c.names(); c.bad {
		err = s.damaged(docSection, at)
	}
	return key, id, err
}

// Key returns the key of a document.
func (r *Reader) Key(doc int) (string, error) {
	key, _, err := r.s.names(doc)
	return string(key), err
}

// AppendRef appends the ID of a document to dst.
func (r *Reader) AppendRef(dst []byte, doc int) ([]byte, error) {
	_, id, err := r.s.names(doc)
	return append(dst, id...), err
}

// HeadTerms appends up to three ascending lists of term IDs to dst: the terms of a
// document's name, with repetitions, of the visible part of its description, and of its
// tags. lists is the number of lists; ends are the positions in ids after each list.
func (r *Reader) HeadTerms(dst []uint32, doc, lists int) (ids []uint32, ends [3]int, err error) {
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
		for n := c.uvarint(); n > 0 && !c.bad; n-- {
			// Nearly all differences take one or two bytes. Decoding these
			// without a call halves the time.
			id := last
			switch b := c.b; {
			case len(b) > 0 && b[0] < 0x80:
				id, c.b = id+int(b[0]), b[1:]
			case len(b) > 1 && b[1] < 0x80:
				id, c.b = id+(int(b[0]&0x7f)|int(b[1])<<7), b[2:]
			default:
				id += c.uvarint()
			}
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
	from := func(lo int, after func(key []byte) bool) int {
		return lo + sort.Search(r.s.header.docs-lo, func(i int) bool {
			key, _, e := r.s.names(lo + i)
			err = cmp.Or(err, e)
			return e != nil || after(key)
		})
	}
	first = from(0, func(key []byte) bool { return string(key) >= prefix })
	last = from(first, func(key []byte) bool { return string(key[:min(len(key), len(prefix))]) != prefix })
	return first, last, err
}
