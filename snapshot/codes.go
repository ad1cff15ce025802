package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The code of a document has 2 bits for each value of the sum of its two vectors,
// which is all that Nearest ranks by: the sign, and whether the value is one step
// further up. So the bits stand for the values -3, -1, 1 and 3. The first bits
// of all documents stand before the second bits of all, in words of 64, and these
// in quads of 4.
//
// A prompt is compared with codes by its values in steps of 3 bits, one plane of
// bits each, so that what is left to do is to count bits.
const (
	planes    = 3
	quadWords = 4
	quadSize  = 8 * quadWords

	// The step of the prompt, in standard deviations of its values: that which loses
	// least of normal ones.
	promptStep = .3
)

// quads is the number of quads of one bit of each value.
func quads(dim int) int { return (dim + 64*quadWords - 1) / (64 * quadWords) }

// codeSize is the number of bytes of one bit of each value of a document.
func codeSize(dim int) int { return quadSize * quads(dim) }

// appendCode appends the first bits of a document to one section and the second
// bits to the other. Without vectors all are 0.
func appendCode(first, second []byte, v Vectors, dim int) (_, _ []byte) {
	n := quadWords * quads(dim)
	a, b := make([]uint64, n), make([]uint64, n)
	sum, square := make([]float64, len(v.Full)), 0.
	for i := range sum {
		sum[i] = float64(v.Description[i]) + float64(v.Full[i])
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

// A promptCode is a prompt's vector as planes of bits: a value is a number of
// steps, the sum of 1<<p times 1 or -1, as the bit of plane p is set or not.
type promptCode []quad

type quad [quadWords][planes]uint64

func encodePrompt(v []float32) promptCode {
	c := make(promptCode, quads(len(v)))
	const most = 1<<planes - 1
	step := promptStep / math.Sqrt(float64(len(v))) // of a vector of length 1
	for i, x := range v {
		u := uint(min(max((float64(x)/step+most)/2, 0), most) + .5)
		word := &c[i/(64*quadWords)][i/64%quadWords]
		for p := range planes {
			word[p] |= uint64(u>>p&1) << (i % 64)
		}
	}
	return c
}

// farthest is the greatest distance.
func (c promptCode) farthest() int { return len(c) * 64 * quadWords * (1<<planes - 1) }

// distances puts into out, for each document, a number that falls as the dot
// product of the prompt and of one bit of each value grows.
func (c promptCode) distances(codes []byte, out []uint32) {
	for i := range c {
		keep := ^uint32(0)
		if i == 0 {
			keep = 0
		}
		c[i].add(codes[i*quadSize:], len(c)*quadSize, keep, out)
	}
}

// add adds the distances in one quad of each document to the bits of what is there
// that are to be kept; stride is from one document to the next.
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
