package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A row holds the two vectors of one document: the step of its values (0 means no vectors),
// then the values of both vectors as multiples of the step, 1 byte each, plus 128. Each
// vector is padded to a multiple of 64 values. Both vectors are together and have the same
// step, because Nearest needs their sum.

const rowUnit = 64

// rowDim returns the number of values of one vector in a row.
func rowDim(dim int) int { return (dim + rowUnit - 1) / rowUnit * rowUnit }

// rowSize returns the number of bytes in a row.
func rowSize(dim int) int {
	if dim == 0 {
		return 0
	}
	return 4 + 2*rowDim(dim)
}

const rowZero = 128

func appendRow(b []byte, v Vectors, dim int) []byte {
	if dim == 0 {
		return b
	}
	step := max(largest(v.Description), largest(v.Full)) / 127
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(step))
	for _, v := range [][]float32{v.Description, v.Full} {
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
func checkVectors(v Vectors, dim int) error {
	if v.Description == nil && v.Full == nil {
		return nil
	}
	for _, v := range [][]float32{v.Description, v.Full} {
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

// A Prompt is a prompt's vector, prepared for snapshots of its dimension.
type Prompt struct {
	dim   int
	step  float64
	pairs []pairs
	zero  int64      // dot product with a vector of zeros, which are stored as rowZero
	code  promptCode // for the first pass over many documents
}

// pairs are 64 values of a prompt as numbers of steps, two in a word. The first and the
// fifth of 8 values are in the first word, and so on; the first is in the upper half.
type pairs [rowUnit / 8][4]uint64

// Prompt prepares a vector, which must have length 1 and the snapshot's dimension.
func (r *Reader) Prompt(vector []float32) (*Prompt, error) {
	dim := r.s.header.meta.Dim
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
	p := &Prompt{dim: dim, step: float64(largest(vector)) / float64(finest), pairs: make([]pairs, rowDim(dim)/rowUnit)}
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

// Cosines returns the similarities of the prompt to a document; ok is false if the document
// has no vectors.
func (r *Reader) Cosines(p *Prompt, doc int) (description, full float64, ok bool, err error) {
	if err := errors.Join(r.s.checkOrdinal(doc), r.checkPrompt(p)); err != nil {
		return 0, 0, false, err
	}
	row, err := r.row(doc)
	if err != nil {
		return 0, 0, false, err
	}
	description, full, ok = p.cosines(row)
	return description, full, ok, nil
}

// checkPrompt returns an error if the prompt was prepared for another dimension.
func (r *Reader) checkPrompt(p *Prompt) error {
	if p.dim != r.s.header.meta.Dim {
		return fmt.Errorf("the prompt's vector has %d values, but the vectors of %s have %d", p.dim, r.s.name, r.s.header.meta.Dim)
	}
	return nil
}

// row returns the row of a document.
func (r *Reader) row(doc int) ([]byte, error) {
	size := rowSize(r.s.header.meta.Dim)
	return r.s.bytes(vectorSection, doc*size, size)
}

// descriptionVector returns the vector of a document's description with the length 1; nil
// if the document has no vectors.
func (r *Reader) descriptionVector(doc int) ([]float32, error) {
	if err := r.s.checkOrdinal(doc); err != nil {
		return nil, err
	}
	row, err := r.row(doc)
	if err != nil || len(row) == 0 || binary.LittleEndian.Uint32(row) == 0 {
		return nil, err
	}
	vector, sum := make([]float32, r.s.header.meta.Dim), 0.
	for i := range vector {
		q := float64(row[4+i]) - rowZero
		vector[i] = float32(q)
		sum += q * q
	}
	length := float32(math.Sqrt(sum))
	if length == 0 {
		return nil, r.s.damaged(vectorSection, doc*len(row))
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

// cosines returns the cosines of the prompt with the two vectors of a row.
func (p *Prompt) cosines(row []byte) (description, full float64, ok bool) {
	step, n := p.stepOf(row), rowDim(p.dim)
	if step == 0 {
		return 0, 0, false
	}
	description = step * float64(dot(p.pairs, row[4:4+n])-p.zero)
	full = step * float64(dot(p.pairs, row[4+n:])-p.zero)
	return description, full, true
}

// sum returns the sum of both cosines.
func (p *Prompt) sum(row []byte) float64 {
	n := rowDim(p.dim)
	return p.stepOf(row) * float64(dotSum(p.pairs, row[4:4+n], row[4+n:])-2*p.zero)
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

// Nearest returns the k documents with the highest sums of both cosines: best first, ties
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
		row, err := r.row(int(doc))
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
	vectored, err := r.s.bytes(vectoredSection, 0, h.sizes[vectoredSection])
	if err != nil {
		return err
	}
	byVectors, byBits := survivors(k, h.docs)
	if v.start(h.docs, allowed, vectored) <= byVectors {
		v.keepAll()
		return nil
	}
	first, err := r.s.bytes(firstCodeSection, 0, h.sizes[firstCodeSection])
	if err != nil {
		return err
	}
	second, err := r.s.bytes(secondCodeSection, 0, h.sizes[secondCodeSection])
	if err != nil {
		return err
	}
	v.keepByFirstBits(p.code, first, byBits)
	v.keepByAllBits(p.code, second, byVectors)
	return nil
}
