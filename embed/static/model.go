package static

import (
	"errors"
	"fmt"
	"math"

	"github.com/repertoire-skills/repertoire/embed"
)

// The format of a model; all numbers are little-endian:
//
//	magic    8 bytes "RPSTATC2"
//	dim      uint32  dimension of the vectors, a multiple of 16
//	words    uint32  number of known words
//	buckets  uint32  number of rows that the 4-grams of unknown words share
//	name     uint32  length of the name that follows the header
//	digest   first 8 bytes of the SHA-256 of everything after the header
//	name     padded with zeros to a multiple of 4
//	index    [65537]uint32  for each prefix (high bits of a hash), the number of words
//	         with a lower prefix
//	hashes   [words]uint32  the next 32 bits of each hash, sorted by hash
//	scales   [words+buckets]float32, from 0 to 1/16
//	rows     [words+buckets][dim/2]byte  two numbers in a byte, the first in the low
//	         half; (number - 8) × the row's scale is an element of the vector
const (
	magic      = "RPSTATC2"
	headerSize = 32
	dimUnit    = 16
	prefixBits = 16
	offset4    = 8 // added to a level to store it in 4 bits
	maxLevel   = 7
)

// model is an open model. Its fields are parts of the data, not copies.
type model struct {
	name    string // name and digest of the model
	dim     int
	words   int
	buckets int
	index   string
	hashes  string
	scales  string
	rows    string
}

// ErrModel means that the weights are not a model of this version.
var ErrModel = errors.New("not a model of static word vectors")

func open(data string) (*model, error) {
	if len(data) < headerSize || data[:8] != magic {
		return nil, ErrModel
	}
	m := &model{dim: int(u32(data, 2)), words: int(u32(data, 3)), buckets: int(u32(data, 4))}
	nameLen := int(u32(data, 5))
	const most = 1 << 24 // keeps sizes from overflowing
	if m.dim < 1 || m.dim%dimUnit != 0 || m.dim > 1<<12 || m.words > most || m.buckets < 1 || m.buckets > most || nameLen > 1<<8 {
		return nil, fmt.Errorf("%w: its header makes no sense", ErrModel)
	}
	rest := data[headerSize:]
	n := m.words + m.buckets
	parts := []*string{&m.name, &m.index, &m.hashes, &m.scales, &m.rows}
	for i, size := range []int{padded(nameLen), 4 * (1<<prefixBits + 1), 4 * m.words, 4 * n, m.dim / 2 * n} {
		if len(rest) < size {
			return nil, fmt.Errorf("%w: it ends early", ErrModel)
		}
		*parts[i], rest = rest[:size], rest[size:]
	}
	if rest != "" {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrModel, len(rest))
	}
	m.name = fmt.Sprintf("static %s %x", m.name[:nameLen], data[24:32])
	return m, nil
}

func padded(n int) int { return (n + 3) &^ 3 }

// u32 returns the i-th uint32 in s.
func u32(s string, i int) uint32 {
	s = s[4*i : 4*i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// lookup finds the row of a word by its hash. The high bits choose a short run of hashes.
// No two words of a model agree in all 48 bits, and of millions of unknown words, about
// one is taken for a known one.
func (m *model) lookup(hash uint64) (int, bool) {
	prefix, want := int(hash>>(64-prefixBits)), uint32(hash>>16)
	// Stay within the hashes even if the index is damaged.
	end := min(int(u32(m.index, prefix+1)), m.words)
	for i := int(u32(m.index, prefix)); i < end; i++ {
		if u32(m.hashes, i) == want {
			return i, true
		}
	}
	return 0, false
}

// A sum adds up rows of weights, in integers: that is faster than with floats, and the
// order of the rows does not matter. Each lane has two elements, one in each half: of 8
// bytes of a row, lane k has the numbers at bit 4k and at bit 4k+32.
type sum struct {
	lanes []uint64
	scale uint64       // sum of the scales since spill was called
	total embed.Vector // what spill took out of the lanes
}

const (
	// one is the scale 1 in a sum. With it, a scale has 16 significant bits in the
	// built-in model.
	one = 1 << 24
	// maxScale bounds the scales of a model, so that many rows fit into a lane. Encode
	// makes all vectors shorter if they need it: only their direction counts.
	maxScale = 1. / 16
	laneBits = 32
)

// add adds a row. A row below 0 means the bucket -1-row.
func (m *model) add(s *sum, row int) {
	if row < 0 {
		row = m.words - 1 - row
	}
	// A damaged scale counts as the greatest.
	scale := min(uint64(math.Float32frombits(u32(m.scales, row))*one), maxScale*one)
	if s.scale += scale; s.scale*15 >= 1<<laneBits {
		s.spill(scale)
	}
	const mask = 0x0000000f_0000000f
	weights := m.rows[row*m.dim/2:][:m.dim/2]
	for lanes := s.lanes; len(lanes) >= 8 && len(weights) >= 8; lanes, weights = lanes[8:], weights[8:] {
		a, w := (*[8]uint64)(lanes), uint64(u32(weights, 0))|uint64(u32(weights, 1))<<32
		a[0] += (w & mask) * scale
		a[1] += (w >> 4 & mask) * scale
		a[2] += (w >> 8 & mask) * scale
		a[3] += (w >> 12 & mask) * scale
		a[4] += (w >> 16 & mask) * scale
		a[5] += (w >> 20 & mask) * scale
		a[6] += (w >> 24 & mask) * scale
		a[7] += (w >> 28 & mask) * scale
	}
}

// spill moves the numbers in the lanes to the total, so that no lane overflows; scale is
// the scale of the row that is added next.
func (s *sum) spill(scale uint64) {
	offset := float32((s.scale - scale) * offset4) // of every number in the lanes
	for k, lane := range s.lanes {
		at := k/8*16 + k%8
		s.total[at] += float32(uint32(lane)) - offset
		s.total[at+8] += float32(lane>>laneBits) - offset
		s.lanes[k] = 0
	}
	s.scale = scale
}
