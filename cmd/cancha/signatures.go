//go:build !windows

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"cancha/jupyter/kernelspec"
	"cancha/kernel/wire"
)

// What an empty key in a connection file means, and what to do.
const (
	unsigned = "whoever reaches the ports can run code"
	signIt   = "take Session.key and ConnectionFileMixin.connection_file out of Jupyter's configuration, so that each kernel gets a key of its own"
)

// checkSignatures tells of kernels that take unsigned messages: those whose connection files have an empty key.
func checkSignatures(context.Context) []finding {
	folder, err := kernelspec.RuntimeFolder(os.LookupEnv)
	if err != nil {
		return nil // checkKernelspec tells it
	}
	files, _ := filepath.Glob(filepath.Join(folder, "kernel-*.json")) // the pattern is sound
	var found []finding
	for _, name := range files {
		if c, err := wire.ReadConnection(name); err == nil && c.Key == "" {
			found = append(found, finding{warning, "signatures", fmt.Sprintf("%s has an empty key: %s", name, unsigned), signIt})
		}
	}
	return found
}
