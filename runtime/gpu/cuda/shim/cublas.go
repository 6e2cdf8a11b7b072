//go:build nvidia && linux

package shim

// #include <stddef.h>
// static int blas_create(void *f, void **h) { return ((int (*)(void **))f)(h); }
// static int blas_destroy(void *f, void *h) { return ((int (*)(void *))f)(h); }
// static int blas_stream(void *f, void *h, void *s) { return ((int (*)(void *, void *))f)(h, s); }
// static int blas_mode(void *f, void *h, int mode) { return ((int (*)(void *, int))f)(h, mode); }
// static int blas_workspace(void *f, void *h, unsigned long long p, size_t n) { return ((int (*)(void *, void *, size_t))f)(h, (void *)p, n); }
// static int blas_property(void *f, int which, int *v) { return ((int (*)(int, int *))f)(which, v); }
// static int blas_sgemm(void *f, void *h, int ta, int tb, int m, int n, int k, float alpha, unsigned long long a, int lda,
//                       unsigned long long b, int ldb, float beta, unsigned long long c, int ldc) {
//   return ((int (*)(void *, int, int, int, int, int, const float *, const void *, int, const void *, int, const float *, void *, int))f)(
//       h, ta, tb, m, n, k, &alpha, (void *)a, lda, (void *)b, ldb, &beta, (void *)c, ldc);
// }
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// BLAS is cuBLAS, open.
type BLAS struct {
	Version string // "12.6.4"
	Path    string
	calls   []unsafe.Pointer // in the order of the constants below
}

const (
	blasCreate = iota
	blasDestroy
	blasStream
	blasMode
	blasWorkspace
	blasProperty
	blasSgemm
)

// OpenBLAS opens cuBLAS where it is found: CANCHA_CUBLAS names another file.
func OpenBLAS() (*BLAS, error) {
	names := []string{"cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSetMathMode", "cublasSetWorkspace_v2", "cublasGetProperty", "cublasSgemm_v2"}
	calls, path, err := open("cuBLAS", places("CANCHA_CUBLAS", "cublas", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"), names)
	if err != nil {
		return nil, err
	}
	var v [3]C.int // major, minor, patch
	for i := range v {
		if err := blasError("version", C.blas_property(calls[blasProperty], C.int(i), &v[i])); err != nil {
			return nil, err
		}
	}
	if v[0] < 11 {
		return nil, fmt.Errorf("cuBLAS at %s is %d.%d: 11 or newer is wanted", path, v[0], v[1])
	}
	return &BLAS{Version: fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]), Path: path, calls: calls}, nil
}

// Handle multiplies on one stream.
type Handle struct {
	blas   *BLAS
	handle unsafe.Pointer
}

// NewHandle returns a handle for a stream, with memory to work in: what cuBLAS takes itself it may share between streams, and results
// would differ from time to time; 0 bytes leave it that. The context must be current.
func (b *BLAS) NewHandle(s cu.Stream, tf32 bool, workspace cu.DevicePtr, bytes int) (*Handle, error) {
	h := &Handle{blas: b}
	if err := blasError("create", C.blas_create(b.calls[blasCreate], &h.handle)); err != nil {
		return nil, err
	}
	mode := 0 // CUBLAS_DEFAULT_MATH: operands keep all 24 bits
	if tf32 {
		mode = 3 // CUBLAS_TF32_TENSOR_OP_MATH
	}
	for _, step := range []struct {
		name string
		code func() C.int
	}{
		{"set stream", func() C.int { return C.blas_stream(b.calls[blasStream], h.handle, handle(s)) }},
		{"set math mode", func() C.int { return C.blas_mode(b.calls[blasMode], h.handle, C.int(mode)) }},
		{"set workspace", func() C.int {
			if bytes == 0 {
				return 0
			}
			return C.blas_workspace(b.calls[blasWorkspace], h.handle, C.ulonglong(workspace), C.size_t(bytes))
		}},
	} {
		if err := blasError(step.name, step.code()); err != nil {
			_ = h.Close()
			return nil, err
		}
	}
	return h, nil
}

// Close gives the handle back; once.
func (h *Handle) Close() error {
	return blasError("destroy", C.blas_destroy(h.blas.calls[blasDestroy], h.handle))
}

// Sgemm queues c = alpha op(a) op(b) + beta c of row-major dense matrices. To cuBLAS, which has columns one after another, each of them is
// its transpose, so it computes cᵀ = alpha op(b)ᵀ op(a)ᵀ + beta cᵀ. No size is 0.
func (h *Handle) Sgemm(transposeA, transposeB bool, m, n, k int, alpha float32, a, b cu.DevicePtr, beta float32, c cu.DevicePtr) error {
	ta, lda, tb, ldb := 0, k, 0, n
	if transposeA {
		ta, lda = 1, m
	}
	if transposeB {
		tb, ldb = 1, k
	}
	return blasError("sgemm", C.blas_sgemm(h.blas.calls[blasSgemm], h.handle, C.int(tb), C.int(ta), C.int(n), C.int(m), C.int(k), C.float(alpha),
		C.ulonglong(b), C.int(ldb), C.ulonglong(a), C.int(lda), C.float(beta), C.ulonglong(c), C.int(n)))
}

// BLASError is a status of cuBLAS.
type BLASError int

func (e BLASError) Error() string {
	names := map[BLASError]string{
		1: "not initialized", 3: "allocation failed", 7: "invalid value", 8: "architecture mismatch", 11: "mapping error", 13: "execution failed", 14: "internal error", 15: "not supported",
	}
	return fmt.Sprintf("cuBLAS status %d, %s", int(e), names[e])
}

func blasError(doing string, code C.int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("cuBLAS: %s: %w", doing, BLASError(code))
}
