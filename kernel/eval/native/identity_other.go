//go:build workspace && !linux

package native

import "unsafe"

// unify is for Linux alone: elsewhere an assertion in a compiled cell may not know a type without a name that an interpreted cell has used first.
func unify(string, unsafe.Pointer) error { return nil }
