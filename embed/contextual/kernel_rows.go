//go:build amd64 || arm64

package contextual

import "math"

// rows are what a width of registers computes of a row of n numbers, a multiple of 16.
type rows struct {
	scale   func(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
	highest func(x, smooth *float32, n int) float32
	round   func(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
	gelu    func(x *float32, n int, coefficients *float32)
	exp     func(x *float32, n int, coefficients *float32) float32
	add     func(x, y *float32, n int) float32 // x += y; the sum of x
	squares func(x *float32, n int, mean float32) float32
	norm    func(x *float32, n int, mean, factor float32, weights, biases *float32)
}

// processor returns a processor of these functions.
func (r *rows) processor(name string, multiply func([]int32, *byte, []int8, []int32, int, int, int)) processor {
	return processor{name: name, multiply: multiply,
		scale: func(out []float32, sums []int32, factor float32, scales, biases []float32) {
			n := len(out)
			r.scale(&out[0], &sums[:n][0], n, factor, &scales[:n][0], &biases[:n][0])
		},
		round: func(out []int8, x, smooth []float32) (step float32, start int32) {
			n := len(x)
			highest := r.highest(&x[0], &smooth[:n][0], n)
			if highest == 0 {
				clear(out[:n])
				return 0, 0
			}
			return highest / most, -offset * r.round(&out[:n][0], &x[0], &smooth[0], n, most/highest)
		},
		gelu: func(x []float32) { r.gelu(&x[0], len(x), &phi[0]) },
		exp:  func(x []float32) float32 { return r.exp(&x[0], len(x), &power[0]) },
		addNorm: func(x, y, weights, biases []float32) {
			n := len(x)
			mean := r.add(&x[0], &y[:n][0], n) / float32(n)
			factor := 1 / float32(math.Sqrt(float64(r.squares(&x[0], n, mean)/float32(n)+epsilon)))
			r.norm(&x[0], n, mean, factor, &weights[:n][0], &biases[:n][0])
		},
	}
}
