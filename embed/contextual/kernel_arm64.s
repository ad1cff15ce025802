#include "textflag.h"

// The assembler has no names for these. Numbers are of vector registers.

// SDOT adds to each 32-bit number of d the products of 4 bytes of n with the 4 bytes of m that
// index chooses.
#define SDOT(d, n, m, index) WORD $(0x4f80e000 | ((index)&1)<<21 | ((index)>>1)<<11 | (m)<<16 | (n)<<5 | (d))

// SMULL and SMULL2 multiply the lower and the upper 8 bytes of n and m.
#define SMULL(d, n, m) WORD $(0x0e20c000 | (m)<<16 | (n)<<5 | (d))
#define SMULL2(d, n, m) WORD $(0x4e20c000 | (m)<<16 | (n)<<5 | (d))

// SADALP adds pairs of 16-bit numbers of n to the 32-bit numbers of d.
#define SADALP(d, n) WORD $(0x4e606800 | (n)<<5 | (d))

// WEIGHTS loads 64 weights and takes their offset off.
#define WEIGHTS \
	VLD1.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VSUB V8.B16, V0.B16, V0.B16 \
	VSUB V8.B16, V1.B16, V1.B16 \
	VSUB V8.B16, V2.B16, V2.B16 \
	VSUB V8.B16, V3.B16, V3.B16

// CLEAR sets the first eight registers of sums to 0.
#define CLEAR \
	VEOR V16.B16, V16.B16, V16.B16 \
	VEOR V17.B16, V17.B16, V17.B16 \
	VEOR V18.B16, V18.B16, V18.B16 \
	VEOR V19.B16, V19.B16, V19.B16 \
	VEOR V20.B16, V20.B16, V20.B16 \
	VEOR V21.B16, V21.B16, V21.B16 \
	VEOR V22.B16, V22.B16, V22.B16 \
	VEOR V23.B16, V23.B16, V23.B16

// ROW multiplies 4 inputs of a row, in x, with 16 outputs.
#define ROW(a, b, c, d, x, index) \
	SDOT(a, 0, x, index) \
	SDOT(b, 1, x, index) \
	SDOT(c, 2, x, index) \
	SDOT(d, 3, x, index)

#define ROWS(index) \
	WEIGHTS \
	ROW(16, 17, 18, 19, 4, index) \
	ROW(20, 21, 22, 23, 5, index) \
	ROW(24, 25, 26, 27, 6, index) \
	ROW(28, 29, 30, 31, 7, index)

// func dots4(sums *int32, sumStride int, w *byte, x *int8, n int)
TEXT ·dots4(SB), NOSPLIT, $0-40
	MOVD sums+0(FP), R0
	MOVD sumStride+8(FP), R1
	MOVD w+16(FP), R2
	MOVD x+24(FP), R3
	MOVD n+32(FP), R4
	ADD R4, R3, R5
	ADD R4, R5, R6
	ADD R4, R6, R7
	VMOVI $64, V8.B16
	CLEAR
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16
dotsloop:
	VLD1.P 16(R3), [V4.B16]
	VLD1.P 16(R5), [V5.B16]
	VLD1.P 16(R6), [V6.B16]
	VLD1.P 16(R7), [V7.B16]
	ROWS(0)
	ROWS(1)
	ROWS(2)
	ROWS(3)
	SUBS $16, R4, R4
	BNE dotsloop
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R0)
	ADD R1, R0, R0
	VST1 [V20.S4, V21.S4, V22.S4, V23.S4], (R0)
	ADD R1, R0, R0
	VST1 [V24.S4, V25.S4, V26.S4, V27.S4], (R0)
	ADD R1, R0, R0
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R0)
	RET

// WIDE multiplies 4 inputs, repeated in V5, with 4 outputs, whose sums are two halves each.
#define WIDE(a, b, w) \
	SMULL(6, w, 5) \
	SMULL2(7, w, 5) \
	SADALP(a, 6) \
	SADALP(b, 7)

