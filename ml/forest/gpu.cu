// What a forest does on a GPU: it answers, and it counts the histograms that a split is searched in. gpu.go says what the funcs compute and
// how their arrays lie.

#include "func.cuh"

__device__ inline double nan64() {
	double zero = 0;
	return zero / zero;
}

#define MISSING_RIGHT (1 << 30)

// Trees are nodes of two numbers: the feature and, above it, the bits of the threshold; the left child and, above it, the right. In a leaf the feature
// is below 0, and left is where its answer begins in values. A NaN goes left, but right where the feature has MISSING_RIGHT. Sparse answers are shares of
// the classes beside them, to the first class below 0, which stands for its complement.
struct Forest {
	const long long *nodes;
	const double *thresholds; // of each node, with all digits; of a forest that learned from such numbers
	const int *roots;
	const double *values;
	const int *classes; // of values; of a forest whose answers are sparse
	int size, answers; // how many nodes and values there are
	int trees, depth;  // depth is the number of splits on the longest way down
	int columns, outputs;
	int missing; // trees have learned what to do without a number
	int sparse;
};

__device__ inline bool above(const Forest &f, int, long long split, float x) { return x > __int_as_float((int)(split >> 32)); }
__device__ inline bool above(const Forest &f, int node, long long, double x) { return x > f.thresholds[node]; }

// leaf is where the answer of the leaf begins that a row falls into; -1 where nodes lead nowhere.
template <class X> __device__ inline int leaf(const Forest &f, int at, const X *row) {
	for (int step = 0; step <= f.depth; step++) {
		if (at < 0 || at >= f.size) return -1;
		long long split = f.nodes[2LL * at], children = f.nodes[2LL * at + 1];
		int feature = (int)split;
		if (feature < 0) {
			int answer = (int)children;
			return answer >= 0 && answer <= f.answers - (f.sparse ? 1 : f.outputs) ? answer : -1;
		}
		int column = feature & ~MISSING_RIGHT;
		if (column >= f.columns) return -1;
		X x = row[column];
		bool right = above(f, at, split, x) || (x != x && (feature & MISSING_RIGHT));
		at = (int)(right ? children >> 32 : children);
	}
	return -1;
}

// finish makes an answer of the sums over all trees: shares that sum to 1, or a mean. A row with an infinity has NaN, and one with a NaN has
// where the trees do not know what to do without a number.
template <class X> __device__ inline void finish(const Forest &f, double *sums, const X *row, int mean) {
	X zero = 0;
	for (int k = 0; k < f.columns; k++)
		if (!f.missing || row[k] == row[k]) zero += row[k] * 0;
	double total = 0;
	for (int k = 0; k < f.outputs; k++) total += sums[k];
	if (mean) total = f.trees;
	for (int k = 0; k < f.outputs; k++) sums[k] = zero != 0 ? nan64() : sums[k] / total;
}

// A thread has a row, and adds its trees up in their order. Up to OUTPUTS sums are in registers; more lie in out, which is the thread's.
template <int OUTPUTS, class X> __device__ inline void sum_trees(const Forest &f, double *out, const X *row) {
	double sums[OUTPUTS] = {};
	for (int t = 0; t < f.trees; t++) {
		int at = leaf(f, f.roots[t], row);
#pragma unroll
		for (int k = 0; k < OUTPUTS; k++)
			if (k < f.outputs) sums[k] += at < 0 ? nan64() : f.values[at + k];
	}
#pragma unroll
	for (int k = 0; k < OUTPUTS; k++)
		if (k < f.outputs) out[k] = sums[k];
}

// add_sparse adds an answer that names its classes; one that does not end, or is of no class, is NaN.
__device__ inline void add_sparse(const Forest &f, double *out, int at) {
	for (; at >= 0 && at < f.answers; at++) {
		int named = f.classes[at], k = named < 0 ? ~named : named;
		if (k >= f.outputs) break;
		out[k] += f.values[at];
		if (named < 0) return;
	}
	out[0] = nan64();
}

template <class X> __device__ inline void sum_trees_of_many(const Forest &f, double *out, const X *row) {
	for (int k = 0; k < f.outputs; k++) out[k] = 0;
	for (int t = 0; t < f.trees; t++) {
		int at = leaf(f, f.roots[t], row);
		if (f.sparse) {
			add_sparse(f, out, at);
			continue;
		}
		for (int k = 0; k < f.outputs; k++) out[k] += at < 0 ? nan64() : f.values[at + k];
	}
}

