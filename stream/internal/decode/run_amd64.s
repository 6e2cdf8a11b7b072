#include "go_asm.h"
#include "textflag.h"

// What sixteen bytes are compared with at once: quotes, backslashes, the last control character, zeros, and, when these are subtracted, nines and
// points.

DATA quotes<>+0(SB)/8, $0x2222222222222222
DATA quotes<>+8(SB)/8, $0x2222222222222222
GLOBL quotes<>(SB), RODATA|NOPTR, $16

DATA slashes<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slashes<>+8(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL slashes<>(SB), RODATA|NOPTR, $16

DATA controls<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA controls<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL controls<>(SB), RODATA|NOPTR, $16

DATA zeros<>+0(SB)/8, $0x3030303030303030
DATA zeros<>+8(SB)/8, $0x3030303030303030
GLOBL zeros<>(SB), RODATA|NOPTR, $16

DATA nines<>+0(SB)/8, $0x0909090909090909
DATA nines<>+8(SB)/8, $0x0909090909090909
GLOBL nines<>(SB), RODATA|NOPTR, $16

DATA points<>+0(SB)/8, $0xfefefefefefefefe
DATA points<>+8(SB)/8, $0xfefefefefefefefe
GLOBL points<>(SB), RODATA|NOPTR, $16

// func run(text []byte, i int, after *follow, spots *[maxSpots]spot) (next int, last *follow, found int)
//
// SI is where the member in hand begins, DI how far it is read. A value must begin, and end, at R8 or before it: then sixteen bytes may be read at
// two bytes behind R8, and what is not of the text does not count. R9 is what came before the member, R10 its node, R12 the node of the object or
// array that it lies in, R13 its place in an array counted from 1, and 0 in an object, R14 how many bytes of stack are in use, sixteen for each
// object or array that was entered, and R15 those of spots. X8 to X13 hold what bytes are compared with. A member of the first object is given
// back to the caller as a whole when something in it is not as foreseen.
TEXT ·run(SB), NOSPLIT, $128-72
	MOVQ text_base+0(FP), SI
	MOVQ text_cap+16(FP), R8
	SUBQ $18, R8
	MOVQ text_len+8(FP), AX
	DECQ AX
	CMPQ AX, R8
	CMOVQLT AX, R8
	ADDQ SI, R8
	ADDQ i+24(FP), SI
	MOVQ after+32(FP), R9
	XORL R13, R13
	XORL R14, R14
	XORL R15, R15
	CMPQ SI, R8
	JGT  stop
	MOVOU quotes<>(SB), X8
	MOVOU slashes<>(SB), X9
	MOVOU controls<>(SB), X10
	MOVOU zeros<>(SB), X11
	MOVOU nines<>(SB), X12
	MOVOU points<>(SB), X13

member:
	MOVQ follow_last(R9), R10
	TESTQ R10, R10
	JZ   stop
	MOVOU (SI), X0
	MOVOU (node_head+head_mask)(R10), X1
	MOVOU (node_head+head_word)(R10), X2
	PAND X1, X0
	PCMPEQB X2, X0
	PMOVMSKB X0, AX
	CMPL AX, $0xffff
	JNE  blank
	MOVQ (node_head+head_length)(R10), CX
	LEAQ (SI)(CX*1), DI
	CMPQ DI, R8
	JGT  stop
	CMPQ CX, $16
	JGT  long

value:
	MOVBLZX (DI), AX
	CMPQ node_below(R10), $0
	JNE  needed

foreseen:
	CMPL AX, $0x22
	JEQ  string
	CMPL AX, $0x39
	JHI  letter

	// a number: where its digits and points end, and then whether they are one
	MOVOU (DI), X0
	PSUBB X11, X0
	MOVO X0, X1
	PMINUB X12, X1
	PCMPEQB X0, X1
	PCMPEQB X13, X0
	POR  X1, X0
	PMOVMSKB X0, DX
	PMOVMSKB X1, BX
	NOTL DX
	NOTL BX
	CMPL AX, $0x2d
	JEQ  minus

digits:
	TZCNTL DX, CX
	TZCNTL BX, DX
	TESTL DX, DX
	JZ   space
	CMPB (DI), $0x30
	JEQ  zero

integer:
	CMPL DX, CX
	JEQ  length
	LEAL -1(BX), AX
	ANDL AX, BX
	TZCNTL BX, BX
	CMPL BX, CX
	JNE  stop
	INCL DX
	CMPL DX, CX
	JEQ  stop

length:
	ADDQ CX, DI

	// behind a value
ended:
	CMPQ DI, R8
	JGT  stop
	MOVBLZX (DI), AX
	INCQ DI
	CMPL AX, $0x2c
	JNE  close
	TESTL R13, R13
	JNZ  element
	LEAQ node_after(R10), R9
	MOVQ DI, SI
	JMP  member

close:
	TESTL R13, R13
	JNZ  bracket
	CMPL AX, $0x7d
	JNE  stop

leave:
	MOVQ R12, R10
	SUBQ $16, R14
	JLT  done
	MOVQ stack-128(SP)(R14*1), R12
	MOVQ stack-120(SP)(R14*1), R13
	MOVQ start-8(SP), SI
	MOVQ before-16(SP), R9
	JMP  ended

bracket:
	CMPL AX, $0x5d
	JEQ  leave
	JMP  stop

done:
	SUBQ text_base+0(FP), DI
	MOVQ DI, next+48(FP)
	MOVQ $0, last+56(FP)
	SHRQ $4, R15
	MOVQ R15, found+64(FP)
	RET

	// an element of an array
element:
	INCL R13
	MOVQ node_each(R12), R10
	CMPQ (node_elements+8)(R12), R13
	JLT  rest
	MOVQ node_elements(R12), DX
	MOVQ -8(DX)(R13*8), CX
	TESTQ CX, CX
	CMOVQNE CX, R10

rest:
	TESTQ R10, R10
	JNZ  value
	MOVQ R12, R10
	MOVBLZX (DI), AX
	CMPL AX, $0x7b
	JEQ  stop
	CMPL AX, $0x5b
	JNE  foreseen
	JMP  stop

	// a space before a name
blank:
	CMPB (SI), $0x20
	JNE  stop
	INCQ SI
	CMPQ SI, R8
	JLE  member
	JMP  stop

	// a space before a value
space:
	CMPL AX, $0x20
	JNE  stop
	INCQ DI
	CMPQ DI, R8
	JGT  stop
	MOVBLZX (DI), AX
	JMP  foreseen

minus:
	INCQ DI
	SHRL $1, BX
	SHRL $1, DX
	JMP  digits

zero:
	CMPL DX, $1
	JEQ  integer
	JMP  stop

	// the rest of a name of up to 32 bytes
long:
	CMPQ CX, $32
	JGT  stop
	MOVQ node_quoted(R10), DX
	MOVOU -16(DX)(CX*1), X0
	MOVOU -16(DI), X1
	PCMPEQB X1, X0
	PMOVMSKB X0, BX
	CMPL BX, $0xffff
	JEQ  value
	JMP  stop

	// a value that a path needs, or in which there is one: the caller is told where it is
needed:
	CMPL AX, $0x20
	JNE  spot
	INCQ DI
	CMPQ DI, R8
	JGT  stop
	MOVBLZX (DI), AX
	JMP  needed

spot:
	CMPW node_envelope(R10), $0
	JNE  stop
	CMPQ R15, $(16*const_maxSpots)
	JEQ  stop
	MOVQ spots+40(FP), BX
	MOVQ node_id(R10), DX
	MOVQ DI, CX
	SUBQ text_base+0(FP), CX
	MOVQ CX, spot_at(BX)(R15*1)
	MOVQ DX, spot_id(BX)(R15*1)
	ADDQ $16, R15
	CMPL AX, $0x7b
	JEQ  object
	CMPL AX, $0x5b
	JNE  foreseen
	CMPQ (node_elements+8)(R10), $0
	JEQ  stop
	CMPQ (node_slots+8)(R10), $0
	JEQ  enter
	JMP  stop

object:
	CMPQ (node_members+8)(R10), $0
	JEQ  stop
	CMPQ (node_slots+8)(R10), $0
	JEQ  enter
	JMP  stop

string:
	LEAQ 1(DI), CX

plain:
	CMPQ CX, R8
	JGT  stop
	MOVOU (CX), X0
	MOVO X0, X1
	PMINUB X10, X1
	PCMPEQB X0, X1
	MOVO X0, X2
	PCMPEQB X8, X2
	PCMPEQB X9, X0
	POR  X1, X2
	POR  X2, X0
	PMOVMSKB X0, BX
	TESTL BX, BX
	JZ   further
	TZCNTL BX, BX
	ADDQ BX, CX
	CMPB (CX), $0x22
	JNE  stop
	LEAQ 1(CX), DI
	JMP  ended

further:
	ADDQ $16, CX
	JMP  plain

letter:
	CMPL AX, $0x7b
	JEQ  known
	CMPL AX, $0x5b
	JEQ  known
	MOVL (DI), BX
	ADDQ $4, DI
	CMPL BX, $0x65757274 // true
	JEQ  ended
	CMPL BX, $0x6c6c756e // null
	JEQ  ended
	CMPL BX, $0x736c6166 // fals
	JNE  stop
	CMPB (DI), $0x65
	JNE  stop
	INCQ DI
	JMP  ended

	// an object or array that was seen before; the place that was right the last time is tried first: no one has to wait for the text then
known:
	MOVQ node_memo(R10), R11
	TESTQ R11, R11
	JZ   stop
	CMPQ memo_rest(R11), $0
	JNE  resting
	CMPQ memo_tries(R11), $(const_memoTries-1)
	JGE  settle

settled:
	MOVQ memo_last(R11), AX
	MOVQ memo_places(R11)(AX*8), BX
	TESTQ BX, BX
	JZ   hash

entry:
	MOVQ entry_text(BX), DX
	MOVQ (entry_text+8)(BX), CX
	LEAQ (DI)(CX*1), AX
	CMPQ AX, R8
	JGT  hash
	SUBQ $16, CX
	JLT  short
	MOVOU (DX)(CX*1), X0
	MOVOU (DI)(CX*1), X1
	PCMPEQB X1, X0

block:
	SUBQ $16, CX
	JLT  first
	MOVOU (DX)(CX*1), X2
	MOVOU (DI)(CX*1), X1
	PCMPEQB X1, X2
	PAND X2, X0
	JMP  block

first:
	MOVOU (DX), X2
	MOVOU (DI), X1
	PCMPEQB X1, X2
	PAND X2, X0
	PMOVMSKB X0, DX
	CMPL DX, $0xffff
	JNE  hash

hit:
	INCQ memo_tries(R11)
	INCQ memo_hits(R11)
	MOVQ AX, DI
	JMP  ended

short:
	MOVOU (DX), X0
	MOVOU (DI), X1
	PCMPEQB X1, X0
	PMOVMSKB X0, DX
	NOTL DX
	TZCNTL DX, DX
	ADDL $16, CX
	CMPL DX, CX
	JGE  hit

hash:
	MOVQ (DI), AX
	MOVQ $const_hash1, DX
	IMULQ DX, AX
	MOVQ 8(DI), CX
	MOVQ $const_hash2, DX
	IMULQ DX, CX
	XORQ CX, AX
	SHRQ $57, AX
	ADDQ AX, AX
	CMPQ AX, memo_last(R11)
	JEQ  second
	MOVQ AX, memo_last(R11)
	MOVQ memo_places(R11)(AX*8), BX
	TESTQ BX, BX
	JNZ  entry
	JMP  stop

second:
	MOVQ (memo_places+8)(R11)(AX*8), CX
	CMPQ BX, CX
	JEQ  stop
	MOVQ CX, BX
	TESTQ BX, BX
	JNZ  entry
	JMP  stop

	// whether remembering pays is seen as in placeOf
settle:
	MOVQ $-1, memo_tries(R11)
	MOVQ memo_hits(R11), AX
	MOVQ $0, memo_hits(R11)
	CMPQ AX, $(const_memoTries/4)
	JGE  settled
	MOVQ $const_memoRest, memo_rest(R11)
	JMP  settled

	// an object or array that is read
resting:
	DECQ memo_rest(R11)

enter:
	INCQ DI
	CMPQ DI, R8
	JGT  stop
	CMPQ R14, $(16*7)
	JEQ  stop
	MOVBLZX (DI), DX
	CMPL DX, $0x7d
	JEQ  stop
	CMPL DX, $0x5d
	JEQ  stop
	TESTQ R14, R14
	JNZ  push
	MOVQ SI, start-8(SP)
	MOVQ R9, before-16(SP)

push:
	MOVQ R12, stack-128(SP)(R14*1)
	MOVQ R13, stack-120(SP)(R14*1)
	ADDQ $16, R14
	MOVQ R10, R12
	XORL R13, R13
	CMPL AX, $0x5b
	JEQ  element
	LEAQ node_first(R10), R9
	MOVQ DI, SI
	JMP  member

stop:
	TESTQ R14, R14
	JZ   back
	MOVQ start-8(SP), SI
	MOVQ before-16(SP), R9

	// what was found in the member that is given back does not count
back:
	SUBQ text_base+0(FP), SI
	MOVQ spots+40(FP), BX

found:
	TESTQ R15, R15
	JZ   told
	CMPQ SI, (spot_at-16)(BX)(R15*1)
	JGT  told
	SUBQ $16, R15
	JMP  found

told:
	MOVQ SI, next+48(FP)
	MOVQ R9, last+56(FP)
	SHRQ $4, R15
	MOVQ R15, found+64(FP)
	RET
