package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A row holds the vectors of one document in a space: the step of their values (0 means no
// vectors), then the values of each vector as multiples of the step, 1 byte each, plus 128.
// Each vector is padded to a multiple of 64 values. They are together and have the same step,
// because Nearest needs their sum.

const rowUnit = 64

// rowDim returns the number of values of one vector in a row.
func rowDim(dim int) int { return (dim + rowUnit - 1) / rowUnit * rowUnit }

// rowSize returns the number of bytes in a row.
func (s Space) rowSize(dim int) int {
	if dim == 0 {
		return 0
	}
	_, n := s.legs()
	return 4 + n*rowDim(dim)
}

const rowZero = 128

func appendRow(b []byte, vectors [][]float32, dim int) []byte {
	if dim == 0 {
		return b
	}
	step := float32(0)
	for _, v := range vectors {
		step = max(step, largest(v)/127)
	}
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(step))
	for _, v := range vectors {
		for i := range rowDim(dim) {
			q := 0.
			if step > 0 && i < dim {
				q = math.Round(float64(v[i] / step))
			}
			b = append(b, byte(int(q)+rowZero))
		}
	}
	return b
}

// largest returns the greatest absolute value in v.
func largest(v []float32) float32 {
	m := float32(0)
	for _, x := range v {
		m = max(m, x, -x)
	}
	return m
}

// checkVectors returns an error if a snapshot of this dimension cannot hold the vectors.
func checkVectors(vectors [][]float32, dim int) error {
	if !slices.ContainsFunc(vectors, func(v []float32) bool { return v != nil }) {
		return nil
	}
	for _, v := range vectors {
		if len(v) != dim || dim == 0 {
			return fmt.Errorf("a vector has %d values, want %d", len(v), dim)
		}
		if err := checkUnit(v); err != nil {
			return err
		}
	}
	return nil
}

func checkUnit(v []float32) error {
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(math.Abs(sum-1) < .01) {
		return fmt.Errorf("a vector has the length %.3g, want 1", math.Sqrt(sum))
	}
	return nil
}

// A Prompt is a prompt's vector in a space, prepared for snapshots of its dimension.
type Prompt struct {
	space Space
	dim   int
	step  float64
	pairs []pairs
	zero  int64      // dot product with a vector of zeros, which are stored as rowZero
	code  promptCode // for the first pass over many documents
}

// pairs are 64 values of a prompt as numbers of steps, two in a word. The first and the
// fifth of 8 values are in the first word, and so on; the first is in the upper half.
type pairs [rowUnit / 8][4]uint64

// Prompt prepares a vector, which must have length 1 and the snapshot's dimension in a space.
func (r *Reader) Prompt(s Space, vector []float32) (*Prompt, error) {
	dim := r.s.header.meta.Models[s].Dim
	if dim == 0 {
		return nil, errors.New("the snapshot has no vectors")
	}
	if len(vector) != dim {
		return nil, fmt.Errorf("the prompt's vector has %d values, but the snapshot's vectors have %d", len(vector), dim)
	}
	if err := checkUnit(vector); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	// The finest step for which the sum of products with the values of two vectors fits
	// into 32 bits, see dotSum.
	finest := min(math.MaxInt16, math.MaxInt32/(2*2*2*math.MaxUint8*(rowDim(dim)/8)))
	p := &Prompt{space: s, dim: dim, step: float64(largest(vector)) / float64(finest), pairs: make([]pairs, rowDim(dim)/rowUnit)}
	for i, x := range vector {
		steps := int64(math.RoundToEven(float64(x) / p.step))
		p.zero += rowZero * steps
		if i%8 < 4 {
			steps <<= 32
		}
		p.pairs[i/rowUnit][i/8%8][i%4] += uint64(steps)
	}
	p.code = encodePrompt(vector)
	return p, nil
}

// Cosines sets the similarities of the prompt to a document that has vectors in its space.
func (r *Reader) Cosines(p *Prompt, doc int, to *Cosines) error {
	if err := errors.Join(r.s.checkOrdinal(doc), r.checkPrompt(p)); err != nil {
		return err
	}
	row, err := r.row(p.space, doc)
	if err == nil {
		p.cosines(row, to)
	}
	return err
}

// checkPrompt returns an error if the prompt was prepared for another dimension.
func (r *Reader) checkPrompt(p *Prompt) error {
	if dim := r.s.header.meta.Models[p.space].Dim; p.dim != dim {
		return fmt.Errorf("the prompt's vector has %d values, but the vectors of %s have %d", p.dim, r.s.name, dim)
	}
	return nil
}

// row returns the row of a document.
func (r *Reader) row(s Space, doc int) ([]byte, error) {
	size := s.rowSize(r.s.header.meta.Models[s].Dim)
	return r.s.bytes(s.rows(), doc*size, size)
}

// firstVector returns the first of a document's vectors in a space with the length 1; nil if
// the document has none.
func (r *Reader) firstVector(s Space, doc int) ([]float32, error) {
	if err := r.s.checkOrdinal(doc); err != nil {
		return nil, err
	}
	row, err := r.row(s, doc)
	if err != nil || len(row) == 0 || binary.LittleEndian.Uint32(row) == 0 {
		return nil, err
	}
	vector, sum := make([]float32, r.s.header.meta.Models[s].Dim), 0.
	for i := range vector {
		q := float64(row[4+i]) - rowZero
		vector[i] = float32(q)
		sum += q * q
	}
	length := float32(math.Sqrt(sum))
	if length == 0 {
		return nil, r.s.damaged(s.rows(), doc*len(row))
	}
	for i := range vector {
		vector[i] /= length
	}
	return vector, nil
}

