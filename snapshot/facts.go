package snapshot

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Facts are the short fields of a document, in a record of fixed size.
type Facts struct {
	Row    int64 // row in the catalog
	Tokens int   // length of the body
	Hidden bool

	// Hashes of the digest and of the description without repetitions. Different
	// hashes mean different texts; if hashes are equal, compare the texts.
	Digest, Description uint64
}

const factSize = 32

// factsOf returns the facts of a document.
func factsOf(d *Document) Facts {
	return Facts{d.Row, d.Tokens, d.Hidden, words.Hash(d.Digest), words.Hash(words.Once(d.Description))}
}

func appendFacts(b []byte, f *Facts) []byte {
	hidden := byte(0)
	if f.Hidden {
		hidden = 1
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Row))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Tokens))
	b = append(b, hidden, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, f.Digest)
	return binary.LittleEndian.AppendUint64(b, f.Description)
}

// Facts returns the facts of a document.
func (r *Reader) Facts(doc int) (Facts, error) {
	if err := r.s.checkOrdinal(doc); err != nil {
		return Facts{}, err
	}
	b, err := r.s.bytes(factSection, doc*factSize, factSize)
	if err != nil {
		return Facts{}, err
	}
	return Facts{
		Row:         int64(binary.LittleEndian.Uint64(b)),
		Tokens:      int(binary.LittleEndian.Uint32(b[8:])),
		Hidden:      b[12] != 0,
		Digest:      binary.LittleEndian.Uint64(b[16:]),
		Description: binary.LittleEndian.Uint64(b[24:]),
	}, nil
}

// appendSketch appends the sketch of a document, zeros for none.
func appendSketch(b []byte, s []byte) []byte {
	var room [words.SketchSize]byte
	copy(room[:], s)
	return append(b, room[:]...)
}

// Sketch returns the sketch of a document's body. It is valid as long as the Reader.
func (r *Reader) Sketch(doc int) (words.Sketch, error) {
	if err := r.s.checkOrdinal(doc); err != nil {
		return nil, err
	}
	return r.s.bytes(sketchSection, doc*words.SketchSize, words.SketchSize)
}

// The section holds the ordinals of all documents, sorted by row of the catalog.
const rowEntrySize = 4

// rowEntry is a row and the ordinal of its document.
type rowEntry struct {
	row int64
	doc uint32
}

func appendRows(b []byte, rows []rowEntry) []byte {
	slices.SortFunc(rows, func(a, b rowEntry) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.doc, b.doc))
	})
	for _, e := range rows {
		b = binary.LittleEndian.AppendUint32(b, e.doc)
	}
	return b
}

// ordinals returns the documents of those rows that the snapshot has.
func (r *Reader) ordinals(rows []int64) (docs Skills, err error) {
	for _, row := range rows {
		doc, ok, err := r.Ordinal(row)
		if err != nil {
			return nil, err
		}
		if ok {
			docs.Add(doc)
		}
	}
	return docs, nil
}

// Ordinal returns the document of a row in the catalog, the first if there are several; ok
// is false if there is none.
func (r *Reader) Ordinal(row int64) (doc int, ok bool, err error) {
	docs := r.s.header.docs
	ordinal := func(i int) int {
		b, e := r.s.bytes(rowSection, rowEntrySize*i, rowEntrySize)
		if e == nil {
			if doc := int(binary.LittleEndian.Uint32(b)); doc < docs {
				return doc
			}
			e = r.s.damaged(rowSection, rowEntrySize*i)
		}
		err = cmp.Or(err, e)
		return 0
	}
	i, ok := sort.Find(docs, func(i int) int {
		f, e := r.Facts(ordinal(i))
		err = cmp.Or(err, e)
		return cmp.Compare(row, f.Row)
	})
	if !ok || err != nil {
		return 0, false, err
	}
	return ordinal(i), true, err
}
