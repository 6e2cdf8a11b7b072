// What CUDA C++ has and C++ has not, on the CPU: blocks whose threads are fibers of one thread of the system, which take turns at each
// __syncthreads. One block runs at a time, so what its threads share are ordinary static variables.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define CANCHA_EMULATED
#define __global__ __attribute__((visibility("hidden")))
#define __device__ static
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __syncthreads() emulation::park()
#define DYNAMIC_SHARED(name) float *name = emulation::dynamic

namespace emulation {

struct Dim {
	unsigned x, y, z;
};
static Dim threadIdx, blockIdx, blockDim, gridDim;

const int most_threads = 1024, dynamic_bytes = 48 << 10;
static __align__(256) float dynamic[dynamic_bytes / sizeof(float)];

struct Fiber {
	jmp_buf at;
	bool made, done;
};
static Fiber fibers[most_threads];
static Fiber *running;
static jmp_buf scheduler;
static std::function<void()> body;

// park lets the other threads of the block come to the same point.
static void park() {
	if (!_setjmp(running->at)) _longjmp(scheduler, 1);
}

// live is what a fiber runs: one thread of a block after another.
static void live() {
	for (;;) {
		park();
		body();
		running->done = true;
	}
}

static void resume(Fiber &f) {
	running = &f;
	if (!_setjmp(scheduler)) _longjmp(f.at, 1);
}

// make takes a stack for a fiber and has it park. Stacks are kept for later blocks.
static void make(Fiber &f) {
	const size_t size = 64 << 10;
	ucontext_t context;
	getcontext(&context);
	context.uc_stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	context.uc_stack.ss_size = size;
	makecontext(&context, live, 0);
	f.made = true;
	running = &f;
	if (!_setjmp(scheduler)) setcontext(&context);
}

// run_block runs the threads in rounds, each of them from one __syncthreads to the next.
static void run_block() {
	int n = blockDim.x * blockDim.y * blockDim.z;
	for (int i = 0; i < n; i++) {
		if (!fibers[i].made) make(fibers[i]);
		fibers[i].done = false;
	}
	for (bool some = true; some;) {
		some = false;
		for (int i = 0; i < n; i++) {
			if (fibers[i].done) continue;
			threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
			resume(fibers[i]);
			some |= !fibers[i].done;
		}
	}
}

// run_grid runs block after block. Shared memory holds NaN at first: what reads it before it is written shows.
static void run_grid(Dim grid, Dim block, size_t shared, std::function<void()> f) {
	gridDim = grid, blockDim = block, body = f;
	for (unsigned z = 0; z < grid.z; z++)
		for (unsigned y = 0; y < grid.y; y++)
			for (unsigned x = 0; x < grid.x; x++) {
				blockIdx = {x, y, z};
				memset(dynamic, 0xff, shared);
				run_block();
			}
}

} // namespace emulation

using emulation::blockDim;
using emulation::blockIdx;
using emulation::gridDim;
using emulation::threadIdx;

// One thread runs at a time.
static inline unsigned atomicAdd(unsigned *at, unsigned by) {
	unsigned before = *at;
	*at += by;
	return before;
}

static inline float __int_as_float(unsigned bits) {
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static inline int __float_as_int(float f) {
	int bits;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}
