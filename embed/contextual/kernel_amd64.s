#include "textflag.h"

// ROW multiplies 4 inputs of one row with 32 outputs.
#define ROW(at, a, b) \
	VPBROADCASTD at, Z26 \
	VPDPBUSD Z26, Z24, a \
	VPDPBUSD Z26, Z25, b

// START sets the sums of a row to what the offset of the weights adds too much.
#define START(at, a, b) \
	VPBROADCASTD at, a \
	VMOVDQA32 a, b

// BEGIN loads the arguments of dot12 and dot4, and begins their first four rows.
#define BEGIN \
	MOVQ sums+0(FP), DI \
	MOVQ sumStride+8(FP), R11 \
	MOVQ w+16(FP), BX \
	MOVQ wStride+24(FP), AX \
	ADDQ BX, AX \
	MOVQ x+32(FP), SI \
	MOVQ n+40(FP), DX \
	MOVQ starts+48(FP), R12 \
	START((R12), Z0, Z1) \
	START(4(R12), Z2, Z3) \
	START(8(R12), Z4, Z5) \
	START(12(R12), Z6, Z7)

#define STORE(a, b) \
	VMOVDQU32 a, (DI) \
	VMOVDQU32 b, 64(DI) \
	ADDQ R11, DI

// func dot12(sums *int32, sumStride int, w *byte, wStride int, x *int8, n int, starts *int32)
TEXT ·dot12(SB), NOSPLIT, $0-56
	BEGIN
	START(16(R12), Z8, Z9)
	START(20(R12), Z10, Z11)
	START(24(R12), Z12, Z13)
	START(28(R12), Z14, Z15)
	START(32(R12), Z16, Z17)
	START(36(R12), Z18, Z19)
	START(40(R12), Z20, Z21)
	START(44(R12), Z22, Z23)
	LEAQ (DX)(DX*2), CX
	LEAQ (SI)(CX*1), R8
	LEAQ (R8)(CX*1), R9
	LEAQ (R9)(CX*1), R10
	MOVQ DX, CX
	SHRQ $2, CX
loop12:
	VMOVDQU32 (BX), Z24
	VMOVDQU32 (AX), Z25
	ROW((SI), Z0, Z1)
	ROW((SI)(DX*1), Z2, Z3)
	ROW((SI)(DX*2), Z4, Z5)
	ROW((R8), Z6, Z7)
	ROW((R8)(DX*1), Z8, Z9)
	ROW((R8)(DX*2), Z10, Z11)
	ROW((R9), Z12, Z13)
	ROW((R9)(DX*1), Z14, Z15)
	ROW((R9)(DX*2), Z16, Z17)
	ROW((R10), Z18, Z19)
	ROW((R10)(DX*1), Z20, Z21)
	ROW((R10)(DX*2), Z22, Z23)
	ADDQ $64, BX
	ADDQ $64, AX
	ADDQ $4, SI
	ADDQ $4, R8
	ADDQ $4, R9
	ADDQ $4, R10
	DECQ CX
	JNZ loop12
	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	STORE(Z8, Z9)
	STORE(Z10, Z11)
	STORE(Z12, Z13)
	STORE(Z14, Z15)
	STORE(Z16, Z17)
	STORE(Z18, Z19)
	STORE(Z20, Z21)
	STORE(Z22, Z23)
	VZEROUPPER
	RET

// func dot4(sums *int32, sumStride int, w *byte, wStride int, x *int8, n int, starts *int32)
TEXT ·dot4(SB), NOSPLIT, $0-56
	BEGIN
	LEAQ (DX)(DX*2), R8
	ADDQ SI, R8
	MOVQ DX, CX
	SHRQ $2, CX
loop4:
	VMOVDQU32 (BX), Z24
	VMOVDQU32 (AX), Z25
	ROW((SI), Z0, Z1)
	ROW((SI)(DX*1), Z2, Z3)
	ROW((SI)(DX*2), Z4, Z5)
	ROW((R8), Z6, Z7)
	ADDQ $64, BX
	ADDQ $64, AX
	ADDQ $4, SI
	ADDQ $4, R8
	DECQ CX
	JNZ loop4
	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	VZEROUPPER
	RET

