//go:build !workspace

package eval_test

import (
	"testing"

	"cancha/kernel/eval/native"
)

// tools are none: cells are interpreted.
func tools(testing.TB) *native.Toolchain { return nil }

// once is a test to which it makes no difference whether cells are compiled: it is run here.
func once(testing.TB) {}

// longCompiled is a test that takes long where cells are compiled.
func longCompiled(testing.TB) {}
