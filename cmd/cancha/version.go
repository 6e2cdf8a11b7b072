package main

import (
	"context"
	"fmt"
	"runtime"
)

// version is what "cancha version" prints and kernel_info reports as the implementation's version.
const version = "0.1.0"

func runVersion(context.Context, []string) error {
	_, err := fmt.Printf("cancha %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
