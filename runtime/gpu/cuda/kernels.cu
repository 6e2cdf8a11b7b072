// The funcs of package driver, in CUDA C++ (see driver/funcs.go for what each computes). kernels.ptx is made of this file by
// scripts/ptx.py; package emulated compiles the very same file for the CPU. Whoever launches has checked that memory is long enough for the
// sizes. Sums run in an order that depends on the sizes only.

#include "func.cuh"

__device__ inline float nan32() { return __int_as_float(0x7fc00000); }

FUNC fill(float *out, float value, int n) {
	EACH(i, n) out[i] = value;
}

// Four elements at a time, all read before the first is written, since out may be a or b: so that memory has enough to do.
FUNC vector_add(float *out, const float *a, const float *b, int n) {
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x, step = gridDim.x * (long long)blockDim.x;
	for (; i + 3 * step < n; i += 4 * step) {
		float sums[4];
#pragma unroll
		for (int j = 0; j < 4; j++) sums[j] = a[i + j * step] + b[i + j * step];
#pragma unroll
		for (int j = 0; j < 4; j++) out[i + j * step] = sums[j];
	}
	for (; i < n; i += step) out[i] = a[i] + b[i];
}

// An index that x, of so many rows, does not have gives NaN: the host learns of indices no earlier than the device.
FUNC gather_rows(float *out, const float *x, const int *index, int rows, int columns, int has) {
	EACH(i, (long long)rows * columns) {
		int from = index[i / columns];
		out[i] = from >= 0 && from < has ? x[from * (long long)columns + i % columns] : nan32();
	}
}

// An index that x, of so many elements, does not have gives the least int.
FUNC gather(int *out, const int *x, const int *index, int n, int has) {
	EACH(i, n) {
		int from = index[i];
		out[i] = from >= 0 && from < has ? x[from] : (int)0x80000000;
	}
}

FUNC bias(float *x, const float *by, int rows, int columns) {
	EACH(i, (long long)rows * columns) x[i] += by[i % columns];
}

FUNC bias_relu(float *x, const float *by, int rows, int columns) {
	EACH(i, (long long)rows * columns) {
		float v = x[i] + by[i % columns];
		x[i] = v < 0 ? 0 : v; // NaN stays NaN, which fmaxf would hide
	}
}

FUNC relu_gradient(float *gradient, const float *y, int n) {
	EACH(i, n) if (y[i] == 0) gradient[i] = 0;
}

FUNC adam(float *weight, const float *gradient, float *m, float *v, int n, float rate, float beta1, float beta2, float epsilon, float correction1, float correction2) {
	EACH(i, n) {
		float g = gradient[i];
		float first = beta1 * m[i] + (1 - beta1) * g;
		float second = beta2 * v[i] + (1 - beta2) * g * g;
		m[i] = first;
		v[i] = second;
		weight[i] -= rate * (first / correction1) / (sqrtf(second / correction2) + epsilon);
	}
}

// total adds up what the threads of a block have, in a tree, for the first of them.
template <class T> __device__ inline T total(T mine) {
	__shared__ T all[THREADS];
	all[threadIdx.x] = mine;
	for (int step = THREADS / 2; step > 0; step /= 2) {
		__syncthreads();
		if (threadIdx.x < step) all[threadIdx.x] += all[threadIdx.x + step];
	}
	__syncthreads();
	T result = all[0];
	__syncthreads(); // all have read it before the next call writes
	return result;
}

// Each block adds up every gridDim.x-th run of 256 elements, in float64: sum_parts for each of up to 1024 blocks, sum_total one for all.
template <class In, class Out> __device__ inline void sum_strided(Out *out, const In *x, int n) {
	double mine = 0;
	EACH(i, n) mine += x[i];
	mine = total(mine);
	if (threadIdx.x == 0) out[blockIdx.x] = (Out)mine;
}

FUNC sum_parts(double *parts, const float *x, int n) { sum_strided(parts, x, n); }
FUNC sum_total(float *out, const double *parts, int n) { sum_strided(out, parts, n); }
FUNC sum_few(float *out, const float *x, int n) { sum_strided(out, x, n); }

// A block has 32 columns; eight threads share each, and take every eighth row.
FUNC column_sums(float *out, const float *x, int rows, int columns) {
	__shared__ double all[THREADS];
	long long column = blockIdx.x * 32LL + threadIdx.x % 32;
	double mine = 0;
	if (column < columns)
		for (long long row = threadIdx.x / 32; row < rows; row += THREADS / 32) mine += x[row * columns + column];
	all[threadIdx.x] = mine;
	__syncthreads();
	if (threadIdx.x >= 32 || column >= columns) return;
	for (int share = 1; share < THREADS / 32; share++) mine += all[share * 32 + threadIdx.x];
	out[column] = (float)mine;
}