#define WIDES(index) \
	WEIGHTS \
	VDUP V4.S[index], V5.S4 \
	WIDE(16, 17, 0) \
	WIDE(18, 19, 1) \
	WIDE(20, 21, 2) \
	WIDE(22, 23, 3)

// func wide1(sums *int32, w *byte, x *int8, n int)
TEXT ·wide1(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD w+8(FP), R2
	MOVD x+16(FP), R3
	MOVD n+24(FP), R4
	VMOVI $64, V8.B16
	CLEAR
wideloop:
	VLD1.P 16(R3), [V4.B16]
	WIDES(0)
	WIDES(1)
	WIDES(2)
	WIDES(3)
	SUBS $16, R4, R4
	BNE wideloop
	VADDP V17.S4, V16.S4, V16.S4
	VADDP V19.S4, V18.S4, V17.S4
	VADDP V21.S4, V20.S4, V18.S4
	VADDP V23.S4, V22.S4, V19.S4
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R0)
	RET

// What follows takes 16 numbers at a time, in four registers each, from the named one on. Lengths are
// multiples of 16.

#define FMUL(d, n, m) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))
#define FADD(d, n, m) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(d, n, m) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(d, n, m) WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(d, n, m) WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d))
#define FABS(d, n) WORD $(0x4ea0f800 | (n)<<5 | (d))
#define SCVTF(d, n) WORD $(0x4e21d800 | (n)<<5 | (d))

// FCVTNS rounds to whole numbers, half to even.
#define FCVTNS(d, n) WORD $(0x4e21a800 | (n)<<5 | (d))

// SQXTN and SQXTN2 narrow four numbers into the lower and the upper half of d; SQXTNB and SQXTNB2 eight.
#define SQXTN(d, n) WORD $(0x0e614800 | (n)<<5 | (d))
#define SQXTN2(d, n) WORD $(0x4e614800 | (n)<<5 | (d))
#define SQXTNB(d, n) WORD $(0x0e214800 | (n)<<5 | (d))
#define SQXTNB2(d, n) WORD $(0x4e214800 | (n)<<5 | (d))

// EACH and EACHBY apply an instruction to 16 numbers, EACHBY with the same second operand.
#define EACH(op, d, n, m) \
	op(d, n, m) \
	op(d+1, n+1, m+1) \
	op(d+2, n+2, m+2) \
	op(d+3, n+3, m+3)
#define EACHBY(op, d, n, m) \
	op(d, n, m) \
	op(d+1, n+1, m) \
	op(d+2, n+2, m) \
	op(d+3, n+3, m)
#define EACHOF(op, d, n) \
	op(d, n) \
	op(d+1, n+1) \
	op(d+2, n+2) \
	op(d+3, n+3)

// FOLD4 adds or compares the halves of the 16 numbers from V20 on until one is left, the first of V20.
#define FOLD4(op) \
	op(20, 20, 22) \
	op(21, 21, 23) \
	op(20, 20, 21) \
	VEXT $8, V20.B16, V20.B16, V21.B16 \
	op(20, 20, 21) \
	VEXT $4, V20.B16, V20.B16, V21.B16 \
	op(20, 20, 21)

// ZERO sets the 16 numbers from V20 on to 0.
#define ZERO \
	VEOR V20.B16, V20.B16, V20.B16 \
	VEOR V21.B16, V21.B16, V21.B16 \
	VEOR V22.B16, V22.B16, V22.B16 \
	VEOR V23.B16, V23.B16, V23.B16

// func scale4(out *float32, sums *int32, n int, factor float32, scales, biases *float32)
TEXT ·scale4(SB), NOSPLIT, $0-48
	MOVD out+0(FP), R0
	MOVD sums+8(FP), R1
	MOVD n+16(FP), R2
	FMOVS factor+24(FP), F24
	VDUP V24.S[0], V24.S4
	MOVD scales+32(FP), R3
	MOVD biases+40(FP), R4
