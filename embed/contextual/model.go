package contextual

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// The format of a model; all numbers are little-endian, and all parts but rows and matrices
// begin at a multiple of 4 bytes:
//
//	magic     8 bytes "RPCTXT02"
//	sizes     [9]uint32: hidden, layers, heads, inner, positions, pieces, name (its length), and
//	          the rows of the pieces [UNK] and [CLS]; that of [SEP] follows [CLS]
//	digest    first 8 bytes of the SHA-256 of everything after the header
//	name      padded with zeros to a multiple of 4
//	index     [4097]uint32: for each prefix (high bits of a hash), the number of pieces with a
//	          lower prefix
//	hashes    [pieces]uint32: the next 32 bits of each hash, sorted by hash
//	scales    [pieces]float32
//	rows      [pieces][hidden/2]byte: (number - 8) × the row's scale is an element of a piece's vector,
//	          the first of two numbers in the low 4 bits
//	positions [positions][hidden]float32: what a position adds to it
//	norm      of the sum of the two
//	layers, each of them: attend (hidden to 3 × hidden: queries, keys, values), join (hidden to
//	          hidden), norm, up (hidden to inner), down (inner to hidden), norm
//
// A norm is weights and biases, [hidden]float32 each. A matrix from n to m numbers is
//
//	smooth    [n]float32: what the inputs are multiplied by before they are rounded
//	scales    [m]float32
//	biases    [m]float32
//	weights   n × m bytes, see kernel.go: (weight - 64) × the output's scale
//	          is an element of the matrix
const (
	magic      = "RPCTXT02"
	sizes      = 9
	headerSize = 8 + 4*sizes + 8
	prefixBits = 12
)

// shape is how large a model is.
type shape struct {
	hidden, layers, heads, inner, positions, pieces int
}

// model is an open model. Its fields are parts of the data, not copies.
type model struct {
	shape
	name           string // name and digest of the model
	unknown, first int    // rows of [UNK] and [CLS]
	index, hashes  string
	scales, rows   string
	places         string
	norm           layerNorm
	layer          []layer
}

type layer struct {
	attend, join matrix
	joined       layerNorm // of what join adds
	up, down     matrix
	out          layerNorm
}

type layerNorm struct{ weights, biases []float32 }

// A matrix turns n numbers into m.
type matrix struct {
	n, m           int
	smooth         []float32
	scales, biases []float32
	weights        *byte
}

// ErrModel means that the data is not a model of this version.
var ErrModel = errors.New("not a model of a contextual encoder")

// open reads the header of a model and cuts it into its parts.
func open(data string) (*model, error) {
	if len(data) < headerSize || data[:8] != magic {
		return nil, ErrModel
	}
	h := func(i int) int { return int(u32(data[8:], i)) }
	m := &model{shape: shape{h(0), h(1), h(2), h(3), h(4), h(5)}, unknown: h(7), first: h(8)}
	nameLen := h(6)
	if err := m.check(); err != nil || nameLen > 1<<8 || m.unknown >= m.pieces || m.first+1 >= m.pieces {
		return nil, errors.Join(fmt.Errorf("%w: its header makes no sense", ErrModel), err)
	}
	r := &reader{rest: data[headerSize:]}
	if m.name = r.bytes(padded(nameLen)); !r.short {
		m.name = fmt.Sprintf("contextual %s %x", m.name[:nameLen], data[headerSize-8:headerSize])
	}
	m.index, m.hashes = r.bytes(4*(1<<prefixBits+1)), r.bytes(4*m.pieces)
	m.scales, m.rows = r.bytes(4*m.pieces), r.bytes(m.pieces*m.hidden/2)
	m.places, m.norm = r.bytes(4*m.positions*m.hidden), r.norm(m.hidden)
	for range m.layers {
		m.layer = append(m.layer, layer{
			r.matrix(m.hidden, 3*m.hidden), r.matrix(m.hidden, m.hidden), r.norm(m.hidden),
			r.matrix(m.hidden, m.inner), r.matrix(m.inner, m.hidden), r.norm(m.hidden),
		})
	}
	switch {
	case r.short:
		return nil, fmt.Errorf("%w: it ends early", ErrModel)
	case r.rest != "":
		return nil, fmt.Errorf("%w: %d bytes too many", ErrModel, len(r.rest))
	}
	return m, nil
}

// maxHead is the greatest size of a head.
const maxHead = 128

func (s shape) headSize() int { return s.hidden / s.heads }

// check says what is wrong with a shape.
func (s shape) check() error {
	for _, n := range []int{s.hidden, s.layers, s.heads, s.inner, s.positions} {
		if n < 1 || n > 1<<13 {
			return fmt.Errorf("size %d is not between 1 and %d", n, 1<<13)
		}
	}
	switch size := s.headSize(); {
	case s.pieces < 3 || s.pieces > 1<<20:
		return fmt.Errorf("%d pieces", s.pieces)
	case s.hidden%s.heads != 0 || size%tile != 0 || size > maxHead || s.inner%tile != 0:
		return fmt.Errorf("%d numbers and %d between, in %d heads: each must be a multiple of %d, a head at most %d", s.hidden, s.inner, s.heads, tile, maxHead)
	case s.positions < 4 || s.positions > 512:
		return fmt.Errorf("%d positions", s.positions)
	}
	return nil
}

func padded(n int) int { return roundUp(n, 4) }

// u32 returns the i-th uint32 in s.
func u32(s string, i int) uint32 {
	s = s[4*i : 4*i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func f32(s string, i int) float32 { return math.Float32frombits(u32(s, i)) }

// A reader takes the parts of a model off its rest. After the end they are empty.
type reader struct {
	rest  string
	short bool
}

func (r *reader) bytes(n int) string {
	if len(r.rest) < n {
		r.short = true
		return ""
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

// floats are copied, because they may lie at an odd address; they are few.
func (r *reader) floats(n int) []float32 {
	part := r.bytes(4 * n)
	list := make([]float32, len(part)/4)
	for i := range list {
		list[i] = f32(part, i)
	}
	return list
}

func (r *reader) norm(n int) layerNorm { return layerNorm{r.floats(n), r.floats(n)} }

func (r *reader) matrix(n, m int) matrix {
	w := matrix{n: n, m: m, smooth: r.floats(n), scales: r.floats(m), biases: r.floats(m)}
	if weights := r.bytes(n * m); !r.short {
		w.weights = unsafe.StringData(weights)
	}
	return w
}

// lookup finds the row of a piece by its hash. The high bits choose a short run of hashes.
func (m *model) lookup(hash uint64) (int, bool) {
	prefix, want := int(hash>>(64-prefixBits)), uint32(hash>>(32-prefixBits))
	end := min(int(u32(m.index, prefix+1)), m.pieces)
	for i := int(u32(m.index, prefix)); i < end; i++ {
		if u32(m.hashes, i) == want {
			return i, true
		}
	}
	return 0, false
}