DATA ones<>+0(SB)/8, $0x0001000100010001
DATA ones<>+8(SB)/8, $0x0001000100010001
DATA ones<>+16(SB)/8, $0x0001000100010001
DATA ones<>+24(SB)/8, $0x0001000100010001
GLOBL ones<>(SB), RODATA|NOPTR, $32

// EIGHT multiplies 8 inputs of a row, in Y12 and Y13, with 8 outputs. The sum of four products has 16
// bits, because weights and inputs have 7.
#define EIGHT(first, second, sum) \
	VPMADDUBSW Y12, first, Y14 \
	VPMADDUBSW Y13, second, Y15 \
	VPADDW Y15, Y14, Y14 \
	VPMADDWD ones<>(SB), Y14, Y14 \
	VPADDD Y14, sum, sum

// PAIRS multiplies 8 inputs of a row, four at x and four at y, with 16 outputs.
#define PAIRS(x, y, low, high) \
	VPBROADCASTD x, Y12 \
	VPBROADCASTD y, Y13 \
	EIGHT(Y8, Y10, low) \
	EIGHT(Y9, Y11, high)

// KEEP adds what the offset of the weights adds too much to the 16 sums of a row, and stores them.
#define KEEP(low, high, start) \
	VPBROADCASTD start, Y12 \
	VPADDD Y12, low, low \
	VPADDD Y12, high, high \
	VMOVDQU low, (DI) \
	VMOVDQU high, 32(DI) \
	ADDQ R11, DI

// func pairs4(sums *int32, sumStride int, w *byte, x *int8, n int, starts *int32)
TEXT ·pairs4(SB), NOSPLIT, $0-48
	MOVQ sums+0(FP), DI
	MOVQ sumStride+8(FP), R11
	MOVQ w+16(FP), BX
	MOVQ x+24(FP), SI
	MOVQ n+32(FP), DX
	MOVQ starts+40(FP), R12
	LEAQ (SI)(DX*2), R8
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	MOVQ DX, CX
	SHRQ $3, CX
pairsloop:
	VMOVDQU (BX), Y8
	VMOVDQU 32(BX), Y9
	VMOVDQU 64(BX), Y10
	VMOVDQU 96(BX), Y11
	PAIRS((SI), 4(SI), Y0, Y1)
	PAIRS((SI)(DX*1), 4(SI)(DX*1), Y2, Y3)
	PAIRS((R8), 4(R8), Y4, Y5)
	PAIRS((R8)(DX*1), 4(R8)(DX*1), Y6, Y7)
	ADDQ $128, BX
	ADDQ $8, SI
	ADDQ $8, R8
	DECQ CX
	JNZ pairsloop
	KEEP(Y0, Y1, (R12))
	KEEP(Y2, Y3, 4(R12))
	KEEP(Y4, Y5, 8(R12))
	KEEP(Y6, Y7, 12(R12))
	VZEROUPPER
	RET

// The functions below take lengths that are multiples of 16.