scaleloop:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	EACHOF(SCVTF, 0, 0)
	EACHBY(FMUL, 4, 4, 24)
	EACH(FMUL, 0, 0, 4)
	EACH(FADD, 0, 0, 16)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS $16, R2, R2
	BGT scaleloop
	RET

// func highest4(x, smooth *float32, n int) float32
TEXT ·highest4(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD smooth+8(FP), R1
	MOVD n+16(FP), R2
	ZERO
highestloop:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	EACH(FMUL, 0, 0, 4)
	EACHOF(FABS, 0, 0)
	EACH(FMAX, 20, 20, 0)
	SUBS $16, R2, R2
	BGT highestloop
	FOLD4(FMAX)
	FMOVS F20, ret+24(FP)
	RET

// func round4(out *int8, x, smooth *float32, n int, inverse float32) (sum int32)
TEXT ·round4(SB), NOSPLIT, $0-44
	MOVD out+0(FP), R0
	MOVD x+8(FP), R1
	MOVD smooth+16(FP), R3
	MOVD n+24(FP), R2
	FMOVS inverse+32(FP), F24
	VDUP V24.S[0], V24.S4
	VEOR V20.B16, V20.B16, V20.B16
roundloop:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4]
	EACH(FMUL, 0, 0, 4)
	EACHBY(FMUL, 0, 0, 24)
	EACHOF(FCVTNS, 0, 0)
	VADD V0.S4, V20.S4, V20.S4
	VADD V1.S4, V20.S4, V20.S4
	VADD V2.S4, V20.S4, V20.S4
	VADD V3.S4, V20.S4, V20.S4
	SQXTN(4, 0)
	SQXTN2(4, 1)
	SQXTN(5, 2)
	SQXTN2(5, 3)
	SQXTNB(0, 4)
	SQXTNB2(0, 5)
	VST1.P [V0.B16], 16(R0)
	SUBS $16, R2, R2
	BGT roundloop
	VADDV V20.S4, V20
	FMOVS F20, sum+40(FP)
	RET

// NEXTPART is a step of a polynomial: the 16 numbers p × u + the next coefficient.
#define NEXTPART(p, u, next) \
	EACH(FMUL, p, p, u) \
	EACHBY(FADD, p, p, next)