// stepOf returns the product of the prompt's step and the row's step; 0 means that the row
// has no vectors.
func (p *Prompt) stepOf(row []byte) float64 {
	return p.step * float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
}

// cosines sets the cosines of the prompt with the vectors of a row.
func (p *Prompt) cosines(row []byte, to *Cosines) {
	step, n := p.stepOf(row), rowDim(p.dim)
	if step == 0 {
		return
	}
	leg, _ := p.space.legs()
	for row = row[4:]; len(row) > 0; row = row[n:] {
		to.Value[leg], to.Known[leg] = step*float64(dot(p.pairs, row[:n])-p.zero), true
		leg++
	}
}

// sum returns the sum of the cosines.
func (p *Prompt) sum(row []byte) float64 {
	n, step, row := rowDim(p.dim), p.stepOf(row), row[4:]
	if len(row) == 2*n {
		return step * float64(dotSum(p.pairs, row[:n], row[n:])-2*p.zero)
	}
	total := int64(0)
	for ; len(row) > 0; row = row[n:] {
		total += dot(p.pairs, row[:n]) - p.zero
	}
	return step * float64(total)
}

// dot returns the dot product of a prompt with a vector.
//
// It does two multiplications at a time, because Go has no vector instructions. A word of
// pairs (x in the upper half, y in the lower) is multiplied by a word with the values v in
// the lower half and w in the upper. The upper half of the product is x*v + y*w, the lower
// half is y*v. Arrays of fixed size save all bounds checks in the loop.
func dot(pairs []pairs, b []byte) int64 {
	const mask = 0x000000ff_000000ff
	var t, u uint64
	for k := range pairs {
		p, b := &pairs[k], (*[rowUnit]byte)(b[rowUnit*k:])
		for i := range p {
			v := binary.LittleEndian.Uint64(b[8*i : 8*i+8])
			t += (v & mask) * p[i][0]
			u += (v >> 8 & mask) * p[i][1]
			t += (v >> 16 & mask) * p[i][2]
			u += (v >> 24 & mask) * p[i][3]
		}
	}
	return upper(t) + upper(u)
}

// dotSum returns the dot product of a prompt with the sum of two vectors.
func dotSum(pairs []pairs, b, c []byte) int64 {
	const bytes, words = 0x00ff00ff_00ff00ff, 0x0000ffff_0000ffff
	var t, u uint64
	for k := range pairs {
		p, b, c := &pairs[k], (*[rowUnit]byte)(b[rowUnit*k:]), (*[rowUnit]byte)(c[rowUnit*k:])
		for i := range p {
			v, w := binary.LittleEndian.Uint64(b[8*i:8*i+8]), binary.LittleEndian.Uint64(c[8*i:8*i+8])
			even, odd := v&bytes+w&bytes, v>>8&bytes+w>>8&bytes
			t += (even & words) * p[i][0]
			u += (odd & words) * p[i][1]
			t += (even >> 16 & words) * p[i][2]
			u += (odd >> 16 & words) * p[i][3]
		}
	}
	return upper(t) + upper(u)
}

// upper returns the upper half of a sum of products. A negative lower half has borrowed 1
// from the upper half, which upper adds again.
func upper(t uint64) int64 { return (int64(t) - int64(int32(t))) >> 32 }

// Nearest returns the k documents with the highest sums of cosines: best first, ties
// by ordinal. It considers only documents in allowed. Among many documents it may miss one
// in fifty, but hardly ever one of the best.
func (r *Reader) Nearest(p *Prompt, allowed Skills, k int) ([]Hit, error) {
	if err := r.checkPrompt(p); err != nil {
		return nil, err
	}
	s := r.s
	k = min(max(k, 0), s.header.docs)
	w := s.works.Get().(*work)
	defer s.works.Put(w)
	if err := r.sift(p, &w.sieve, allowed, k); err != nil {
		return nil, err
	}
	w.top.reset(k)
	for _, doc := range w.sieve.docs {
		row, err := r.row(p.space, int(doc))
		if err != nil {
			return nil, err
		}
		w.top.offer(keyOf(int(doc), float32(p.sum(row))))
	}
	return w.top.sorted(), nil
}

// sift selects the documents whose vectors must be compared.
func (r *Reader) sift(p *Prompt, v *sieve, allowed Skills, k int) error {
	h := &r.s.header
	vectored, err := r.s.bytes(p.space.vectored(), 0, h.sizes[p.space.vectored()])
	if err != nil {
		return err
	}
	byVectors, byBits := survivors(k, h.docs)
	if v.start(h.docs, allowed, vectored) <= byVectors {
		v.keepAll()
		return nil
	}
	first, err := r.s.bytes(p.space.firstCodes(), 0, h.sizes[p.space.firstCodes()])
	if err != nil {
		return err
	}
	second, err := r.s.bytes(p.space.secondCodes(), 0, h.sizes[p.space.secondCodes()])
	if err != nil {
		return err
	}
	v.keepByFirstBits(p.code, first, byBits)
	v.keepByAllBits(p.code, second, byVectors)
	return nil
}
