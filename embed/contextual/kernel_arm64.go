package contextual

import "golang.org/x/sys/cpu"

// processors returns what this machine has, the fastest first.
func processors() []processor {
	by := rows{scale4, highest4, round4, gelu4, exp4, add4, squares4, norm4}
	list := []processor{by.processor("NEON", multiplyWide), portable}
	if cpu.ARM64.HasASIMDDP {
		list = append([]processor{by.processor("SDOT", multiplySDOT)}, list...)
	}
	return list
}

//go:noescape
func dots4(sums *int32, sumStride int, w *byte, x *int8, n int)

// multiplySDOT multiplies 4 rows with 16 outputs at a time, in registers.
func multiplySDOT(sums []int32, w *byte, x []int8, _ []int32, rows, n, m int) {
	_, _ = sums[rows*m-1], x[rows*n-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		for i := 0; i < rows; i += rowUnit {
			dots4(&sums[i*m+j], 4*m, &weights[j*n], &x[i*n], n)
		}
	}
}

//go:noescape
func wide1(sums *int32, w *byte, x *int8, n int)

// multiplyWide multiplies a row with 16 outputs at a time, as 16-bit numbers.
func multiplyWide(sums []int32, w *byte, x []int8, _ []int32, rows, n, m int) {
	_, _ = sums[rows*m-1], x[rows*n-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		for i := range rows {
			wide1(&sums[i*m+j], &weights[j*n], &x[i*n], n)
		}
	}
}

func scale4(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
func highest4(x, smooth *float32, n int) float32
func round4(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
func gelu4(x *float32, n int, coefficients *float32)
func exp4(x *float32, n int, coefficients *float32) float32
func add4(x, y *float32, n int) float32
func squares4(x *float32, n int, mean float32) float32
func norm4(x *float32, n int, mean, factor float32, weights, biases *float32)
