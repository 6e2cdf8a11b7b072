//go:build nvidia && linux

package emulated

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
)

//go:embed source
var sources embed.FS

// Library returns the path of the stand-in for libcuda.so.1, built with g++ and kept among the user's caches, by its sources. Symbols that
// are named in without it has not, as an old driver would.
//
// A program takes it where the environment variable CANCHA_LIBCUDA names it when a GPU is first asked for; CANCHA_CUBLAS and CANCHA_NVML may name it too.
// CANCHA_EMULATE tells what else it is to be, and what fails, at any time, as in "alloc=3,memory=1000000":
//
//	init=803         cuInit fails with that error
//	devices=0        so many GPUs
//	version=11040    of CUDA, that the driver knows
//	capability=75    of the GPU
//	memory=1000000   bytes
//	alloc=3          the third allocation fails; so does pin (pinned memory), graph (its making), blas (the start of cuBLAS), multiply
//	power=3          the error with which NVIDIA's management library answers who asks for the power; so does temperature
//	launch=3         the third launch is refused
//	lost=3           the third launch ends in an error, and with it the context
func Library(ctx context.Context, without ...string) (string, error) {
	return library(ctx, nil, without)
}

// With is Library with the funcs that rooms bring in libraries of their own, which a device of it can load then.
func With(ctx context.Context, libraries ...*driver.Library) (string, error) {
	return library(ctx, libraries, nil)
}

func library(ctx context.Context, libraries []*driver.Library, without []string) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build the emulation: %w", err)
	}
	files, hash, err := read(libraries)
	if err != nil {
		return "", fmt.Errorf("build the emulation: %w", err)
	}
	for _, name := range without {
		hash += "-" + name
	}
	folder = filepath.Join(folder, "cancha", "emulated", hash)
	path := filepath.Join(folder, "libcuda.so.1")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := build(ctx, folder, files, without); err != nil {
		return "", fmt.Errorf("build the emulation: %w", err)
	}
	return path, nil
}

// read returns the sources, and a name for what is made of them.
func read(libraries []*driver.Library) (files map[string]string, hash string, err error) {
	files = map[string]string{"kernels.cu": cuda.Source(), "func.cuh": cuda.Header()}
	all, err := sources.ReadDir("source")
	if err != nil {
		return nil, "", err
	}
	for _, e := range all {
		raw, err := sources.ReadFile("source/" + e.Name())
		if err != nil {
			return nil, "", err
		}
		files[e.Name()] = string(raw)
	}
	bring(files, libraries)
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return files, fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// bring adds the sources of libraries, each in a namespace of its own, and a file that has them all and lists their funcs. Like NVRTC for
// a GPU, g++ must not make one operation of a product and a sum there.
func bring(files map[string]string, libraries []*driver.Library) {
	var text, list strings.Builder
	text.WriteString("#pragma GCC push_options\n#pragma GCC optimize(\"fp-contract=off\")\n")
	for i, l := range libraries {
		file := fmt.Sprintf("brought_%d.cu", i)
		files[file] = l.Source()
		fmt.Fprintf(&text, "namespace brought_%d {\n#include %q\n}\n", i, file)
		for _, f := range l.Funcs() {
			fmt.Fprintf(&list, " {%q, function(brought_%d::%s)},", f.Name, i, f.Name)
		}
	}
	fmt.Fprintf(&text, "#pragma GCC pop_options\n#define BROUGHT%s\n", list.String())
	files["brought.h"] = text.String()
}

// build compiles in a folder of its own, and gives the library its name when it is whole: others may build it at the same time.
func build(ctx context.Context, folder string, files map[string]string, without []string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(folder, "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	// fortified longjmp takes the step from one fiber to another for a fault
	args := strings.Fields("-std=c++17 -O2 -U_FORTIFY_SOURCE -ffp-contract=fast -fPIC -shared -fvisibility=hidden -pthread -o libcuda.so.1 driver.cpp")
	for _, name := range without {
		args = append(args, "-D"+name+"=without_"+name, "-O0") // what lacks something does not run for long
	}
	cmd := exec.CommandContext(ctx, "g++", args...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("g++: %w\n%s", err, out)
	}
	return os.Rename(filepath.Join(work, "libcuda.so.1"), filepath.Join(folder, "libcuda.so.1"))
}
