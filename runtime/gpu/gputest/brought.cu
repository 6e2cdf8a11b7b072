// The funcs of the suite's own library: they have parameters of every type, rounding that a fused multiply-add would change, shared memory
// whose size the launch tells, and atomics.

#include "func.cuh"

FUNC gputest_weigh(double *out, const float *a, const double *b, const int *c, const unsigned char *d, const unsigned short *e, const unsigned *f,
                   const long long *g, int n, float x, double y, long long z) {
	EACH(i, n) out[i] = a[i] * x + b[i] * y + c[i] + d[i] + e[i] + f[i] + (double)g[i] + (double)z;
}

// Each block counts its share in shared memory first.
FUNC gputest_count(unsigned *counts, const unsigned char *x, int n) {
	DYNAMIC_SHARED(tile);
	unsigned *own = (unsigned *)tile;
	own[threadIdx.x] = 0;
	__syncthreads();
	EACH(i, n) atomicAdd(&own[x[i]], 1u);
	__syncthreads();
	if (own[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
