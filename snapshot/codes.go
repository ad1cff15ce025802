package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The code of a document has 2 bits for each value of the sum of its vectors, because
// Nearest ranks by this sum. The first bit is the sign; the second bit says whether the
// value is in the upper half of its side. So the codes mean -3, -1, 1 and 3. The first
// bits of all documents are stored before all second bits, in quads of four 64-bit words.
//
// A prompt's values are rounded to 3 bits, each bit in a plane of its own, so that
// comparing a prompt with a code means counting bits.
const (
	planes    = 3
	quadWords = 4
	quadSize  = 8 * quadWords

	// The step of the prompt's values, in standard deviations: the step that loses
	// least if the values are normally distributed.
	promptStep = .3
)

// quads returns the number of quads for one bit of each value.
func quads(dim int) int { return (dim + 64*quadWords - 1) / (64 * quadWords) }

// codeSize returns the number of bytes for one bit of each value of a document.
func codeSize(dim int) int { return quadSize * quads(dim) }

// appendCode appends the first bits of a document to one section and its second bits to
// the other. Without vectors, all bits are 0.
func appendCode(first, second []byte, vectors [][]float32, dim int) (_, _ []byte) {
	n := quadWords * quads(dim)
	a, b := make([]uint64, n), make([]uint64, n)
	sum, square := make([]float64, len(vectors[0])), 0.
	for i := range sum {
		for _, v := range vectors {
			sum[i] += float64(v[i])
		}
		square += sum[i] * sum[i]
	}
	deviation := math.Sqrt(square / float64(dim))
	for i, x := range sum {
		if x > 0 {
			a[i/64] |= 1 << (i % 64)
		}
		if x > deviation || x <= 0 && x > -deviation {
			b[i/64] |= 1 << (i % 64)
		}
	}
	for i := range n {
		first = binary.LittleEndian.AppendUint64(first, a[i])
		second = binary.LittleEndian.AppendUint64(second, b[i])
	}
	return first, second
}

// A promptCode is a prompt's vector as planes of bits. A value is a number of steps: the
// sum of 1<<p for each set bit in plane p, minus 1<<p for each other bit.
type promptCode []quad

type quad [quadWords][planes]uint64

func encodePrompt(v []float32) promptCode {
	c := make(promptCode, quads(len(v)))
	const most = 1<<planes - 1
	step := promptStep / math.Sqrt(float64(len(v))) // for a vector of length 1
	for i, x := range v {
		u := uint(min(max((float64(x)/step+most)/2, 0), most) + .5)
		word := &c[i/(64*quadWords)][i/64%quadWords]
		for p := range planes {
			word[p] |= uint64(u>>p&1) << (i % 64)
		}
	}
	return c
}

// farthest returns the greatest possible distance.
func (c promptCode) farthest() int { return len(c) * 64 * quadWords * (1<<planes - 1) }

// distances sets out, for each document, to a number that is lower the greater the dot
// product of the prompt and one bit of each value is.
func (c promptCode) distances(codes []byte, out []uint32) {
	for i := range c {
		keep := ^uint32(0)
		if i == 0 {
			keep = 0
		}
		c[i].add(codes[i*quadSize:], len(c)*quadSize, keep, out)
	}
}

// add adds the distances in one quad of each document to the bits of out that keep
// selects; stride is the distance between two documents in codes.
func (q *quad) add(codes []byte, stride int, keep uint32, out []uint32) {
	p, r, s, t := q[0], q[1], q[2], q[3]
	for i := range out {
		if len(codes) < quadSize {
			return
		}
		w := binary.LittleEndian.Uint64(codes)
		x := binary.LittleEndian.Uint64(codes[8:])
		y := binary.LittleEndian.Uint64(codes[16:])
		z := binary.LittleEndian.Uint64(codes[24:])
		codes = codes[min(stride, len(codes)):]
		d0 := bits.OnesCount64(w^p[0]) + bits.OnesCount64(x^r[0]) + bits.OnesCount64(y^s[0]) + bits.OnesCount64(z^t[0])
		d1 := bits.OnesCount64(w^p[1]) + bits.OnesCount64(x^r[1]) + bits.OnesCount64(y^s[1]) + bits.OnesCount64(z^t[1])
		d2 := bits.OnesCount64(w^p[2]) + bits.OnesCount64(x^r[2]) + bits.OnesCount64(y^s[2]) + bits.OnesCount64(z^t[2])
		out[i] = out[i]&keep + uint32(d0+d1<<1+d2<<2)
	}
}
