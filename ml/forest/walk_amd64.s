#include "textflag.h"

// The walk of package forest in instructions of BMI2. SI: nodes; DI: keys; CX: bits of a column; BX: their mask; R8 to R14
// and BP: the nodes that eight lanes are at. R15 is left alone: it is the linker's where a plugin's engine is built.

// ROWSTEP goes from a row's node R to one of its children: AX is the threshold, DX the place of the column's keys, and the
// carry of the comparison, threshold below key, goes right.
#define ROWSTEP(R, KEY) \
	MOVL  4(SI)(R*8), DX    \
	MOVL  (SI)(R*8), AX     \
	SHRXL CX, DX, R         \
	ANDL  BX, DX            \
	CMPL  AX, KEY(DI)(DX*8) \
	ADCL  $0, R

// ROWLEAST keeps the least threshold in AX.
#define ROWLEAST(R) \
	MOVL    (SI)(R*8), DX \
	CMPL    AX, DX        \
	CMOVLHI DX, AX

#define ROWLEAF(R, AT) \
	MOVL (SI)(R*8), AX \
	MOVL AX, AT(DX)

#define START \
	XORL R8, R8   \
	XORL R9, R9   \
	XORL R10, R10 \
	XORL R11, R11 \
	XORL R12, R12 \
	XORL R13, R13 \
	XORL R14, R14 \
	XORL BP, BP

// func downRows(nodes *uint64, keys, leaves *uint32, groups, size, depth, shift, mask int)
TEXT ·downRows(SB), NOSPLIT, $8-64
	MOVQ nodes+0(FP), SI
	MOVQ keys+8(FP), DI
	MOVQ shift+48(FP), CX
	MOVQ mask+56(FP), BX

group:
	MOVQ depth+40(FP), AX
	MOVQ AX, levels-8(SP)
	START

level:
	ROWSTEP(R8, 0)
	ROWSTEP(R9, 4)
	ROWSTEP(R10, 8)
	ROWSTEP(R11, 12)
	ROWSTEP(R12, 16)
	ROWSTEP(R13, 20)
	ROWSTEP(R14, 24)
	ROWSTEP(BP, 28)
	DECQ  levels-8(SP)
	JZ    done
	TESTQ $3, levels-8(SP)
	JNZ   level

	// Every fourth level: all lanes are at leaves when the least threshold is one of theirs.
	MOVL (SI)(R8*8), AX
	ROWLEAST(R9)
	ROWLEAST(R10)
	ROWLEAST(R11)
	ROWLEAST(R12)
	ROWLEAST(R13)
	ROWLEAST(R14)
	ROWLEAST(BP)
	CMPL AX, $0xff800000
	JCS  level

done:
	MOVQ leaves+16(FP), DX
	ROWLEAF(R8, 0)
	ROWLEAF(R9, 4)
	ROWLEAF(R10, 8)
	ROWLEAF(R11, 12)
	ROWLEAF(R12, 16)
	ROWLEAF(R13, 20)
	ROWLEAF(R14, 24)
	ROWLEAF(BP, 28)
	ADDQ $32, DX
	MOVQ DX, leaves+16(FP)
	ADDQ size+32(FP), DI
	DECQ groups+24(FP)
	JNZ  group
	RET

// TREESTEP is ROWSTEP for one row in lanes of a tree each: the nodes of this one begin at TREE of the list in SI.
#define TREESTEP(R, TREE) \
	MOVQ  TREE(SI), DX   \
	MOVL  (DX)(R*8), AX  \
	MOVL  4(DX)(R*8), DX \
	SHRXL CX, DX, R      \
	ANDL  BX, DX         \
	CMPL  AX, (DI)(DX*1) \
	ADCL  $0, R

#define TREELEAST(R, TREE) \
	MOVQ    TREE(SI), DX  \
	MOVL    (DX)(R*8), DX \
	CMPL    AX, DX        \
	CMOVLHI DX, AX

#define TREELEAF(R, TREE, AT) \
	MOVQ TREE(SI), AX  \
	MOVL (AX)(R*8), AX \
	MOVL AX, AT(DX)

// func downTrees(nodes **uint64, keys, leaves *uint32, depth, shift, mask int)
TEXT ·downTrees(SB), NOSPLIT, $8-48
	MOVQ nodes+0(FP), SI
	MOVQ keys+8(FP), DI
	MOVQ shift+32(FP), CX
	MOVQ mask+40(FP), BX
	START

level:
	TREESTEP(R8, 0)
	TREESTEP(R9, 8)
	TREESTEP(R10, 16)
	TREESTEP(R11, 24)
	TREESTEP(R12, 32)
	TREESTEP(R13, 40)
	TREESTEP(R14, 48)
	TREESTEP(BP, 56)
	DECQ  depth+24(FP)
	JZ    done
	TESTQ $3, depth+24(FP)
	JNZ   level
	MOVQ  0(SI), AX
	MOVL  (AX)(R8*8), AX
	TREELEAST(R9, 8)
	TREELEAST(R10, 16)
	TREELEAST(R11, 24)
	TREELEAST(R12, 32)
	TREELEAST(R13, 40)
	TREELEAST(R14, 48)
	TREELEAST(BP, 56)
	CMPL  AX, $0xff800000
	JCS   level

done:
	MOVQ leaves+16(FP), DX
	TREELEAF(R8, 0, 0)
	TREELEAF(R9, 8, 4)
	TREELEAF(R10, 16, 8)
	TREELEAF(R11, 24, 12)
	TREELEAF(R12, 32, 16)
	TREELEAF(R13, 40, 20)
	TREELEAF(R14, 48, 24)
	TREELEAF(BP, 56, 28)
	RET
