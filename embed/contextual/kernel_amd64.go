package contextual

import (
	"math"

	"golang.org/x/sys/cpu"
)

// processors returns what this machine has, the fastest first.
func processors() []processor {
	list := []processor{portable}
	if cpu.X86.HasAVX2 {
		avx2 := portable
		avx2.name, avx2.multiply = "AVX2", multiplyWide
		list = append([]processor{avx2}, list...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
		list = append([]processor{{"AVX-512 VNNI", multiply512, scaleWith512, roundWith512, geluWith512, expWith512, addNormWith512}}, list...)
	}
	return list
}

//go:noescape
func dot12(sums *int32, sumStride int, w *byte, wStride int, x *int8, n int, starts *int32)

//go:noescape
func dot4(sums *int32, sumStride int, w *byte, wStride int, x *int8, n int, starts *int32)

// multiply512 multiplies 12 rows with 32 outputs at a time, in registers.
func multiply512(sums []int32, w *byte, x []int8, starts []int32, rows, n, m int) {
	_, _, _ = sums[rows*m-1], x[rows*n-1], starts[rows-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += tile {
		i := 0
		for ; i+12 <= rows; i += 12 {
			dot12(&sums[i*m+j], 4*m, &weights[j*n], lanes*n, &x[i*n], n, &starts[i])
		}
		for ; i < rows; i += rowUnit {
			dot4(&sums[i*m+j], 4*m, &weights[j*n], lanes*n, &x[i*n], n, &starts[i])
		}
	}
}

//go:noescape
func wide2(sums *int32, sumStride int, w *byte, x *int8, n int)

// multiplyWide multiplies 2 rows with 16 outputs at a time, as 16-bit numbers: the sums of
// bytes that AVX2 has saturate.
func multiplyWide(sums []int32, w *byte, x []int8, _ []int32, rows, n, m int) {
	_, _ = sums[rows*m-1], x[rows*n-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		for i := 0; i < rows; i += 2 {
			wide2(&sums[i*m+j], 4*m, &weights[j*n], &x[i*n], n)
		}
	}
}

//go:noescape
func scale512(out *float32, sums *int32, n int, factor float32, scales, biases *float32)

func scaleWith512(out []float32, sums []int32, factor float32, scales, biases []float32) {
	n := len(out)
	scale512(&out[0], &sums[:n][0], n, factor, &scales[:n][0], &biases[:n][0])
}

//go:noescape
func highest512(x, smooth *float32, n int) float32

//go:noescape
func round512(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)

func roundWith512(out []int8, x, smooth []float32) (step float32, start int32) {
	n := len(x)
	highest := highest512(&x[0], &smooth[:n][0], n)
	if highest == 0 {
		clear(out[:n])
		return 0, 0
	}
	return highest / most, -offset8 * round512(&out[:n][0], &x[0], &smooth[0], n, most/highest)
}

//go:noescape
func gelu512(x *float32, n int, coefficients *float32)

func geluWith512(x []float32) { gelu512(&x[0], len(x), &phi[0]) }

//go:noescape
func exp512(x *float32, n int, coefficients *float32) float32

func expWith512(x []float32) float32 { return exp512(&x[0], len(x), &power[0]) }

//go:noescape
func add512(x, y *float32, n int) float32

//go:noescape
func squares512(x *float32, n int, mean float32) float32

//go:noescape
func norm512(x *float32, n int, mean, factor float32, weights, biases *float32)

func addNormWith512(x, y, weights, biases []float32) {
	n := len(x)
	mean := add512(&x[0], &y[:n][0], n) / float32(n)
	factor := 1 / float32(math.Sqrt(float64(squares512(&x[0], n, mean)/float32(n)+epsilon)))
	norm512(&x[0], n, mean, factor, &weights[:n][0], &biases[:n][0])
}
