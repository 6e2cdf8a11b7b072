//go:build !windows

package main

import (
	"context"
	"os"
	"path/filepath"

	"cancha/internal/cellio"
	"cancha/kernel"
)

// overflowFolder is where kernels keep output of cells that is too much to show: beside the engines in the user's cache folder,
// "" where the user has none.
func overflowFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "cancha", "output")
}

// gate is the kernel's. The engine is made before the kernel, but no engine process starts before it, and only those ask.
type gate struct{ kernel **kernel.Kernel }

// Acquire waits for the kernel to take more output.
func (g gate) Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error) {
	return (*g.kernel).Acquire(ctx, want)
}

// Release gives back what was acquired.
func (g gate) Release(c cellio.Credit) { (*g.kernel).Release(c) }
