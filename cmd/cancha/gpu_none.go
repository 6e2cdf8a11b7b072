//go:build !windows && !nvidia

package main

import "cancha/kernel/workspace"

// withGPU: this program has no GPUs, and so has the engine for compiled cells none.
func withGPU() (tags []string, flags workspace.CFlags, err error) { return nil, flags, nil }
