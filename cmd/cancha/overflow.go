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

// gate is the kernel's, for an engine that starts before there is a kernel.
type gate struct {
	made   <-chan struct{} // closed when kernel is set
	kernel **kernel.Kernel
}

// Acquire waits for the kernel, and then for it to take more output.
func (g gate) Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error) {
	select {
	case <-g.made:
		return (*g.kernel).Acquire(ctx, want)
	case <-ctx.Done():
		return cellio.Credit{}, ctx.Err()
	}
}

// Release gives back what was acquired.
func (g gate) Release(c cellio.Credit) {
	if c == (cellio.Credit{}) {
		return
	}
	<-g.made // what was acquired, a kernel has given
	(*g.kernel).Release(c)
}
