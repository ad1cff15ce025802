package contextual

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/repertoire-skills/repertoire/embed"
)

// blockRows is how many pieces of a text go through a layer together: enough that weights are
// read rarely, few enough that what is between stays in the processor's cache.
const blockRows = 24

// A pass holds what one text needs on its way through the layers.
type pass struct {
	m     *model
	hold  int       // for how many pieces there is room, a multiple of tile
	count int       // pieces of the text
	wide  int       // the same as a multiple of tile
	x     []float32 // [hold][hidden]: the pieces

	// The queries, keys and values of a layer, each piece of each head rounded by itself.
	queries      []int8    // [hold][hidden]
	queryStarts  []int32   // [heads][hold]
	querySteps   []float32 // [heads][hold]
	keys, values []byte    // [heads][hold × size of a head], as weights of matrices
	keySteps     []float32 // [heads][hold]
	valueSteps   []float32 // [heads][hold]
	beyond       []float32 // [hold]: 0 for a piece, and next to minus infinity for what is none
	ones         []float32 // of one head

	workers []*worker
}

// A worker has room for the rows of a block on their way through a part of a layer.
type worker struct {
	*pass
	rounded []int8    // [blockRows][inner]
	sums    []int32   // [blockRows][inner]
	wideRow []float32 // [blockRows][inner]
	row     []float32 // [blockRows][hidden]
	scores  []float32 // [hold]
	starts  []int32   // [blockRows]
	steps   []float32 // [blockRows]

	key, value [maxHead]int8 // of one piece and head
}

func newPass(m *model) *pass {
	hold := roundUp(m.positions, tile)
	p := &pass{m: m, hold: hold,
		x: make([]float32, hold*m.hidden), queries: make([]int8, hold*m.hidden),
		queryStarts: make([]int32, m.heads*hold), querySteps: make([]float32, m.heads*hold),
		keys: make([]byte, hold*m.hidden), values: make([]byte, hold*m.hidden),
		keySteps: make([]float32, m.heads*hold), valueSteps: make([]float32, m.heads*hold), beyond: make([]float32, hold),
		ones: slices.Repeat([]float32{1}, m.headSize()),
	}
	p.workers = []*worker{newWorker(p)}
	return p
}

