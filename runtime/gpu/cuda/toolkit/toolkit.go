// Package toolkit finds the one file of NVIDIA's that building with GPUs takes, and keeps a copy of it where it stays: who builds engines
// for compiled cells long after "make cuda" finds it there. It ends at the C compiler's flags.
package toolkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// CUDA's versions whose header gorgonia.org/cu compiles with, as CUDA_VERSION has them; that of 13 has another cuCtxCreate.
const (
	firstVersion = 12000
	afterVersion = 13000
)

const header = "cuda.h"

// Flags returns what cgo's CGO_CFLAGS and CGO_LDFLAGS are to be. The header is the one that folder keeps, or else that of the first of the
// places that has one of CUDA 12, which folder keeps from now on: flags with its path are the same each time.
func Flags(folder string, places ...string) (compile, link string, err error) {
	include, lib := filepath.Join(folder, "include"), filepath.Join(folder, "lib")
	if fits(filepath.Join(include, header)) != nil {
		if err := keep(folder, places); err != nil {
			return "", "", err
		}
	}
	// -O2 -g is what go takes when the variables are not set
	return "-O2 -g -I" + include, "-O2 -g -L" + lib, nil
}

// Places lists where the header may be: where CUDA_HOME says, among what "make cuda" got for the program beside it, and where NVIDIA
// installs it.
func Places() []string {
	var all []string
	if home := os.Getenv("CUDA_HOME"); home != "" {
		all = append(all, filepath.Join(home, "include"))
	}
	if program, err := os.Executable(); err == nil {
		all = append(all, filepath.Join(filepath.Dir(program), "..", "out", "cuda", "runtime-12.6", "nvidia", "cuda_runtime", "include"))
	}
	return append(all, "/usr/local/cuda-12/include", "/usr/local/cuda/include")
}

// keep copies the first header that fits, and makes the library that the linker wants: an empty one, since package shim has the symbols.
func keep(folder string, places []string) error {
	var refused []error
	for _, place := range places {
		path := filepath.Join(place, header)
		if err := fits(path); err != nil {
			refused = append(refused, err)
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(write(filepath.Join(folder, "lib"), "libcuda.a", []byte("!<arch>\n")), write(filepath.Join(folder, "include"), header, raw))
	}
	return fmt.Errorf("no %s of CUDA 12 was found: set CUDA_HOME to a toolkit that has it, or run \"make cuda\": %w", header, errors.Join(refused...))
}

var versionLine = regexp.MustCompile(`(?m)^#define CUDA_VERSION (\d+)`)

// fits looks whether a header is one of CUDA 12.
func fits(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		var reason *fs.PathError
		if errors.As(err, &reason) {
			return fmt.Errorf("%s: %w", path, reason.Err)
		}
		return err
	}
	found := versionLine.FindSubmatch(raw)
	if found == nil {
		return fmt.Errorf("%s: it tells no version of CUDA", path)
	}
	if v, err := strconv.Atoi(string(found[1])); err != nil || v < firstVersion || v >= afterVersion {
		return fmt.Errorf("%s: of CUDA %d.%d", path, v/1000, v%1000/10)
	}
	return nil
}

// write writes a file whole: others may do the same at the same time.
func write(folder, name string, raw []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "."+name)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is not there after the renaming
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(folder, name))
}
