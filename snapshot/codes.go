package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The code of a document has one bit for each value of its two vectors, which
// says whether it is positive, the description's first, in words of 64. A prompt
// is compared with codes by its values in steps of 4 bits, one plane of bits
// each, so that what is left to do is to count bits.
const planes = 4

// codeSize is the number of bytes of the code of a document.
func codeSize(dim int) int { return 16 * codeWords(dim) }

// codeWords is the number of words of one vector's code.
func codeWords(dim int) int { return (dim + 63) / 64 }

func appendCode(b []byte, v Vectors, dim int) []byte {
	for _, v := range [][]float32{v.Description, v.Full} {
		words := make([]uint64, codeWords(dim))
		for i, x := range v {
			if x > 0 {
				words[i/64] |= 1 << (i % 64)
			}
		}
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	return b
}

// exactBound is the number of documents to compare above which Nearest looks at codes first:
// below it there is little to win.
const exactBound = 2000

// A promptCode is a prompt's vector as planes of bits, once for each vector of a
// document: value i is low + step·u, of which bit p is bit i of plane p.
type promptCode struct {
	words     [][planes]uint64
	low, step float32
}

func encodePrompt(v []float32) promptCode {
	n := codeWords(len(v))
	c := promptCode{words: make([][planes]uint64, 2*n), low: slices.Min(v)}
	c.step = max((slices.Max(v)-c.low)/(1<<planes-1), math.SmallestNonzeroFloat32)
	for i, x := range v {
		u := uint(math.Round(float64((x - c.low) / c.step)))
		for p := range planes {
			c.words[i/64][p] |= uint64(u>>p&1) << (i % 64)
		}
	}
	copy(c.words[n:], c.words[:n])
	return c
}

// similarity returns a number that grows with the dot product of the prompt and
// the signs of the values of both vectors, and how many of them are positive.
func (c *promptCode) similarity(code []byte) (_ float64, ones int) {
	sum := 0
	for i := range c.words {
		if len(code) < 8 {
			break
		}
		p := &c.words[i]
		w := binary.LittleEndian.Uint64(code)
		code = code[8:]
		ones += bits.OnesCount64(w)
		sum += bits.OnesCount64(w&p[0]) + bits.OnesCount64(w&p[1])<<1 +
			bits.OnesCount64(w&p[2])<<2 + bits.OnesCount64(w&p[3])<<3
	}
	return float64(c.step*float32(sum) + c.low*float32(ones)), ones
}

// rescore compares the prompt with every code and then with the rows of those
// that came out best: one in a hundred, among which were .996 of the ten nearest
// of 20,101 skills, or four times as many as are wanted.
func (p *Prompt) rescore(allowed Bitmap, k int) ([]Hit, error) {
	docs, size := p.s.header.docs, codeSize(len(p.steps))
	codes, err := p.s.bytes(codeSection, 0, p.s.header.sizes[codeSection])
	if err != nil {
		return nil, err
	}
	candidates := &top{k: min(max(4*k, docs/100), docs)}
	for doc := range docs {
		if !allowed.Has(doc) {
			continue
		}
		score, ones := p.code.similarity(codes[doc*size : (doc+1)*size])
		if ones == 0 { // most likely it has no vectors
			row, err := p.row(doc)
			if err != nil {
				return nil, err
			}
			if _, _, ok := p.cosines(row); !ok {
				continue
			}
		}
		if !candidates.full() || score > candidates.hits[0].Score { // most are not
			candidates.offer(Hit{doc, score})
		}
	}
	best := &top{k: k}
	for _, c := range candidates.hits {
		row, err := p.row(c.Doc)
		if err != nil {
			return nil, err
		}
		if description, full, ok := p.cosines(row); ok {
			best.offer(Hit{c.Doc, description + full})
		}
	}
	return best.sorted(), nil
}