template <class X> __device__ inline void predict(const Forest &f, double *out, const X *rows, int n, int mean) {
	EACH(i, n) {
		const X *row = rows + i * f.columns;
		double *sums = out + i * f.outputs;
		if (f.sparse) sum_trees_of_many(f, sums, row);
		else if (f.outputs <= 1) sum_trees<1>(f, sums, row);
		else if (f.outputs <= 3) sum_trees<3>(f, sums, row);
		else if (f.outputs <= 8) sum_trees<8>(f, sums, row);
		else sum_trees_of_many(f, sums, row);
		finish(f, sums, row, mean);
	}
}

FUNC forest_predict(double *out, const float *rows, const long long *nodes, const int *roots, const double *values, const int *classes, int n, int columns, int outputs,
                    int trees, int depth, int size, int answers, int mean, int missing, int sparse) {
	Forest f = {nodes, 0, roots, values, classes, size, answers, trees, depth, columns, outputs, missing, sparse};
	predict(f, out, rows, n, mean);
}

FUNC forest_predict_exact(double *out, const double *rows, const long long *nodes, const int *roots, const double *values, const int *classes, int n, int columns, int outputs,
                          int trees, int depth, int size, int answers, int mean, int missing, int sparse, const double *thresholds) {
	Forest f = {nodes, thresholds, roots, values, classes, size, answers, trees, depth, columns, outputs, missing, sparse};
	predict(f, out, rows, n, mean);
}

FUNC forest_clear(unsigned *histograms, int n) {
	EACH(i, n) histograms[i] = 0;
}

#define BINS 256
#define SHARED_COUNTS 12288 // 48 KiB

// A histogram has for each code the draws of each class and, behind them, the distinct rows.
//
// A block has a task, a range of positions that belong to one node, and one of the columns drawn for that node. It counts in shared memory where
// there is room for it and the range is long enough to pay; whole numbers, so that no order of adding matters.
template <class Label>
__device__ inline void histogram(unsigned *histograms, const unsigned char *codes, const unsigned *order, const Label *labels, const unsigned *draws, const int *tasks,
                                 const int *drawn, int most, int positions, int rows, int columns, int classes, int nodes) {
	DYNAMIC_SHARED(tile);
	unsigned *own = (unsigned *)tile;
	const int *task = tasks + blockIdx.x / most * 3LL;
	int j = blockIdx.x % most, node = task[0], start = task[1], end = task[2], width = classes + 1, size = BINS * width;
	if (node < 0 || node >= nodes || start < 0 || end > positions) return;
	int column = drawn[node * (long long)most + j];
	if (column < 0 || column >= columns) return;
	unsigned *all = histograms + (node * (long long)most + j) * size;
	bool shared = size <= SHARED_COUNTS && end - start >= size / 4;
	if (shared)
		for (int i = threadIdx.x; i < size; i += THREADS) own[i] = 0;
	__syncthreads();
	for (int i = start + threadIdx.x; i < end; i += THREADS) {
		unsigned row = order[i], label = labels[i];
		if (row >= rows || label >= classes) continue;
		int at = codes[column * (long long)rows + row] * width;
		if (shared) { // apart, so that the compiler knows which memory it is
			atomicAdd(&own[at + label], draws[i]);
			atomicAdd(&own[at + classes], 1u);
		} else {
			atomicAdd(&all[at + label], draws[i]);
			atomicAdd(&all[at + classes], 1u);
		}
	}
	__syncthreads();
	if (shared)
		for (int i = threadIdx.x; i < size; i += THREADS)
			if (own[i] > 0) atomicAdd(&all[i], own[i]);
}

#define HISTOGRAMS(name, Label)                                                                                                                            \
	FUNC name(unsigned *histograms, const unsigned char *codes, const unsigned *order, const Label *labels, const unsigned *draws, const int *tasks,       \
	          const int *drawn, int count, int most, int positions, int rows, int columns, int classes, int nodes) {                                       \
		histogram(histograms, codes, order, labels, draws, tasks, drawn, most, positions, rows, columns, classes, nodes);                                 \
	}

HISTOGRAMS(forest_histograms, unsigned char)
HISTOGRAMS(forest_histograms_of_many, unsigned short)
