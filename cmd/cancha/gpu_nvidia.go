//go:build !windows && nvidia

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/kernel/workspace"
	"cancha/runtime/gpu/cuda/toolkit"
)

// withGPU tells how the engine for compiled cells is built, so that it has GPUs as this program has.
func withGPU() (tags []string, flags workspace.CFlags, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, flags, fmt.Errorf("keep NVIDIA's header: %w", err)
	}
	flags.Compile, flags.Link, err = toolkit.Flags(filepath.Join(cache, "cancha", "cuda"), toolkit.Places()...)
	if err != nil {
		return nil, workspace.CFlags{}, err
	}
	return []string{"nvidia"}, flags, nil
}
