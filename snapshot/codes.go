package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The code of a document has one bit for each value of its two vectors, which
// says whether it is positive, the description's first, in words of 64. A prompt
// is compared with codes by its values in steps of 3 bits, one plane of bits
// each, so that what is left to do is to count bits.
const planes = 3

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
// document: a value is a number of steps, the sum of 1<<p times 1 or -1, as the
// bit of plane p is set or not.
type promptCode [][planes]uint64

func encodePrompt(v []float32) promptCode {
	n := codeWords(len(v))
	c := make(promptCode, 2*n)
	const most = 1<<planes - 1
	step := max(slices.Max(v), -slices.Min(v)) / most
	for i, x := range v {
		u := uint(math.Round((float64(x/step) + most) / 2))
		for p := range planes {
			c[i/64][p] |= uint64(u>>p&1) << (i % 64)
		}
	}
	copy(c[n:], c[:n])
	return c
}

// distance returns a number that falls as the dot product of the prompt and the
// signs of the values of both vectors grows, and whether any sign is positive.
func (c promptCode) distance(code []byte) (sum int, some bool) {
	all := uint64(0)
	for i := range c {
		if len(code) < 8 {
			break
		}
		p := &c[i]
		w := binary.LittleEndian.Uint64(code)
		code = code[8:]
		all |= w
		sum += bits.OnesCount64(w^p[0]) + bits.OnesCount64(w^p[1])<<1 + bits.OnesCount64(w^p[2])<<2
	}
	return sum, all != 0
}

// rescore compares the prompt with every code and then with the rows of those
// that came out best: one in a hundred, among which were .994 of the ten nearest
// of 20,101 skills, or four times as many as are wanted (.997 for a hundred).
func (r *Reader) rescore(p *Prompt, allowed Bitmap, k int) ([]Hit, error) {
	docs, size := r.s.header.docs, codeSize(len(p.steps))
	codes, err := r.s.bytes(codeSection, 0, r.s.header.sizes[codeSection])
	if err != nil {
		return nil, err
	}
	candidates := &top{k: min(max(4*k, docs/100), docs)}
	for doc := range docs {
		if !allowed.Has(doc) {
			continue
		}
		distance, some := p.code.distance(codes[doc*size : (doc+1)*size])
		if !some { // most likely it has no vectors
			row, err := r.row(doc)
			if err != nil {
				return nil, err
			}
			if _, _, ok := p.cosines(row); !ok {
				continue
			}
		}
		if score := float64(-distance); !candidates.full() || score > candidates.hits[0].Score { // most are not
			candidates.offer(Hit{doc, score})
		}
	}
	best := &top{k: k}
	for _, c := range candidates.hits {
		row, err := r.row(c.Doc)
		if err != nil {
			return nil, err
		}
		if description, full, ok := p.cosines(row); ok {
			best.offer(Hit{c.Doc, description + full})
		}
	}
	return best.sorted(), nil
}
