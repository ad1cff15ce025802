package contextual

import "golang.org/x/sys/cpu"

// processors returns what this machine has, the fastest first.
func processors() []processor {
	neon, sdot := portable, portable
	neon.name, neon.multiply = "NEON", multiplyWide
	sdot.name, sdot.multiply = "SDOT", multiplySDOT
	if cpu.ARM64.HasASIMDDP {
		return []processor{sdot, neon, portable}
	}
	return []processor{neon, portable}
}

//go:noescape
func dots4(sums *int32, sumStride int, w *byte, x *int8, n int)

// multiplySDOT multiplies 4 rows with 16 outputs at a time, in registers.
func multiplySDOT(sums []int32, w *byte, x []int8, _ []int32, _ []int16, rows, n, m int) {
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
func multiplyWide(sums []int32, w *byte, x []int8, _ []int32, _ []int16, rows, n, m int) {
	_, _ = sums[rows*m-1], x[rows*n-1]
	weights := bytesAt(w, n*m)
	for j := 0; j < m; j += lanes {
		for i := range rows {
			wide1(&sums[i*m+j], &weights[j*n], &x[i*n], n)
		}
	}
}