func newWorker(p *pass) *worker {
	m, widest := p.m, max(p.m.inner, 3*p.m.hidden, p.hold)
	return &worker{pass: p,
		rounded: make([]int8, blockRows*widest), sums: make([]int32, blockRows*widest), wideRow: make([]float32, blockRows*max(m.inner, 3*m.hidden)),
		row: make([]float32, blockRows*m.hidden), scores: make([]float32, p.hold), starts: make([]int32, blockRows), steps: make([]float32, blockRows),
	}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// run takes a text of at least one piece, which it has as rows of the model, through all layers, on
// so many processors. It ends early with the error of the context.
func (p *pass) run(ctx context.Context, pieces []int, processors int) error {
	m := p.m
	p.count, p.wide = len(pieces), roundUp(len(pieces), tile)
	for i := range p.beyond {
		p.beyond[i] = 0
		if i >= p.count {
			p.beyond[i] = -1e30
		}
	}
	for i, piece := range pieces {
		p.start(p.x[i*m.hidden:][:m.hidden], piece, i)
	}
	// What lies at the pieces that are none comes to nothing.
	clear(p.keySteps)
	clear(p.valueSteps)
	for i := range m.layer {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.layer(&m.layer[i], processors)
	}
	return nil
}

// mean returns the vector of n pieces from the given one on, as they stand in the text that ran.
func (p *pass) mean(from, n int) (embed.Vector, error) {
	h := p.m.hidden
	v := make(embed.Vector, h)
	for i := from; i < from+n; i++ {
		for j, x := range p.x[i*h:][:h] {
			v[j] += x
		}
	}
	return v, embed.Unit(v)
}

// start sets x to the vector of a piece at a position.
func (p *pass) start(x []float32, piece, position int) {
	m := p.m
	half := len(x) / 2
	scale, row := f32(m.scales, piece), m.rows[piece*half:][:half]
	place := p.workers[0].row[:len(x)]
	for i := range x {
		x[i] = float32(float32(int8(row[i/2]>>(i%2*4)&15)-offset4) * scale)
		place[i] = f32(m.places, position*len(x)+i)
	}
	chosen.addNorm(x, place, m.norm.weights, m.norm.biases)
}

// layer takes the pieces through a layer.
func (p *pass) layer(l *layer, processors int) {
	p.each(processors, func(w *worker, from, n int) {
		attend := w.multiply(&l.attend, p.x[from*p.m.hidden:], n, w.wideRow)
		for i := range n {
			w.keep(attend[i*l.attend.m:][:l.attend.m], from+i)
		}
	})
	p.each(processors, func(w *worker, from, n int) {
		for head := range p.m.heads {
			w.attend(head, from, n)
		}
		x := p.x[from*p.m.hidden:]
		p.add(x, w.multiply(&l.join, w.row, n, w.wideRow), n, &l.joined)
		up := w.multiply(&l.up, x, n, w.wideRow)
		chosen.gelu(up[:n*p.m.inner])
		p.add(x, w.multiply(&l.down, up, n, w.row), n, &l.out)
	})
}

// each calls f for blocks of n pieces, which together are all, on so many processors.
func (p *pass) each(processors int, f func(w *worker, from, n int)) {
	blocks := roundUp((p.count+blockRows-1)/blockRows, processors)
	rows := roundUp((p.count+blocks-1)/blocks, rowUnit)
	var next atomic.Int64
	work := func(w *worker) {
		for from := int(next.Add(int64(rows))) - rows; from < p.count; from = int(next.Add(int64(rows))) - rows {
			f(w, from, min(rows, p.count-from))
		}
	}
	for len(p.workers) < processors {
		p.workers = append(p.workers, newWorker(p))
	}
	var others sync.WaitGroup
	for _, w := range p.workers[1:processors] {
		others.Go(func() { work(w) })
	}
	work(p.workers[0])
	others.Wait()
}

// multiply returns the products of n rows of x with a matrix, in out.
func (p *worker) multiply(w *matrix, x []float32, n int, out []float32) []float32 {
	for i := range n {
		p.steps[i], p.starts[i] = chosen.round(p.rounded[i*w.n:][:w.n], x[i*w.n:][:w.n], w.smooth)
	}
	p.product(w.weights, n, w.n, w.m)
	for i := range n {
		chosen.scale(out[i*w.m:][:w.m], p.sums[i*w.m:], p.steps[i], w.scales, w.biases)
	}
	return out
}

// product sets the sums to the products of n rounded rows with weights. Rows up to the next
// multiple of rowUnit are computed, but mean nothing.
func (p *worker) product(weights *byte, n, from, to int) {
	rows := roundUp(n, rowUnit)
	chosen.multiply(p.sums[:rows*to], weights, p.rounded[:rows*from], p.starts[:rows], rows, from, to)
}

// add adds y to x and scales each row.
func (p *pass) add(x, y []float32, n int, by *layerNorm) {
	h := p.m.hidden
	for i := range n {
		chosen.addNorm(x[i*h:][:h], y[i*h:][:h], by.weights, by.biases)
	}
}

// keep rounds the query, the key and the value of a piece for each head.
func (p *worker) keep(attend []float32, piece int) {
	h, size := p.m.hidden, p.m.headSize()
	key, value := p.key[:size], p.value[:size]
	for head := range p.m.heads {
		at := head*p.hold + piece
		part := attend[head*size:]
		p.querySteps[at], p.queryStarts[at] = chosen.round(p.queries[(head*p.hold+piece)*size:][:size], part[:size], p.ones)
		p.keySteps[at], _ = chosen.round(key, part[h:][:size], p.ones)
		p.valueSteps[at], _ = chosen.round(value, part[2*h:][:size], p.ones)
		// Keys are a matrix from a head to all pieces, values one from all pieces to a head.
		keys, values := p.keys[head*p.hold*size:], p.values[head*p.hold*size:]
		for i := 0; i < size; i += 4 {
			four, at := (*[4]int8)(key[i:]), weightAt(size, i, piece)
			*(*[4]byte)(keys[at:]) = [4]byte{byte(four[0] + offset), byte(four[1] + offset), byte(four[2] + offset), byte(four[3] + offset)}
		}
		for i := 0; i < size; i += lanes {
			for j, v := range (*[lanes]int8)(value[i:]) {
				values[weightAt(p.wide, piece, i)+4*j] = byte(v + offset)
			}
		}
	}
}

// weightAt returns where the weight of an input for an output lies in a matrix from n numbers.
func weightAt(n, input, output int) int {
	return output/lanes*lanes*n + input/4*4*lanes + output%lanes*4 + input%4
}

// attend sets the part of a head in p.row to the means of the values that n pieces look at.
func (p *worker) attend(head, from, n int) {
	h, size := p.m.hidden, p.m.headSize()
	at := head * p.hold
	factor := float32(1 / math.Sqrt(float64(size)))
	copy(p.rounded, p.queries[(at+from)*size:][:roundUp(n, rowUnit)*size])
	copy(p.starts, p.queryStarts[at+from:][:n])
	p.product(&p.keys[at*size], n, size, p.wide)
	scores := p.scores[:p.wide]
	var shares [blockRows]float32
	for i := range n {
		chosen.scale(scores, p.sums[i*p.wide:], p.querySteps[at+from+i]*factor, p.keySteps[at:], p.beyond)
		total := chosen.exp(scores)
		p.steps[i], p.starts[i] = chosen.round(p.rounded[i*p.wide:][:p.wide], scores, p.valueSteps[at:])
		shares[i] = p.steps[i] / total
	}
	p.product(&p.values[at*size], n, p.wide, size)
	for i := range n {
		out := p.row[i*h+head*size:][:size]
		for j, sum := range p.sums[i*size:][:size] {
			out[j] = float32(float32(sum) * shares[i])
		}
	}
}

// bytesAt returns n bytes from a place on.
func bytesAt(at *byte, n int) []byte { return unsafe.Slice(at, n) }
