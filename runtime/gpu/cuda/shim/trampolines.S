//go:build nvidia && linux

// One jump through table for each symbol: whatever the arguments are, they stay where they are. The symbols are hidden, or a program that
// exports its symbols would give them to the real libcuda in place of its own.

.text
.set place, 0

#if defined(__x86_64__)

#define SYMBOL(name) \
	.globl name; .hidden name; .type name, @function; .p2align 4; \
	name: jmp *(cancha_cuda_table + place)(%rip); \
	.size name, . - name; .set place, place + 8;

#elif defined(__aarch64__)

#define SYMBOL(name) \
	.globl name; .hidden name; .type name, %function; .p2align 4; \
	name: adrp x16, cancha_cuda_table + place; \
	add x16, x16, :lo12:cancha_cuda_table + place; \
	ldr x16, [x16]; br x16; \
	.size name, . - name; .set place, place + 8;

#else
#error "the CUDA build is for amd64 and arm64"
#endif

#include "symbols.h"

.section .note.GNU-stack, "", %progbits