// func gelu4(x *float32, n int, coefficients *float32)
TEXT ·gelu4(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R2
	MOVD coefficients+16(FP), R3
	VLD1.P 32(R3), [V12.S4, V13.S4]
	FMOVS (R3), F8
	VDUP V8.S[0], V8.S4
	VDUP V12.S[0], V24.S4
	VDUP V12.S[1], V25.S4
	VDUP V12.S[2], V26.S4
	VDUP V12.S[3], V27.S4
	VDUP V13.S[0], V28.S4
	VDUP V13.S[1], V29.S4
	VDUP V13.S[2], V30.S4
	VDUP V13.S[3], V31.S4
	MOVW $0x40880000, R4
	VDUP R4, V9.S4 // 4.25
	MOVW $0xc0880000, R4
	VDUP R4, V10.S4
	MOVW $0x3f000000, R4
	VDUP R4, V11.S4 // .5
geluloop:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	EACHBY(FMIN, 4, 0, 9)
	EACHBY(FMAX, 4, 4, 10)
	EACH(FMUL, 16, 4, 4)
	EACHBY(FMUL, 20, 16, 8)
	EACHBY(FADD, 20, 20, 31)
	NEXTPART(20, 16, 30)
	NEXTPART(20, 16, 29)
	NEXTPART(20, 16, 28)
	NEXTPART(20, 16, 27)
	NEXTPART(20, 16, 26)
	NEXTPART(20, 16, 25)
	NEXTPART(20, 16, 24)
	EACH(FMUL, 4, 4, 20)
	EACHBY(FADD, 4, 4, 11)
	EACH(FMUL, 0, 0, 4)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS $16, R2, R2
	BGT geluloop
	RET

// func exp4(x *float32, n int, coefficients *float32) float32
TEXT ·exp4(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD n+8(FP), R2
	MOVD coefficients+16(FP), R3
	VLD1.P 16(R3), [V12.S4]
	FMOVS (R3), F28
	VDUP V28.S[0], V28.S4
	VDUP V12.S[0], V24.S4
	VDUP V12.S[1], V25.S4
	VDUP V12.S[2], V26.S4
	VDUP V12.S[3], V27.S4
	MOVW $0x3fb8aa3b, R4
	VDUP R4, V29.S4 // log2e
	MOVW $0xc2fa0000, R4
	VDUP R4, V30.S4 // -125
	MOVW $0x4b400000, R4
	VDUP R4, V31.S4 // the shift
	VLD1 (R0), [V20.S4, V21.S4, V22.S4, V23.S4]
	MOVD R0, R5
	MOVD R2, R6
expmax:
	VLD1.P 64(R5), [V0.S4, V1.S4, V2.S4, V3.S4]
	EACH(FMAX, 20, 20, 0)
	SUBS $16, R6, R6
	BGT expmax
	FOLD4(FMAX)
	VDUP V20.S[0], V8.S4
	ZERO
exploop:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	EACHBY(FSUB, 0, 0, 8)
	EACHBY(FMUL, 0, 0, 29)
	EACHBY(FMAX, 0, 0, 30)
	EACHBY(FADD, 4, 0, 31)
	EACHBY(FSUB, 16, 4, 31)
	EACH(FSUB, 16, 0, 16)
	EACHBY(FMUL, 0, 16, 28)
	EACHBY(FADD, 0, 0, 27)
	NEXTPART(0, 16, 26)
	NEXTPART(0, 16, 25)
	NEXTPART(0, 16, 24)
	VSHL $23, V4.S4, V4.S4
	VSHL $23, V5.S4, V5.S4
	VSHL $23, V6.S4, V6.S4
	VSHL $23, V7.S4, V7.S4
	VADD V4.S4, V0.S4, V0.S4
	VADD V5.S4, V1.S4, V1.S4
	VADD V6.S4, V2.S4, V2.S4
	VADD V7.S4, V3.S4, V3.S4
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	EACH(FADD, 20, 20, 0)
	SUBS $16, R2, R2
	BGT exploop
	FOLD4(FADD)
	FMOVS F20, ret+24(FP)
	RET

// func add4(x, y *float32, n int) float32
TEXT ·add4(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD y+8(FP), R1
	MOVD n+16(FP), R2
	ZERO
addloop:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	EACH(FADD, 0, 0, 4)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	EACH(FADD, 20, 20, 0)
	SUBS $16, R2, R2
	BGT addloop
	FOLD4(FADD)
	FMOVS F20, ret+24(FP)
	RET

// func squares4(x *float32, n int, mean float32) float32
TEXT ·squares4(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD n+8(FP), R2
	FMOVS mean+16(FP), F24
	VDUP V24.S[0], V24.S4
	ZERO
squaresloop:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	EACHBY(FSUB, 0, 0, 24)
	EACH(FMUL, 0, 0, 0)
	EACH(FADD, 20, 20, 0)
	SUBS $16, R2, R2
	BGT squaresloop
	FOLD4(FADD)
	FMOVS F20, ret+24(FP)
	RET

// func norm4(x *float32, n int, mean, factor float32, weights, biases *float32)
TEXT ·norm4(SB), NOSPLIT, $0-40
	MOVD x+0(FP), R0
	MOVD n+8(FP), R2
	FMOVS mean+16(FP), F24
	VDUP V24.S[0], V24.S4
	FMOVS factor+20(FP), F25
	VDUP V25.S[0], V25.S4
	MOVD weights+24(FP), R3
	MOVD biases+32(FP), R4
normloop:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	EACHBY(FSUB, 0, 0, 24)
	EACHBY(FMUL, 0, 0, 25)
	EACH(FMUL, 0, 0, 4)
	EACH(FADD, 0, 0, 16)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS $16, R2, R2
	BGT normloop
	RET
