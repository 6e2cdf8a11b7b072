//go:build nvidia && linux

package shim

// #include <stdlib.h>
// static int rtc_create(void *f, void **p, const char *s, const char *n) {
//   return ((int (*)(void **, const char *, const char *, int, const char *const *, const char *const *))f)(p, s, n, 0, NULL, NULL);
// }
// static int rtc_compile(void *f, void *p, int n, char **o) { return ((int (*)(void *, int, const char *const *))f)(p, n, (const char *const *)o); }
// static int rtc_size(void *f, void *p, size_t *n) { return ((int (*)(void *, size_t *))f)(p, n); }
// static int rtc_text(void *f, void *p, char *t) { return ((int (*)(void *, char *))f)(p, t); }
// static int rtc_destroy(void *f, void **p) { return ((int (*)(void **))f)(p); }
// static int rtc_version(void *f, int *a, int *b) { return ((int (*)(int *, int *))f)(a, b); }
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// Compiler is NVRTC, open: it makes PTX of CUDA C++, and needs neither driver nor GPU.
type Compiler struct {
	Version string // "11.8"
	Path    string
	calls   []unsafe.Pointer // in the order of the constants below
}

const (
	rtcCreate = iota
	rtcCompile
	rtcPTXSize
	rtcPTX
	rtcLogSize
	rtcLog
	rtcDestroy
	rtcVersion
)

// OpenCompiler opens NVRTC where it is found: CANCHA_NVRTC names another file. The oldest first: a driver takes what is not newer than it.
func OpenCompiler() (*Compiler, error) {
	names := []string{
		"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetPTXSize", "nvrtcGetPTX", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcDestroyProgram", "nvrtcVersion",
	}
	calls, path, err := open("NVRTC", places("CANCHA_NVRTC", "cuda_nvrtc", "libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"), names)
	if err != nil {
		return nil, fmt.Errorf("%w: pip install nvidia-cuda-nvrtc-cu12 brings it", err)
	}
	c := &Compiler{Path: path, calls: calls}
	var major, minor C.int
	if code := C.rtc_version(calls[rtcVersion], &major, &minor); code != 0 {
		return nil, fmt.Errorf("NVRTC at %s: version: error %d", path, code)
	}
	c.Version = fmt.Sprintf("%d.%d", major, minor)
	return c, nil
}

// CompileError is what the compiler says of a source: a line for each error or warning, as "cell.cu(3): error: …".
type CompileError struct{ Log string }

func (e *CompileError) Error() string { return strings.TrimRight(e.Log, "\n\x00 ") }

// Compile returns PTX for GPUs from an architecture on ("compute_80"). name stands in the compiler's messages. What is wrong with the source
// is a [*CompileError].
func (c *Compiler) Compile(source, name, architecture string) (ptx string, err error) {
	cSource, cName := C.CString(source), C.CString(name)
	defer C.free(unsafe.Pointer(cSource))
	defer C.free(unsafe.Pointer(cName))
	var program unsafe.Pointer
	if code := C.rtc_create(c.calls[rtcCreate], &program, cSource, cName); code != 0 {
		return "", fmt.Errorf("NVRTC: create a program: error %d", code)
	}
	defer C.rtc_destroy(c.calls[rtcDestroy], &program)
	option := C.CString("--gpu-architecture=" + architecture)
	defer C.free(unsafe.Pointer(option))
	code := C.rtc_compile(c.calls[rtcCompile], program, 1, &option)
	log, err := c.text(program, rtcLogSize, rtcLog)
	if err != nil {
		return "", err
	}
	const compilation = 6 // NVRTC_ERROR_COMPILATION
	switch code {
	case 0:
		return c.text(program, rtcPTXSize, rtcPTX)
	case compilation:
		return "", &CompileError{log}
	}
	return "", fmt.Errorf("NVRTC %s: error %d: %s", c.Version, code, log)
}

func (c *Compiler) text(program unsafe.Pointer, size, get int) (string, error) {
	var n C.size_t
	if code := C.rtc_size(c.calls[size], program, &n); code != 0 {
		return "", fmt.Errorf("NVRTC: size of a text: error %d", code)
	}
	if n == 0 {
		return "", nil
	}
	buffer := (*C.char)(C.malloc(n))
	defer C.free(unsafe.Pointer(buffer))
	if code := C.rtc_text(c.calls[get], program, buffer); code != 0 {
		return "", fmt.Errorf("NVRTC: read a text: error %d", code)
	}
	return strings.TrimRight(C.GoStringN(buffer, C.int(n)), "\x00"), nil
}
