// What the source of funcs begins with, kernels.cu and those of libraries that rooms bring: it is compiled by NVRTC for GPUs, and by g++ for the
// CPU emulation, which has all of this in its own way (emulated/source/block.h). So a source keeps to what both have: threads of blocks of
// one dimension, __syncthreads, shared memory, atomicAdd of unsigned; no warps.
//
// A library is compiled without fused multiply-add (--fmad=false): its products and sums round as Go's on amd64 do.

#ifndef CANCHA_FUNC
#define CANCHA_FUNC

#ifndef CANCHA_EMULATED
// memory of a block whose size the launch tells, up to 48 KiB
#define DYNAMIC_SHARED(name) extern __shared__ float name[]
#endif

// 256 threads a block, always.
#define THREADS 256
#define FUNC extern "C" __global__ void __launch_bounds__(THREADS)
// EACH goes through 0 to n-1, whatever the grid.
#define EACH(i, n) for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); i += gridDim.x * (long long)blockDim.x)

#endif