// A block takes a row at a time. The largest logit is taken away first, so that no exponential overflows.
FUNC softmax_cross_entropy(float *loss, float *gradient, const float *logits, const int *label, int rows, int classes) {
	__shared__ float all[THREADS];
	for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
		const float *x = logits + row * classes;
		float *g = gradient + row * classes;
		int wanted = label[row];
		if (wanted < 0 || wanted >= classes) {
			for (int j = threadIdx.x; j < classes; j += THREADS) g[j] = nan32();
			if (threadIdx.x == 0) loss[row] = nan32();
			continue;
		}
		float most = x[wanted];
		for (int j = threadIdx.x; j < classes; j += THREADS) most = fmaxf(most, x[j]);
		all[threadIdx.x] = most;
		for (int step = THREADS / 2; step > 0; step /= 2) {
			__syncthreads();
			if (threadIdx.x < step) all[threadIdx.x] = fmaxf(all[threadIdx.x], all[threadIdx.x + step]);
		}
		__syncthreads();
		most = all[0];
		float sum = 0;
		for (int j = threadIdx.x; j < classes; j += THREADS) sum += expf(x[j] - most);
		sum = total(sum);
		float at = x[wanted] - most;
		__syncthreads(); // gradient may be logits: nobody needs another's logit any more
		if (threadIdx.x == 0) loss[row] = logf(sum) - at;
		for (int j = threadIdx.x; j < classes; j += THREADS) g[j] = (expf(x[j] - most) / sum - (j == wanted ? 1.0f : 0.0f)) / rows;
	}
}

