//go:build !nvidia || !linux

package main

import (
	"context"
	"errors"
)

// copies needs the build tag nvidia.
func copies(context.Context, int, int) (any, error) {
	return nil, errors.New("it was built without GPUs: go build -tags nvidia")
}
