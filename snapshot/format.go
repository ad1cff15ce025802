package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// The file, little-endian:
//
//	header   the fields of fixed, the name of the model, a CRC-32 of each block of
//	         data; zeros up to a multiple of 64 bytes; a CRC-32 of the header before it
//	data     the sections, each at a multiple of 64 bytes
//
// The checksums of the blocks are in the header, so that the header's own checksum covers
// everything that Open relies on.
const (
	magic     = "skills\x00\x01"
	version   = 13 + uint32(Spaces) // with another space the header is another one
	blockSize = 16 << 10
	align     = 64
	minHeader = align
	maxDim    = 1 << 13
)

// formatVersion is in each file. It grows with every new field of a skill, too.
func formatVersion() uint32 { return version<<8 | uint32(skill.MetaVersion()) }

// A section is one of the parts of the data.
type section int

const (
	docSection      section = iota // records of documents, see docs.go
	docTermSection                 // term IDs of documents
	docIndexSection                // offsets of each document in both sections above
	factSection                    // short fields of documents, see facts.go
	sketchSection                  // sketches of bodies
	rowSection                     // documents by row of the catalog
	hiddenSection                  // documents that are hidden
	reservedSection                // documents that only the user starts
	dictSection                    // terms, front-coded in groups, see dict.go
	postingSection                 // posting lists, see postings.go
	groupSection                   // offsets of each group of terms in both sections above
	tagSection                     // documents by tag, see bitmap.go
	sourceSection                  // documents by source
	vectorSections                 // of each space four: int8 vectors, see vectors.go; the documents that have them; 2-bit vectors, see codes.go: first bits, second bits

	triggerSection = iota + 4*section(Spaces) - 1 // documents by trigger phrase, see triggers.go
	patternSection = triggerSection + 1           // trigger patterns
	exampleSection = triggerSection + 2           // vectors of examples, see examples.go
	familySection  = triggerSection + 3           // families of copies, see family.go
	extraSection   = triggerSection + 4           // Meta.Extra
	sections       = triggerSection + 5
)

// fixed are the fields of the header that have a fixed size.
type fixed struct {
	Magic         [len(magic)]byte
	Version, Size uint32 // Size of the header
	Data          uint64 // size of the data
	Generation    store.Generation
	Dims          [Spaces]uint32
	Docs, Terms   uint32
	Models        [Spaces]uint32 // lengths of their names
	Weights       skill.Weights
	MeanLength    float64
	Sizes         [sections]uint64
}

var fixedSize = binary.Size(fixed{})

type header struct {
	meta  Meta // without Extra
	docs  int
	terms int
	sizes [sections]int // in bytes
	sums  []byte        // CRC-32 of the blocks, 4 bytes each

	starts [sections]int // offset of each section in the file
	data   int           // offset of the data in the file
	end    int           // size of the file
}

func (h *header) blocks() int { return (h.end - h.data + blockSize - 1) / blockSize }

// crcTable is the table of the IEEE polynomial. Castagnoli's table takes .2 ms to make, a
// fortieth of the time of a hook.
var crcTable = crc32.IEEETable

func roundUp(n int) int { return (n + align - 1) / align * align }

// place computes the offsets of the sections from their sizes.
func (h *header) place() {
	size := 0
	for i, n := range h.sizes {
		h.starts[i] = roundUp(size)
		size = h.starts[i] + n
	}
	blocks := (size + blockSize - 1) / blockSize
	h.data = roundUp(h.sumsAt() + 4*blocks + 4)
	h.end = h.data + size
	for i := range h.starts {
		h.starts[i] += h.data
	}
}

// sumsAt returns the offset of the blocks' checksums.
func (h *header) sumsAt() int {
	at := fixedSize
	for _, m := range h.meta.Models {
		at += len(m.Name)
	}
	return at
}

