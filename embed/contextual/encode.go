package contextual

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Weights are a trained model before encoding. Slices of floats hold one row after the other.
type Weights struct {
	Name                     string // short name of the training
	Hidden, Heads, Positions int
	Pieces                   []string  // as in BERT's vocab.txt: "##" begins a piece inside of a word
	Words                    []float32 // [len(Pieces)][Hidden]
	Places                   []float32 // [Positions][Hidden]: what a position adds, and the type of a piece
	Norm                     Norm
	Layers                   []Layer
}

// A Layer of a model.
type Layer struct {
	Attend Linear // to queries, then keys, then values
	Join   Linear
	Joined Norm
	Up     Linear
	Down   Linear
	Out    Norm
}

// A Linear is a matrix with biases.
type Linear struct {
	Weights []float32 // [outputs][inputs]
	Biases  []float32 // [outputs]
	// Largest is how large each input becomes, by a sample; nil means that nobody knows.
	// Rounding follows it.
	Largest []float32
}

// A Norm is what a row is scaled to.
type Norm struct{ Weights, Biases []float32 }

// Encode returns the model in the format that New reads. It rounds the rows of words to 4 bits
// and the weights of matrices to 7.
func Encode(w *Weights) ([]byte, error) {
	rows, order, err := byHash(w.Pieces)
	if err != nil {
		return nil, fmt.Errorf("encoding model: %w", err)
	}
	if len(w.Name) == 0 || len(w.Name) > 1<<8 {
		return nil, errors.New("encoding model: its name must have 1 to 256 bytes")
	}
	inner := 0
	if len(w.Layers) > 0 {
		inner = len(w.Layers[0].Up.Biases)
	}
	s := shape{w.Hidden, len(w.Layers), w.Heads, inner, w.Positions, len(w.Pieces)}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("encoding model: %w", err)
	}
	e := &encoder{}
	e.WriteString(w.Name)
	e.Write(make([]byte, padded(len(w.Name))-len(w.Name)))
	e.index(order)
	e.words(w, order)
	e.floats(w.Places, w.Positions*w.Hidden)
	e.norm(w.Norm, w.Hidden)
	for i := range w.Layers {
		l := &w.Layers[i]
		e.linear(&l.Attend, w.Hidden, 3*w.Hidden)
		e.linear(&l.Join, w.Hidden, w.Hidden)
		e.norm(l.Joined, w.Hidden)
		e.linear(&l.Up, w.Hidden, inner)
		e.linear(&l.Down, inner, w.Hidden)
		e.norm(l.Out, w.Hidden)
	}
	if e.err != nil {
		return nil, fmt.Errorf("encoding model: %w", e.err)
	}
	var out encoder
	out.WriteString(magic)
	for _, n := range []int{s.hidden, s.layers, s.heads, s.inner, s.positions, s.pieces, len(w.Name), rows["[UNK]"], rows["[CLS]"]} {
		out.uint32(uint32(n))
	}
	digest := sha256.Sum256(e.Bytes())
	out.Write(digest[:8])
	out.Write(e.Bytes())
	return out.Bytes(), nil
}

// special are the pieces that stand for no text, in the order of their rows.
var special = []string{"[CLS]", "[SEP]", "[UNK]"}

