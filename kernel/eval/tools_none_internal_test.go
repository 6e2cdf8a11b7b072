//go:build !workspace

package eval

import "cancha/kernel/eval/native"

// workspaceTools are none: this binary cannot load what they make.
func workspaceTools() *native.Toolchain { return nil }
