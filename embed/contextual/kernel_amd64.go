package contextual

import "golang.org/x/sys/cpu"

// processors returns what this machine has, the fastest first.
func processors() []processor {
	list := []processor{portable}
	if cpu.X86.HasAVX2 {
		avx2 := rows{scale256, highest256, round256, gelu256, exp256, add256, squares256, norm256}
		list = append([]processor{avx2.processor("AVX2", multiply256)}, list...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
		avx512 := rows{scale512, highest512, round512, gelu512, exp512, add512, squares512, norm512}
		list = append([]processor{avx512.processor("AVX-512 VNNI", multiply512)}, list...)
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
func pairs4(sums *int32, sumStride int, w *byte, x *int8, n int, starts *int32)

// multiply256 multiplies 4 rows with 16 outputs at a time, in registers.
func multiply256(sums []int32, w *byte, x []int8, starts []int32, rows, n, m int) {
	_, _, _ = sums[rows*m-1], x[rows*n-1], starts[rows-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		for i := 0; i < rows; i += rowUnit {
			pairs4(&sums[i*m+j], 4*m, &weights[j*n], &x[i*n], n, &starts[i])
		}
	}
}

func scale256(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
func highest256(x, smooth *float32, n int) float32
func round256(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
func gelu256(x *float32, n int, coefficients *float32)
func exp256(x *float32, n int, coefficients *float32) float32
func add256(x, y *float32, n int) float32
func squares256(x *float32, n int, mean float32) float32
func norm256(x *float32, n int, mean, factor float32, weights, biases *float32)
func scale512(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
func highest512(x, smooth *float32, n int) float32
func round512(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
func gelu512(x *float32, n int, coefficients *float32)
func exp512(x *float32, n int, coefficients *float32) float32
func add512(x, y *float32, n int) float32
func squares512(x *float32, n int, mean float32) float32
func norm512(x *float32, n int, mean, factor float32, weights, biases *float32)