// byHash returns the pieces in the order of their rows: by their hashes, but the special ones
// are last, where no text finds them. It also returns the rows of these.
func byHash(pieces []string) (rows map[string]int, order []hashed, err error) {
	rows = make(map[string]int)
	at := make(map[string]int)
	for i, piece := range pieces {
		if slices.Contains(special, piece) {
			at[piece] = i
			continue
		}
		text, inside := strings.CutPrefix(piece, "##")
		h := startHash(inside)
		for _, c := range []byte(text) {
			h.add(c)
		}
		order = append(order, hashed{h.sum(), i})
	}
	slices.SortFunc(order, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
	for i := 1; i < len(order); i++ {
		if order[i].hash>>(32-prefixBits) == order[i-1].hash>>(32-prefixBits) {
			return nil, nil, fmt.Errorf("%q and %q have the same hash", pieces[order[i-1].row], pieces[order[i].row])
		}
	}
	for _, piece := range special {
		i, ok := at[piece]
		if !ok {
			return nil, nil, fmt.Errorf("there is no piece %s", piece)
		}
		rows[piece] = len(order)
		order = append(order, hashed{math.MaxUint64, i})
	}
	return rows, order, nil
}

// hashed is a row of the weights with the hash of its piece.
type hashed struct {
	hash uint64
	row  int
}

// An encoder writes the parts of a model, until one has an error.
type encoder struct {
	bytes.Buffer
	err error
}

func (e *encoder) uint32(x uint32) { e.Write(binary.LittleEndian.AppendUint32(nil, x)) }

func (e *encoder) index(order []hashed) {
	next := 0
	for prefix := range 1<<prefixBits + 1 {
		for next < len(order) && order[next].hash>>(64-prefixBits) < uint64(prefix) {
			next++
		}
		e.uint32(uint32(next))
	}
	for _, h := range order {
		e.uint32(uint32(h.hash >> (32 - prefixBits)))
	}
}

// words writes the steps and then the rows of the pieces, each rounded to 4 bits.
func (e *encoder) words(w *Weights, order []hashed) {
	if len(w.Words) != len(w.Pieces)*w.Hidden {
		e.fail("%d numbers for %d pieces of %d", len(w.Words), len(w.Pieces), w.Hidden)
		return
	}
	var packed []byte
	rounded := make([]int8, w.Hidden)
	for _, o := range order {
		e.float(roundPiece(rounded, w.Words[o.row*w.Hidden:]))
		for i := 0; i < w.Hidden; i += 2 {
			packed = append(packed, byte(rounded[i]+offset4)|byte(rounded[i+1]+offset4)<<4)
		}
	}
	e.Write(packed)
}

// roundPiece rounds a row to multiples of the step, from -8 to 7: of the steps that cut off more and
// more of the largest numbers, the one that changes the row least. A row that is rounded stays as it is.
func roundPiece(out []int8, x []float32) (best float32) {
	highest := 0.
	for i := range out {
		highest = max(highest, math.Abs(float64(x[i])))
	}
	if highest == 0 {
		clear(out)
		return 0
	}
	at := func(i int, step float64) float64 {
		return min(max(math.RoundToEven(float64(x[i])/step), -offset4), offset4-1)
	}
	for quarters, least := 4*4, math.Inf(1); quarters < 4*22; quarters++ {
		step, changed := float64(float32(highest*4/float64(quarters))), 0.
		for i := range out {
			d := at(i, step)*step - float64(x[i])
			changed += float64(d * d)
		}
		if changed < least {
			best, least = float32(step), changed
		}
	}
	for i := range out {
		out[i] = int8(at(i, float64(best)))
	}
	return best
}

// roundRow rounds weights, each divided by what smooth says, to multiples of the step.
func roundRow(out []int8, x, smooth []float32) (step float32) {
	value := func(i int) float64 { return float64(x[i]) / float64(smooth[i]) }
	highest := 0.
	for i := range out {
		highest = max(highest, math.Abs(value(i)))
	}
	if step = float32(highest / most); step == 0 {
		return 0
	}
	for i := range out {
		out[i] = int8(min(max(math.RoundToEven(value(i)/float64(step)), -most), most))
	}
	return step
}

func (e *encoder) fail(format string, args ...any) {
	e.err = cmp.Or(e.err, fmt.Errorf(format, args...))
}

func (e *encoder) float(x float32) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		e.fail("a number is not finite")
	}
	e.uint32(math.Float32bits(x))
}

func (e *encoder) floats(list []float32, want int) {
	if len(list) != want {
		e.fail("%d numbers, want %d", len(list), want)
	}
	for _, x := range list {
		e.float(x)
	}
}

func (e *encoder) norm(n Norm, size int) {
	e.floats(n.Weights, size)
	e.floats(n.Biases, size)
}

// smoothing is the share of the differences between inputs that rounding takes away: of 0, .3,
// .5, .6 and .7, .6 gave the vectors that were nearest to those of float32 weights (.9990 in the
// mean of 100 prompts; without it .9973).
const smoothing = .6

// linear writes a matrix. The inputs with large numbers lose what the weights of the others
// gain, so that both are rounded finely: of x·w, x × s is rounded and w ÷ s.
func (e *encoder) linear(l *Linear, n, m int) {
	if len(l.Weights) != n*m || l.Largest != nil && len(l.Largest) != n {
		e.fail("%d weights and %d sizes of inputs for a matrix from %d to %d", len(l.Weights), len(l.Largest), n, m)
		return
	}
	smooth := make([]float32, n)
	for i := range smooth {
		smooth[i] = 1
		if l.Largest == nil {
			continue
		}
		weight := 0.
		for j := range m {
			weight = max(weight, math.Abs(float64(l.Weights[j*n+i])))
		}
		if input := float64(l.Largest[i]); weight > 0 && input > 0 {
			smooth[i] = float32(math.Pow(weight, 1-smoothing) / math.Pow(input, smoothing))
		}
	}
	rounded, steps := make([]int8, n*m), make([]float32, m)
	for j := range m {
		steps[j] = roundRow(rounded[j*n:][:n], l.Weights[j*n:], smooth)
	}
	e.floats(smooth, n)
	e.floats(steps, m)
	e.floats(l.Biases, m)
	packed := make([]byte, n*m)
	for j := range m {
		for i := range n {
			packed[weightAt(n, i, j)] = byte(rounded[j*n+i] + offset)
		}
	}
	e.Write(packed)
}
