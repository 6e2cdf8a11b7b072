//go:build nvidia && linux

package shim

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"unsafe"
)

// places are where a library of NVIDIA's may be: what a variable of the environment names, and nothing else where it is set; what the
// loader finds; a toolkit; folder among the packages of Python's environment, of the user, of the python3 that PATH finds and of the system.
func places(variable, folder string, names ...string) []string {
	if given := os.Getenv(variable); given != "" {
		return []string{given}
	}
	all := slices.Clone(names)
	for _, n := range names {
		all = append(all, filepath.Join("/usr/local/cuda/lib64", n))
	}
	roots := []string{"/usr/lib", "/usr/local/lib", "/opt/conda/lib"}
	if python, err := exec.LookPath("python3"); err == nil { // an environment that PATH names is one that nobody activated
		roots = append([]string{filepath.Join(filepath.Dir(python), "..", "lib")}, roots...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append([]string{filepath.Join(home, ".local/lib")}, roots...)
	}
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := os.Getenv(v); root != "" {
			roots = append([]string{filepath.Join(root, "lib")}, roots...)
		}
	}
	for _, root := range roots {
		for _, n := range names {
			for _, pattern := range []string{"python3*/*-packages/nvidia/" + folder + "/lib", "python3*/*-packages/nvidia/cu1[0-9]/lib"} {
				found, _ := filepath.Glob(filepath.Join(root, pattern, n)) // the pattern is well formed
				all = append(all, found...)
			}
		}
	}
	return all
}

// open opens the first of some libraries that is there, and looks up functions.
func open(what string, paths, names []string) (functions []unsafe.Pointer, path string, err error) {
	cNames := make([]*C.char, len(names))
	for i, n := range names {
		cNames[i] = C.CString(n)
		defer C.free(unsafe.Pointer(cNames[i]))
	}
	table := (**C.char)(C.malloc(C.size_t(len(names)) * C.size_t(unsafe.Sizeof(cNames[0]))))
	defer C.free(unsafe.Pointer(table))
	copy(unsafe.Slice(table, len(names)), cNames)
	functions = make([]unsafe.Pointer, len(names))
	var reasons []error
	for _, p := range paths {
		why := make([]C.char, 512)
		cPath := C.CString(p)
		code := C.cancha_library(cPath, table, &functions[0], C.int(len(names)), &why[0], C.size_t(len(why)))
		C.free(unsafe.Pointer(cPath))
		switch code {
		case 0:
			return functions, p, nil
		case C.CANCHA_LACKS:
			reasons = append(reasons, fmt.Errorf("%s has no %s", p, C.GoString(&why[0])))
		default:
			reasons = append(reasons, errors.New(C.GoString(&why[0])))
		}
	}
	return nil, "", fmt.Errorf("open %s: %w", what, errors.Join(reasons[:min(1, len(reasons))]...)) // the others say the same of other places
}
