//go:build !windows

package main

import (
	"context"
	"fmt"
	"runtime"
)

// version is what "cancha version" prints and kernel_info reports as the implementation's version.
const version = "0.1.0"

func runVersion(_ context.Context, args []string) error {
	if err := parseAll(newFlags("version", "", "Prints this program's version, its Go version and its platform."), args); err != nil {
		return err
	}
	_, err := fmt.Println(versionLine())
	return err
}

// versionLine tells one build from another.
func versionLine() string {
	return fmt.Sprintf("cancha %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
