package contextual

import (
	"encoding/binary"
	"math"
)

// This file has the arithmetic of the encoder, and says what each processor must compute to the
// bit. Sums of products are sums of integers. Floats are multiplied and added one after the
// other, never fused, in the order given here; a sum of many is 16 partial sums, and
// the halves of these are added until one is left. Lengths are multiples of 16, and of 32 where
// a matrix has that many outputs.
//
// Weights of a matrix from n to m numbers are bytes, 64 more than they mean: the first 16
// outputs, then the next 16, and so on. Of 16 outputs there are, for each 4 inputs, the 4
// weights of the first output, then those of the second, and so on.

// lanes is how many numbers are computed side by side.
const lanes = 16

// tile is how many outputs of a matrix are computed side by side, and rowUnit a divisor of the
// number of rows.
const (
	tile    = 32
	rowUnit = 4
	offset  = 64 // of a weight
	offset4 = 8  // of a number in the rows of pieces
)

// A processor computes. Its functions have no other difference than their speed.
type processor struct {
	name string
	// multiply sets sums, [rows][m], to the products of x, [rows][n], with the weights of a
	// matrix. For the processor's use are starts, [rows]: -64 × the sum of each row of x.
	multiply func(sums []int32, w *byte, x []int8, starts []int32, rows, n, m int)
	// scale sets out to sums × (factor × scales) + biases.
	scale func(out []float32, sums []int32, factor float32, scales, biases []float32)
	// round multiplies x with smooth and rounds it to multiples of a step, which it returns,
	// from -63 to 63. It also returns -64 × the sum of them.
	round func(out []int8, x, smooth []float32) (step float32, start int32)
	// gelu sets each x to x × Φ(x), the share of a standard normal distribution below it.
	gelu func(x []float32)
	// exp sets each x to e^(x - the highest of them) and returns the sum.
	exp func(x []float32) float32
	// addNorm adds y to x, and scales x to the mean 0 and the variance 1, then to the weights
	// and biases.
	addNorm func(x, y, weights, biases []float32)
}

// portable is what runs everywhere.
var portable = processor{"portable", multiply, scale, round, gelu, exp, addNorm}

// chosen is the fastest of the processors that this machine has.
var chosen = processors()[0] // tests choose others

func multiply(sums []int32, w *byte, x []int8, _ []int32, rows, n, m int) {
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		block := weights[j*n:][:lanes*n]
		for i := range rows {
			row, out := x[i*n:][:n], (*[lanes]int32)(sums[i*m+j:])
			*out = [lanes]int32{}
			for k := 0; k+4 <= len(row) && 16*k+64 <= len(block); k += 4 {
				a, b, c, d := int32(row[k]), int32(row[k+1]), int32(row[k+2]), int32(row[k+3])
				quads := (*[4 * lanes]byte)(block[16*k:])
				for o := range out {
					v := binary.LittleEndian.Uint32(quads[4*o:])
					out[o] += a*(int32(v&255)-offset) + b*(int32(v>>8&255)-offset) + c*(int32(v>>16&255)-offset) + d*(int32(v>>24)-offset)
				}
			}
		}
	}
}

func scale(out []float32, sums []int32, factor float32, scales, biases []float32) {
	sums, scales, biases = sums[:len(out)], scales[:len(out)], biases[:len(out)]
	for i := range out {
		out[i] = float32(float32(sums[i])*float32(factor*scales[i])) + biases[i]
	}
}

// most is the highest value of a rounded number: inputs and weights have 7 bits, so that
// the sum of four products has 16.
const most = 63

// shift rounds: a float32 of less than 2^22 that is added to it loses its fraction, half to
// even, and stands in the low bits.
const shift = 3 << 22

func round(out []int8, x, smooth []float32) (step float32, start int32) {
	smooth = smooth[:len(x)]
	var highest float32
	for i, v := range x {
		highest = max(highest, abs(float32(v*smooth[i])))
	}
	if highest == 0 {
		clear(out[:len(x)])
		return 0, 0
	}
	inverse := most / highest
	for i, v := range x {
		n := int8(math.Float32bits(float32(float32(v*smooth[i])*inverse) + shift))
		out[i] = n
		start += int32(n)
	}
	return highest / most, -offset * start
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// Φ(x) - ½ is x times a polynomial of x², from -phiEnd to phiEnd; beyond, it hardly changes. A
// fit by the greatest error, which is 9e-6.
const phiEnd = 4.25

var phi = [...]float32{.3989023268222809, -.0663444921374321, .009815973229706287, -.0011085617588832974, 9.341887198388577e-05,
	-5.626445727102691e-06, 2.255438431575385e-07, -5.327791097187173e-09, 5.564902011423456e-11}

func gelu(x []float32) {
	for i, v := range x {
		c := max(min(v, phiEnd), -phiEnd)
		u := c * c
		p := phi[8]
		p = float32(p*u) + phi[7]
		p = float32(p*u) + phi[6]
		p = float32(p*u) + phi[5]
		p = float32(p*u) + phi[4]
		p = float32(p*u) + phi[3]
		p = float32(p*u) + phi[2]
		p = float32(p*u) + phi[1]
		p = float32(p*u) + phi[0]
		x[i] = v * (float32(c*p) + .5)
	}
}

// 2^x for -½ to ½, a fit by the greatest error, which is 3e-6.
var power = [...]float32{1.0000001192092896, .6931210160255432, .2402186542749405, .055922023952007294, .00968571100383997}

const (
	log2e    = 1.4426950408889634
	leastExp = -125 // a lower power of 2 counts as this one: it is nearly nothing
)

func exp(x []float32) float32 {
	highest := x[0]
	for _, v := range x {
		highest = max(highest, v)
	}
	var sums [lanes]float32
	for i, v := range x {
		t := max(float32((v-highest)*log2e), leastExp)
		whole := t + shift
		f := t - (whole - shift)
		p := power[4]
		p = float32(p*f) + power[3]
		p = float32(p*f) + power[2]
		p = float32(p*f) + power[1]
		p = float32(p*f) + power[0]
		p = math.Float32frombits(math.Float32bits(p) + math.Float32bits(whole)<<23)
		x[i] = p
		sums[i%lanes] += p
	}
	return fold(&sums)
}

// fold adds up partial sums.
func fold(s *[lanes]float32) float32 {
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}

// epsilon keeps a variance above 0.
const epsilon = 1e-12

func addNorm(x, y, weights, biases []float32) {
	y, weights, biases = y[:len(x)], weights[:len(x)], biases[:len(x)]
	var sums [lanes]float32
	for i := range x {
		x[i] += y[i]
		sums[i%lanes] += x[i]
	}
	mean := fold(&sums) / float32(len(x))
	sums = [lanes]float32{}
	for i, v := range x {
		d := v - mean
		sums[i%lanes] += float32(d * d)
	}
	factor := 1 / float32(math.Sqrt(float64(fold(&sums)/float32(len(x))+epsilon)))
	for i, v := range x {
		x[i] = float32(float32((v-mean)*factor)*weights[i]) + biases[i]
	}
}
