package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A row of the vectors is that of one document: the step of its values, 0 when
// it has none, then the values of both vectors in steps, 1 byte each, plus 128.
// Each is filled up to a multiple of 64 values. The two stand together, and have
// the same step, because Nearest wants their sum.

const rowUnit = 64

// rowDim is the number of values of one vector in a row.
func rowDim(dim int) int { return (dim + rowUnit - 1) / rowUnit * rowUnit }

// rowSize is the number of bytes of a row.
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

// largest returns the largest absolute value.
func largest(v []float32) float32 {
	m := float32(0)
	for _, x := range v {
		m = max(m, x, -x)
	}
	return m
}

// checkVectors reports vectors that a snapshot of that dimension cannot hold.
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

// A Prompt is the vector of a prompt, prepared for snapshots of its dimension.
type Prompt struct {
	dim   int
	step  float64
	pairs []pairs
	zero  int64      // the dot product with a vector of zeros, which are rowZero
	code  promptCode // for the first pass over many documents
}

// pairs are 64 values of a prompt in steps, two in each word: of 8 values, the
// first and the fifth stand in the first word, and so on, the first in the upper
// half.
type pairs [rowUnit / 8][4]uint64

// Prompt prepares a vector of length 1 and of the dimension of the snapshot.
func (r *Reader) Prompt(vector []float32) (*Prompt, error) {
	dim := r.s.header.meta.Dim
	if dim == 0 {
		return nil, errors.New("the snapshot has no vectors")
	}
	if len(vector) != dim {
		return nil, fmt.Errorf("the prompt's vector has %d values, those of the snapshot have %d", len(vector), dim)
	}
	if err := checkUnit(vector); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	// As fine as sums of products with the values of two vectors allow in 32 bits,
	// see dotSum.
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

// Cosines returns the similarities of the prompt to a document; ok is false
// when that has no vectors.
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

// checkPrompt reports a prompt of a snapshot of another dimension.
func (r *Reader) checkPrompt(p *Prompt) error {
	if p.dim != r.s.header.meta.Dim {
		return fmt.Errorf("the prompt is for vectors of %d values, those of %s have %d", p.dim, r.s.name, r.s.header.meta.Dim)
	}
	return nil
}

// row returns the row of a document.
func (r *Reader) row(doc int) ([]byte, error) {
	size := rowSize(r.s.header.meta.Dim)
	return r.s.bytes(vectorSection, doc*size, size)
}

// stepOf returns the product of the steps of the prompt and of a row, 0 when that
// has no vectors.
func (p *Prompt) stepOf(row []byte) float64 {
	return p.step * float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
}

// cosines returns those to the vectors of one row.
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
// A word of pairs (x upper, y lower) is multiplied with a word that has the values
// v lower and w upper: the upper half of the product is x*v + y*w, and the lower
// y*v. Go has no vector instructions; this does two products at a time without.
// Arrays of fixed size spare the loop all checks of bounds.
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

// upper returns the upper half of a sum of products. When the lower half is below
// 0 it has borrowed from it.
func upper(t uint64) int64 { return (int64(t) - int64(int32(t))) >> 32 }

// Nearest returns the k documents with the highest sums of both cosines, best
// first, equal ones by ordinal. Only documents in allowed count, nil for all. Of
// many documents it may miss one in fifty, hardly one of the best.
func (r *Reader) Nearest(p *Prompt, allowed Bitmap, k int) ([]Hit, error) {
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

// sift leaves the documents whose vectors are to be compared.
func (r *Reader) sift(p *Prompt, v *sieve, allowed Bitmap, k int) error {
	h := &r.s.header
	vectored, err := r.s.bytes(vectoredSection, 0, h.sizes[vectoredSection])
	if err != nil {
		return err
	}
	byVectors, byBits := survivors(k, h.docs)
	if v.start(h.docs, allowed, vectored) <= byVectors {
		v.all()
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
	v.first(p.code, first, byBits)
	v.second(p.code, second, byVectors)
	return nil
}
