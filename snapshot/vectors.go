package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A row of the vectors is that of one document: the scales of its two vectors,
// both 0 when it has none, then their values in steps of the scale. The two
// stand together because they are always read together.

// rowSize is the number of bytes of a row.
func rowSize(dim int) int {
	if dim == 0 {
		return 0
	}
	return 8 + 2*dim
}

func appendRow(b []byte, v Vectors, dim int) []byte {
	if dim == 0 {
		return b
	}
	pair := [2][]float32{v.Description, v.Full}
	for _, v := range pair {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(scaleOf(v)))
	}
	for _, v := range pair {
		scale := scaleOf(v)
		for i := range dim {
			q := 0.
			if scale > 0 {
				q = math.Round(float64(v[i] / scale))
			}
			b = append(b, byte(int8(q)))
		}
	}
	return b
}

// scaleOf returns the step by which the largest value becomes 127.
func scaleOf(v []float32) float32 {
	largest := float32(0)
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	return largest / 127
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
	scale float64
	steps []int16    // in steps of scale
	code  promptCode // for the first pass over many documents
}

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
	// As fine as sums of dim products with int8 allow in 32 bits.
	finest := min(math.MaxInt16, math.MaxInt32/(128*dim))
	p := &Prompt{scale: float64(scaleOf(vector)) * 127 / float64(finest), steps: make([]int16, dim)}
	for i, x := range vector {
		p.steps[i] = int16(math.Round(float64(x) / p.scale))
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
	if len(p.steps) != r.s.header.meta.Dim {
		return fmt.Errorf("the prompt is for vectors of %d values, those of %s have %d", len(p.steps), r.s.name, r.s.header.meta.Dim)
	}
	return nil
}

// row returns the row of a document.
func (r *Reader) row(doc int) ([]byte, error) {
	size := rowSize(r.s.header.meta.Dim)
	return r.s.bytes(vectorSection, doc*size, size)
}

// cosines returns those to the vectors of one row.
func (p *Prompt) cosines(row []byte) (description, full float64, ok bool) {
	dim := len(p.steps)
	a := math.Float32frombits(binary.LittleEndian.Uint32(row))
	b := math.Float32frombits(binary.LittleEndian.Uint32(row[4:]))
	if a == 0 && b == 0 {
		return 0, 0, false
	}
	description = float64(dot(p.steps, row[8:8+dim])) * p.scale * float64(a)
	full = float64(dot(p.steps, row[8+dim:])) * p.scale * float64(b)
	return description, full, true
}

// dot returns the dot product of a with the int8 values of b, which is as long.
func dot(a []int16, b []byte) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += int32(a[0])*int32(int8(b[0])) + int32(a[4])*int32(int8(b[4]))
		s1 += int32(a[1])*int32(int8(b[1])) + int32(a[5])*int32(int8(b[5]))
		s2 += int32(a[2])*int32(int8(b[2])) + int32(a[6])*int32(int8(b[6]))
		s3 += int32(a[3])*int32(int8(b[3])) + int32(a[7])*int32(int8(b[7]))
		a, b = a[8:], b[8:]
	}
	for i := range min(len(a), len(b)) {
		s0 += int32(a[i]) * int32(int8(b[i]))
	}
	return s0 + s1 + s2 + s3
}

// Nearest returns the k documents with the highest sums of both cosines, best
// first, equal ones by ordinal. Only documents in allowed count, nil for all.
func (r *Reader) Nearest(p *Prompt, allowed Bitmap, k int) ([]Hit, error) {
	if err := r.checkPrompt(p); err != nil {
		return nil, err
	}
	docs := r.s.header.docs
	k = min(max(k, 0), docs)
	if docs <= exactBound || allowed != nil && allowed.Count() <= exactBound {
		return r.scan(p, allowed, k)
	}
	return r.rescore(p, allowed, k)
}

// scan compares the prompt with every row.
func (r *Reader) scan(p *Prompt, allowed Bitmap, k int) ([]Hit, error) {
	size := rowSize(len(p.steps))
	rows, err := r.s.bytes(vectorSection, 0, r.s.header.sizes[vectorSection])
	if err != nil {
		return nil, err
	}
	best := &top{k: k}
	for doc := range r.s.header.docs {
		if !allowed.Has(doc) {
			continue
		}
		if description, full, ok := p.cosines(rows[doc*size : (doc+1)*size]); ok {
			best.offer(Hit{doc, description + full})
		}
	}
	return best.sorted(), nil
}
