package static

import (
	"errors"
	"fmt"
	"math"
)

// The format of a model; all numbers are little-endian:
//
//	magic    8 bytes "RPSTATC2"
//	dim      uint32  dimension of the vectors, even
//	words    uint32  number of known words
//	buckets  uint32  number of rows that the 4-grams of unknown words share
//	name     uint32  length of the name that follows the header
//	digest   first 8 bytes of the SHA-256 of everything after the header
//	name     padded with zeros to a multiple of 4
//	index    [65537]uint32  for each prefix (high bits of a hash), the number of words
//	         with a lower prefix
//	hashes   [words]uint32  the next 32 bits of each hash, sorted by hash
//	scales   [words+buckets]float32
//	rows     [words+buckets][dim/2]byte  two numbers in a byte, the first in the low
//	         half; (number - 8) × the row's scale is an element of the vector
const (
	magic      = "RPSTATC2"
	headerSize = 32
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
	if m.dim < 2 || m.dim%2 != 0 || m.dim > 1<<12 || m.words > most || m.buckets < 1 || m.buckets > most || nameLen > 1<<8 {
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

// add adds a row to v. A row below 0 means the bucket -1-row.
func (m *model) add(v []float32, row int) {
	if row < 0 {
		row = m.words - 1 - row
	}
	scale := math.Float32frombits(u32(m.scales, row))
	var levels [16]float32
	for i := range levels {
		levels[i] = scale * float32(i-offset4)
	}
	weights := m.rows[row*m.dim/2:][:m.dim/2]
	for i := range len(weights) {
		two := v[2*i : 2*i+2]
		two[0] += levels[weights[i]&15]
		two[1] += levels[weights[i]>>4]
	}
}
