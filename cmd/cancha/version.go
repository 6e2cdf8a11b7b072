//go:build !windows

package main

import (
	"context"
	"fmt"
	"runtime"

	"cancha/cmd/internal/own"
)

func runVersion(_ context.Context, args []string) error {
	if err := parseAll(newFlags("version", "", "Prints this program's version, its Go version and its platform."), args); err != nil {
		return err
	}
	_, err := fmt.Println(versionLine())
	return err
}

// versionLine tells one build from another.
func versionLine() string {
	return fmt.Sprintf("cancha %s (%s, %s/%s)", own.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
