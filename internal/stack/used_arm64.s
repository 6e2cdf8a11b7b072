#include "textflag.h"

// func Used() uintptr
// The runtime's g begins with its stack's bounds, the lower one first (type g in runtime/runtime2.go).
TEXT ·Used(SB), NOSPLIT, $0-8
	MOVD 8(g), R0
	MOVD RSP, R1
	SUB  R1, R0, R0
	MOVD R0, ret+0(FP)
	RET

// func Goroutine() uintptr
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func Bounds() (lo, hi uintptr)
TEXT ·Bounds(SB), NOSPLIT, $0-16
	MOVD 0(g), R0
	MOVD R0, lo+0(FP)
	MOVD 8(g), R0
	MOVD R0, hi+8(FP)
	RET
