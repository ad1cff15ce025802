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
	VEOR V8.B16, V0.B16, V0.B16 \
	VEOR V8.B16, V1.B16, V1.B16 \
	VEOR V8.B16, V2.B16, V2.B16 \
	VEOR V8.B16, V3.B16, V3.B16

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
	VMOVI $128, V8.B16
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
	VMOVI $128, V8.B16
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