// encode returns the header. The sections must be placed and their checksums known.
func (h *header) encode() []byte {
	m := &h.meta
	f := fixed{
		Magic: [len(magic)]byte([]byte(magic)), Version: formatVersion(), Size: uint32(h.data), Data: uint64(h.end - h.data), Generation: m.Generation,
		Docs: uint32(h.docs), Terms: uint32(h.terms), Weights: m.Weights, MeanLength: m.MeanLength,
	}
	var names []byte
	for s, m := range m.Models {
		f.Dims[s], f.Models[s], names = uint32(m.Dim), uint32(len(m.Name)), append(names, m.Name...)
	}
	for i, n := range h.sizes {
		f.Sizes[i] = uint64(n)
	}
	b, _ := binary.Append(nil, binary.LittleEndian, &f) // fails only for types of no fixed size
	b = append(b, names...)
	b = append(b, h.sums...)
	b = append(b, make([]byte, h.data-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}

// decode reads the header of a file and checks that it fits the file.
func (h *header) decode(file []byte) error {
	if !bytes.HasPrefix(file, []byte(magic)) {
		return errors.New("not a snapshot")
	}
	var f fixed
	_, err := binary.Decode(file, binary.LittleEndian, &f)
	switch {
	case err == nil && f.Version != formatVersion():
		return fmt.Errorf("version %d, want %d", f.Version, formatVersion())
	case err != nil || int64(f.Size) < int64(fixedSize+4) || int64(f.Size) > int64(len(file)) || f.Size%align != 0:
		return errors.New("header ends early")
	}
	h.data, h.end = int(f.Size), len(file)
	body := cursor{b: file[:h.data-4]}
	if crc32.Checksum(body.b, crcTable) != binary.LittleEndian.Uint32(file[h.data-4:]) {
		return errors.New("checksum of the header is wrong")
	}
	if f.Data != uint64(h.end-h.data) {
		return fmt.Errorf("the file has %d bytes of data, its header says %d", h.end-h.data, f.Data)
	}
	at := h.data
	for i, n := range f.Sizes {
		if n > uint64(h.end-at) {
			return fmt.Errorf("section %d reaches beyond the file", i)
		}
		h.sizes[i], h.starts[i] = int(n), at
		at = min(roundUp(at+int(n)), h.end)
	}
	body.bytes(fixedSize)
	h.docs, h.terms = int(f.Docs), int(f.Terms)
	h.meta = Meta{Generation: f.Generation, Weights: f.Weights, MeanLength: f.MeanLength}
	for s := range h.meta.Models {
		h.meta.Models[s] = Model{string(body.bytes(int(f.Models[s]))), int(f.Dims[s])}
	}
	if h.sums = slices.Clone(body.bytes(4 * h.blocks())); body.bad {
		return errors.New("header ends early")
	}
	return h.checkCounts()
}

// checkCounts checks that the sizes of the sections match the counts, so that a wrong
// count cannot ask for more memory than the file has bytes.
func (h *header) checkCounts() error {
	groups := (h.terms + groupSize - 1) / groupSize
	switch {
	case h.docs < 0 || h.terms < 0:
		return errors.New("counts are out of range")
	case h.sizes[docIndexSection] != (h.docs+1)*spanSize || h.sizes[groupSection] != (groups+1)*groupEntrySize:
		return errors.New("the size of an index does not match its count")
	case h.sizes[factSection] != h.docs*factSize || h.sizes[rowSection] != h.docs*rowEntrySize:
		return errors.New("the size of the facts does not match their count")
	case h.sizes[sketchSection] != h.docs*words.SketchSize:
		return errors.New("the size of the sketches does not match their count")
	case h.sizes[familySection]%familyEntrySize != 0:
		return errors.New("the size of the families does not match their count")
	}
	for s := range Spaces {
		dim := h.meta.Models[s].Dim
		switch {
		case dim < 0 || dim > maxDim:
			return errors.New("counts are out of range")
		case h.sizes[s.rows()] != h.docs*s.rowSize(dim) || h.sizes[s.vectored()] != (h.docs+63)/64*8,
			h.sizes[s.firstCodes()] != h.docs*codeSize(dim), h.sizes[s.secondCodes()] != h.sizes[s.firstCodes()]:
			return errors.New("the size of the vectors does not match their count")
		}
	}
	return nil
}

// bytes returns n bytes at an offset of a section, as part of the mapping. It checks the
// blocks that hold them first.
func (s *Snapshot) bytes(sec section, off, n int) ([]byte, error) {
	size := s.header.sizes[sec]
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, s.damaged(sec, off)
	}
	from := s.header.starts[sec] + off
	if n > 0 {
		last := (from + n - 1 - s.header.data) / blockSize
		for b := (from - s.header.data) / blockSize; b <= last; b++ {
			if s.checked[b/32].Load()>>(b%32)&1 == 0 {
				if err := s.check(b); err != nil {
					return nil, err
				}
			}
		}
	}
	return s.file[from : from+n : from+n], nil
}

// check compares a block with its checksum.
func (s *Snapshot) check(b int) error {
	from := s.header.data + b*blockSize
	sum := crc32.Checksum(s.file[from:min(from+blockSize, s.header.end)], crcTable)
	if sum != binary.LittleEndian.Uint32(s.header.sums[4*b:]) {
		return fmt.Errorf("%s: checksum of the %d bytes at %d is wrong: %w", s.name, blockSize, from, ErrDamaged)
	}
	s.checked[b/32].Or(1 << (b % 32))
	return nil
}

// damaged returns the error for data that Write cannot have written, although the checksum
// is right.
func (s *Snapshot) damaged(sec section, off int) error {
	return fmt.Errorf("%s: byte %d (section %d) is not valid: %w", s.name, s.header.starts[sec]+off, sec, ErrDamaged)
}

// A span is one entry of an index: the start and the end of its element in two sections.
type span struct{ a, b, endA, endB int }

const spanSize = 16

func appendSpan(data []byte, a, b int) []byte {
	data = binary.LittleEndian.AppendUint64(data, uint64(a))
	return binary.LittleEndian.AppendUint64(data, uint64(b))
}

func (s *Snapshot) span(sec section, i int) (span, error) {
	b, err := s.bytes(sec, i*spanSize, 2*spanSize)
	if err != nil {
		return span{}, err
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint64(b[8*i:])) }
	return span{at(0), at(1), at(2), at(3)}, nil
}

// A cursor reads values from the front of b. After the first error, bad stays true and
// every value is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.b, c.bad = nil, true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

// uvarint reads a count or a length. It must fit an int32.
func (c *cursor) uvarint() int {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := int(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > math.MaxInt32 {
		c.b, c.bad = nil, true
		return 0
	}
	c.b = c.b[n:]
	return int(v)
}

// block reads a length and as many bytes.
func (c *cursor) block() []byte { return c.bytes(c.uvarint()) }

func appendInt(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendString(b []byte, s string) []byte { return append(appendInt(b, len(s)), s...) }
