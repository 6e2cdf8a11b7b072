// What a user may write in a cell: tests compile it with NVRTC, and the emulation has it for the CPU.

extern "C" __global__ void scale(float *x, float by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= by;
}

// Each block turns its elements around, in shared memory.
__global__ void turn(int *x) {
	__shared__ int all[64];
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	all[blockDim.x - 1 - threadIdx.x] = x[at];
	__syncthreads();
	x[at] = all[threadIdx.x];
}