// func scale512(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
TEXT ·scale512(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Z0
	MOVQ scales+32(FP), R8
	MOVQ biases+40(FP), R9
	XORQ AX, AX
scaleloop:
	VCVTDQ2PS (SI)(AX*4), Z1
	VMULPS (R8)(AX*4), Z0, Z2
	VMULPS Z2, Z1, Z1
	VADDPS (R9)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT scaleloop
	VZEROUPPER
	RET

// FOLD adds or compares the halves of Z1 until one number is left, in X1.
#define FOLD(op, opx) \
	VEXTRACTF64X4 $1, Z1, Y2 \
	op Y2, Y1, Y1 \
	VEXTRACTF128 $1, Y1, X2 \
	opx X2, X1, X1 \
	VPERMILPS $0x0e, X1, X2 \
	opx X2, X1, X1 \
	VPERMILPS $0x01, X1, X2 \
	opx X2, X1, X1

// func highest512(x, smooth *float32, n int) float32
TEXT ·highest512(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ smooth+8(FP), R8
	MOVQ n+16(FP), CX
	MOVL $0x7fffffff, AX
	VPBROADCASTD AX, Z3
	VPXORD Z1, Z1, Z1
	XORQ AX, AX
highestloop:
	VMOVUPS (SI)(AX*4), Z2
	VMULPS (R8)(AX*4), Z2, Z2
	VPANDD Z3, Z2, Z2
	VMAXPS Z2, Z1, Z1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT highestloop
	FOLD(VMAXPS, VMAXPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func round512(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
TEXT ·round512(SB), NOSPLIT, $0-44
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ smooth+16(FP), R8
	MOVQ n+24(FP), CX
	VBROADCASTSS inverse+32(FP), Z0
	VPXORD Z1, Z1, Z1
	XORQ AX, AX
roundloop:
	VMOVUPS (SI)(AX*4), Z2
	VMULPS (R8)(AX*4), Z2, Z2
	VMULPS Z0, Z2, Z2
	VCVTPS2DQ Z2, Z2
	VPADDD Z2, Z1, Z1
	VPMOVDB Z2, (DI)(AX*1)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT roundloop
	VEXTRACTI64X4 $1, Z1, Y2
	VPADDD Y2, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x0e, X1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x01, X1, X2
	VPADDD X2, X1, X1
	VMOVD X1, AX
	MOVL AX, sum+40(FP)
	VZEROUPPER
	RET

// NEXT is a step of a polynomial: p × u + the next coefficient.
#define NEXT(next, u, p) \
	VMULPS u, p, p \
	VADDPS next, p, p

// func gelu512(x *float32, n int, coefficients *float32)
TEXT ·gelu512(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ coefficients+16(FP), R8
	VBROADCASTSS (R8), Z20
	VBROADCASTSS 4(R8), Z21
	VBROADCASTSS 8(R8), Z22
	VBROADCASTSS 12(R8), Z23
	VBROADCASTSS 16(R8), Z24
	VBROADCASTSS 20(R8), Z25
	VBROADCASTSS 24(R8), Z26
	VBROADCASTSS 28(R8), Z27
	VBROADCASTSS 32(R8), Z28
	MOVL $0x40880000, AX
	VPBROADCASTD AX, Z29 // 4.25
	MOVL $0xc0880000, AX
	VPBROADCASTD AX, Z30
	MOVL $0x3f000000, AX
	VPBROADCASTD AX, Z31 // .5
	XORQ AX, AX
geluloop:
	VMOVUPS (SI)(AX*4), Z0
	VMINPS Z29, Z0, Z1
	VMAXPS Z30, Z1, Z1
	VMULPS Z1, Z1, Z2
	VMULPS Z2, Z28, Z3
	VADDPS Z27, Z3, Z3
	NEXT(Z26, Z2, Z3)
	NEXT(Z25, Z2, Z3)
	NEXT(Z24, Z2, Z3)
	NEXT(Z23, Z2, Z3)
	NEXT(Z22, Z2, Z3)
	NEXT(Z21, Z2, Z3)
	NEXT(Z20, Z2, Z3)
	VMULPS Z1, Z3, Z3
	VADDPS Z31, Z3, Z3
	VMULPS Z3, Z0, Z0
	VMOVUPS Z0, (SI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT geluloop
	VZEROUPPER
	RET

// func exp512(x *float32, n int, coefficients *float32) float32
TEXT ·exp512(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ coefficients+16(FP), R8
	VBROADCASTSS (R8), Z20
	VBROADCASTSS 4(R8), Z21
	VBROADCASTSS 8(R8), Z22
	VBROADCASTSS 12(R8), Z23
	VBROADCASTSS 16(R8), Z24
	MOVL $0x3fb8aa3b, AX
	VPBROADCASTD AX, Z25 // log2e
	MOVL $0xc2fa0000, AX
	VPBROADCASTD AX, Z26 // -125
	MOVL $0x4b400000, AX
	VPBROADCASTD AX, Z27 // the shift
	VMOVUPS (SI), Z1
	XORQ AX, AX
expmax:
	VMAXPS (SI)(AX*4), Z1, Z1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT expmax
	FOLD(VMAXPS, VMAXPS)
	VBROADCASTSS X1, Z3
	VPXORD Z1, Z1, Z1
	XORQ AX, AX
exploop:
	VMOVUPS (SI)(AX*4), Z0
	VSUBPS Z3, Z0, Z0
	VMULPS Z25, Z0, Z0
	VMAXPS Z26, Z0, Z0
	VADDPS Z27, Z0, Z4
	VSUBPS Z27, Z4, Z5
	VSUBPS Z5, Z0, Z5
	VMULPS Z5, Z24, Z6
	VADDPS Z23, Z6, Z6
	NEXT(Z22, Z5, Z6)
	NEXT(Z21, Z5, Z6)
	NEXT(Z20, Z5, Z6)
	VPSLLD $23, Z4, Z4
	VPADDD Z4, Z6, Z6
	VMOVUPS Z6, (SI)(AX*4)
	VADDPS Z6, Z1, Z1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT exploop
	FOLD(VADDPS, VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func add512(x, y *float32, n int) float32
TEXT ·add512(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), R8
	MOVQ n+16(FP), CX
	VPXORD Z1, Z1, Z1
	XORQ AX, AX
addloop:
	VMOVUPS (SI)(AX*4), Z0
	VADDPS (R8)(AX*4), Z0, Z0
	VMOVUPS Z0, (SI)(AX*4)
	VADDPS Z0, Z1, Z1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT addloop
	FOLD(VADDPS, VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func squares512(x *float32, n int, mean float32) float32
TEXT ·squares512(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS mean+16(FP), Z3
	VPXORD Z1, Z1, Z1
	XORQ AX, AX
squaresloop:
	VMOVUPS (SI)(AX*4), Z0
	VSUBPS Z3, Z0, Z0
	VMULPS Z0, Z0, Z0
	VADDPS Z0, Z1, Z1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT squaresloop
	FOLD(VADDPS, VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func norm512(x *float32, n int, mean, factor float32, weights, biases *float32)
TEXT ·norm512(SB), NOSPLIT, $0-40
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS mean+16(FP), Z3
	VBROADCASTSS factor+20(FP), Z4
	MOVQ weights+24(FP), R8
	MOVQ biases+32(FP), R9
	XORQ AX, AX
normloop:
	VMOVUPS (SI)(AX*4), Z0
	VSUBPS Z3, Z0, Z0
	VMULPS Z4, Z0, Z0
	VMULPS (R8)(AX*4), Z0, Z0
	VADDPS (R9)(AX*4), Z0, Z0
	VMOVUPS Z0, (SI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT normloop
	VZEROUPPER
	RET

// What follows computes the same with 8 numbers at a time, where sums of 16 parts take two registers.

// func scale256(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
TEXT ·scale256(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ sums+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y0
	MOVQ scales+32(FP), R8
	MOVQ biases+40(FP), R9
	XORQ AX, AX
scaleloop8:
	VCVTDQ2PS (SI)(AX*4), Y1
	VMULPS (R8)(AX*4), Y0, Y2
	VMULPS Y2, Y1, Y1
	VADDPS (R9)(AX*4), Y1, Y1
	VMOVUPS Y1, (DI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JLT scaleloop8
	VZEROUPPER
	RET

// FOLD8 adds or compares Y1 and Y2, then the halves until one number is left, in X1.
#define FOLD8(op) \
	op Y2, Y1, Y1 \
	VEXTRACTF128 $1, Y1, X2 \
	op X2, X1, X1 \
	VPERMILPS $0x0e, X1, X2 \
	op X2, X1, X1 \
	VPERMILPS $0x01, X1, X2 \
	op X2, X1, X1

// func highest256(x, smooth *float32, n int) float32
TEXT ·highest256(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ smooth+8(FP), R8
	MOVQ n+16(FP), CX
	VPCMPEQD Y3, Y3, Y3
	VPSRLD $1, Y3, Y3
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX
highestloop8:
	VMOVUPS (SI)(AX*4), Y4
	VMOVUPS 32(SI)(AX*4), Y5
	VMULPS (R8)(AX*4), Y4, Y4
	VMULPS 32(R8)(AX*4), Y5, Y5
	VPAND Y3, Y4, Y4
	VPAND Y3, Y5, Y5
	VMAXPS Y4, Y1, Y1
	VMAXPS Y5, Y2, Y2
	ADDQ $16, AX
	CMPQ AX, CX
	JLT highestloop8
	FOLD8(VMAXPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func round256(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
TEXT ·round256(SB), NOSPLIT, $0-44
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ smooth+16(FP), R8
	MOVQ n+24(FP), CX
	VBROADCASTSS inverse+32(FP), Y0
	VPXOR Y1, Y1, Y1
	XORQ AX, AX
roundloop8:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VMULPS (R8)(AX*4), Y2, Y2
	VMULPS 32(R8)(AX*4), Y3, Y3
	VMULPS Y0, Y2, Y2
	VMULPS Y0, Y3, Y3
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPADDD Y2, Y1, Y1
	VPADDD Y3, Y1, Y1
	VPACKSSDW Y3, Y2, Y2
	VPERMQ $0xd8, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	VPACKSSWB X3, X2, X2
	VMOVDQU X2, (DI)(AX*1)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT roundloop8
	VEXTRACTI128 $1, Y1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x0e, X1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x01, X1, X2
	VPADDD X2, X1, X1
	VMOVD X1, AX
	MOVL AX, sum+40(FP)
	VZEROUPPER
	RET

// NEXT8 is NEXT for a coefficient in memory.
#define NEXT8(at, u, p) \
	VMULPS u, p, p \
	VBROADCASTSS at, Y7 \
	VADDPS Y7, p, p

// func gelu256(x *float32, n int, coefficients *float32)
TEXT ·gelu256(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ coefficients+16(FP), R8
	VBROADCASTSS 32(R8), Y12
	VBROADCASTSS 28(R8), Y11
	VBROADCASTSS 24(R8), Y10
	VBROADCASTSS 20(R8), Y9
	VBROADCASTSS 16(R8), Y8
	MOVL $0x40880000, AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13 // 4.25
	MOVL $0xc0880000, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	MOVL $0x3f000000, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15 // .5
	XORQ AX, AX
geluloop8:
	VMOVUPS (SI)(AX*4), Y0
	VMINPS Y13, Y0, Y1
	VMAXPS Y14, Y1, Y1
	VMULPS Y1, Y1, Y2
	VMULPS Y2, Y12, Y3
	VADDPS Y11, Y3, Y3
	NEXT(Y10, Y2, Y3)
	NEXT(Y9, Y2, Y3)
	NEXT(Y8, Y2, Y3)
	NEXT8(12(R8), Y2, Y3)
	NEXT8(8(R8), Y2, Y3)
	NEXT8(4(R8), Y2, Y3)
	NEXT8((R8), Y2, Y3)
	VMULPS Y1, Y3, Y3
	VADDPS Y15, Y3, Y3
	VMULPS Y3, Y0, Y0
	VMOVUPS Y0, (SI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JLT geluloop8
	VZEROUPPER
	RET

// POWER sets x to e^(x - Y3).
#define POWER(x, whole, f, p) \
	VSUBPS Y3, x, x \
	VMULPS Y13, x, x \
	VMAXPS Y14, x, x \
	VADDPS Y15, x, whole \
	VSUBPS Y15, whole, f \
	VSUBPS f, x, f \
	VMULPS f, Y12, p \
	VADDPS Y11, p, p \
	NEXT(Y10, f, p) \
	NEXT(Y9, f, p) \
	NEXT8((R8), f, p) \
	VPSLLD $23, whole, whole \
	VPADDD whole, p, x

// func exp256(x *float32, n int, coefficients *float32) float32
TEXT ·exp256(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ coefficients+16(FP), R8
	VBROADCASTSS 4(R8), Y9
	VBROADCASTSS 8(R8), Y10
	VBROADCASTSS 12(R8), Y11
	VBROADCASTSS 16(R8), Y12
	MOVL $0x3fb8aa3b, AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13 // log2e
	MOVL $0xc2fa0000, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14 // -125
	MOVL $0x4b400000, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15 // the shift
	VMOVUPS (SI), Y1
	VMOVUPS 32(SI), Y2
	XORQ AX, AX
expmax8:
	VMAXPS (SI)(AX*4), Y1, Y1
	VMAXPS 32(SI)(AX*4), Y2, Y2
	ADDQ $16, AX
	CMPQ AX, CX
	JLT expmax8
	FOLD8(VMAXPS)
	VBROADCASTSS X1, Y3
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX
exploop8:
	VMOVUPS (SI)(AX*4), Y0
	POWER(Y0, Y4, Y5, Y6)
	VMOVUPS Y0, (SI)(AX*4)
	VADDPS Y0, Y1, Y1
	VMOVUPS 32(SI)(AX*4), Y0
	POWER(Y0, Y4, Y5, Y6)
	VMOVUPS Y0, 32(SI)(AX*4)
	VADDPS Y0, Y2, Y2
	ADDQ $16, AX
	CMPQ AX, CX
	JLT exploop8
	FOLD8(VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func add256(x, y *float32, n int) float32
TEXT ·add256(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), R8
	MOVQ n+16(FP), CX
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX
addloop8:
	VMOVUPS (SI)(AX*4), Y0
	VMOVUPS 32(SI)(AX*4), Y3
	VADDPS (R8)(AX*4), Y0, Y0
	VADDPS 32(R8)(AX*4), Y3, Y3
	VMOVUPS Y0, (SI)(AX*4)
	VMOVUPS Y3, 32(SI)(AX*4)
	VADDPS Y0, Y1, Y1
	VADDPS Y3, Y2, Y2
	ADDQ $16, AX
	CMPQ AX, CX
	JLT addloop8
	FOLD8(VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func squares256(x *float32, n int, mean float32) float32
TEXT ·squares256(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS mean+16(FP), Y3
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX
squaresloop8:
	VMOVUPS (SI)(AX*4), Y0
	VMOVUPS 32(SI)(AX*4), Y4
	VSUBPS Y3, Y0, Y0
	VSUBPS Y3, Y4, Y4
	VMULPS Y0, Y0, Y0
	VMULPS Y4, Y4, Y4
	VADDPS Y0, Y1, Y1
	VADDPS Y4, Y2, Y2
	ADDQ $16, AX
	CMPQ AX, CX
	JLT squaresloop8
	FOLD8(VADDPS)
	VMOVSS X1, ret+24(FP)
	VZEROUPPER
	RET

// func norm256(x *float32, n int, mean, factor float32, weights, biases *float32)
TEXT ·norm256(SB), NOSPLIT, $0-40
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS mean+16(FP), Y3
	VBROADCASTSS factor+20(FP), Y4
	MOVQ weights+24(FP), R8
	MOVQ biases+32(FP), R9
	XORQ AX, AX
normloop8:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS Y3, Y0, Y0
	VMULPS Y4, Y0, Y0
	VMULPS (R8)(AX*4), Y0, Y0
	VADDPS (R9)(AX*4), Y0, Y0
	VMOVUPS Y0, (SI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JLT normloop8
	VZEROUPPER
	RET