// multiply computes a tile of c = alpha op(a) op(b) + beta c, ROWS × COLUMNS, of which each thread has TALL × WIDE elements. DEPTH
// elements of k at a time stand in shared memory, while the next come into registers. Each element is one sum over k in its order,
// whatever the tile, so the choice of the tile changes no result.
template <int ROWS, int COLUMNS, int DEPTH, int TALL, int WIDE>
__device__ inline void multiply(int transposeA, int transposeB, int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
	const int across = COLUMNS / WIDE;                                      // threads side by side
	const int wide = WIDE < 4 ? WIDE : 4, tall = TALL < 4 ? TALL : 4;       // elements that a thread has together
	const int shareA = ROWS * DEPTH / THREADS, shareB = DEPTH * COLUMNS / THREADS; // elements that a thread brings
	__shared__ __align__(16) float as[DEPTH][ROWS + 4], bs[DEPTH][COLUMNS + 4];    // the 4 spread the columns of a over the banks
	int t = threadIdx.x, x = t % across, y = t / across;
	long long tiles = ((long long)n + COLUMNS - 1) / COLUMNS;
	long long row = blockIdx.x / tiles * ROWS, column = blockIdx.x % tiles * COLUMNS;
	if (alpha == 0) k = 0; // as BLAS has it: what a and b hold does not count, not even infinity
	float sums[TALL][WIDE] = {}, nextA[shareA], nextB[shareB];

	// where element e of this thread's share lies in the tile: neighbours in memory go to neighbouring threads
	auto bring = [&](unsigned from) {
#pragma unroll
		for (int e = 0; e < shareA; e++) {
			int at = t + e * THREADS;
			long long i = row + (transposeA ? at % ROWS : at / DEPTH), p = from + (transposeA ? at / ROWS : at % DEPTH);
			nextA[e] = i < m && p < k ? a[transposeA ? p * m + i : i * k + p] : 0;
		}
#pragma unroll
		for (int e = 0; e < shareB; e++) {
			int at = t + e * THREADS;
			long long j = column + (transposeB ? at / DEPTH : at % COLUMNS), p = from + (transposeB ? at % DEPTH : at / COLUMNS);
			nextB[e] = j < n && p < k ? b[transposeB ? j * k + p : p * n + j] : 0;
		}
	};
	bring(0);
	for (unsigned from = 0; from < k; from += DEPTH) { // unsigned: the last from + DEPTH may be beyond an int
#pragma unroll
		for (int e = 0; e < shareA; e++) {
			int at = t + e * THREADS;
			as[transposeA ? at / ROWS : at % DEPTH][transposeA ? at % ROWS : at / DEPTH] = nextA[e];
		}
#pragma unroll
		for (int e = 0; e < shareB; e++) {
			int at = t + e * THREADS;
			bs[transposeB ? at % DEPTH : at / COLUMNS][transposeB ? at / DEPTH : at % COLUMNS] = nextB[e];
		}
		__syncthreads();
		if (k - from > DEPTH) bring(from + DEPTH);
#pragma unroll
		for (int p = 0; p < DEPTH; p++) {
			float left[TALL], right[WIDE];
#pragma unroll
			for (int i = 0; i < TALL; i++) left[i] = as[p][(i / tall * (ROWS / TALL) + y) * tall + i % tall];
#pragma unroll
			for (int j = 0; j < WIDE; j++) right[j] = bs[p][(j / wide * across + x) * wide + j % wide];
#pragma unroll
			for (int i = 0; i < TALL; i++)
#pragma unroll
				for (int j = 0; j < WIDE; j++) sums[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < TALL; i++)
#pragma unroll
		for (int j = 0; j < WIDE; j++) {
			long long r = row + (i / tall * (ROWS / TALL) + y) * tall + i % tall, s = column + (j / wide * across + x) * wide + j % wide;
			if (r < m && s < n) {
				float *at = c + r * n + s;
				*at = beta == 0 ? alpha * sums[i][j] : alpha * sums[i][j] + beta * *at;
			}
		}
}

#define SGEMM(name, ...)                                                                                                                         \
	FUNC name(int transposeA, int transposeB, int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {      \
		multiply<__VA_ARGS__>(transposeA, transposeB, m, n, k, alpha, a, b, beta, c);                                                    \
	}

SGEMM(sgemm_128, 128, 128, 8, 8, 8)
SGEMM(sgemm_64, 64, 64, 16, 4, 4)
SGEMM(sgemm_32, 32, 32, 16, 2, 2)

// One output a thread, for filters that are too large for shared memory.
FUNC conv2d_direct(float *out, const float *in, const float *filter, int images, int channels, int height, int width, int filters, int fh, int fw, int padding) {
	int tall = height + 2 * padding - fh + 1, wide = width + 2 * padding - fw + 1;
	EACH(at, (long long)images * filters * tall * wide) {
		int x = at % wide, y = at / wide % tall;
		long long image = at / wide / tall / filters, o = at / wide / tall % filters;
		float sum = 0;
		for (int c = 0; c < channels; c++)
			for (int u = 0; u < fh; u++)
				for (int v = 0; v < fw; v++) {
					int h = y + u - padding, w = x + v - padding;
					if (h >= 0 && h < height && w >= 0 && w < width)
						sum += in[((image * channels + c) * height + h) * width + w] * filter[((o * channels + c) * fh + u) * fw + v];
				}
		out[at] = sum;
	}
}

// A block has 32 × 32 outputs of one filter, four a thread, and a channel at a time in shared memory: the image around its outputs, then
// the filter. The launch gives it that much, (31 + fh) (31 + fw) + fh fw floats.
FUNC conv2d_tiled(float *out, const float *in, const float *filter, int images, int channels, int height, int width, int filters, int fh, int fw, int padding) {
	DYNAMIC_SHARED(tile);
	int tall = height + 2 * padding - fh + 1, wide = width + 2 * padding - fw + 1;
	int across = (wide + 31) / 32, down = (tall + 31) / 32, stride = 31 + fw, area = (31 + fh) * stride;
	int left = blockIdx.x % across * 32, top = blockIdx.x / across % down * 32;
	long long image = blockIdx.x / across / down / filters, o = blockIdx.x / across / down % filters;
	int x = threadIdx.x % 32, y = threadIdx.x / 32;
	float *weight = tile + area, sums[4] = {};
	for (int c = 0; c < channels; c++) {
		const float *from = in + (image * channels + c) * height * width;
		for (int at = threadIdx.x; at < area; at += THREADS) {
			int h = top + at / stride - padding, w = left + at % stride - padding;
			tile[at] = h >= 0 && h < height && w >= 0 && w < width ? from[(long long)h * width + w] : 0;
		}
		for (int at = threadIdx.x; at < fh * fw; at += THREADS) weight[at] = filter[(o * channels + c) * fh * fw + at];
		__syncthreads();
		for (int u = 0; u < fh; u++)
			for (int v = 0; v < fw; v++) {
				float f = weight[u * fw + v];
#pragma unroll
				for (int i = 0; i < 4; i++) sums[i] += f * tile[(y + 8 * i + u) * stride + x + v];
			}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		int h = top + y + 8 * i, w = left + x;
		if (h < tall && w < wide) out[((image * filters + o) * tall + h) * wide + w] = sums[i];
	}
}
