//go:build !workspace

package eval_test

import (
	"testing"

	"cancha/kernel/eval/native"
)

// tools are none: cells are interpreted.
func tools(testing.TB) *native.Toolchain { return nil }
