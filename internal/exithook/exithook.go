// Package exithook is told of calls of os.Exit before they end the process, where package os was compiled for that, as it is in an engine
// that loads compiled cells (kernel/workspace/runtime.go). It ends there: elsewhere nobody is told.
package exithook

import _ "unsafe" // for go:linkname

// hook is a variable that the engine's package os has, and calls at the beginning of Exit. Where there is none, it is this package's own.
//
//go:linkname hook os.exitHook
var hook func(code int)

// Set has f called by the goroutine that calls os.Exit; the process ends when f returns. Call it before there are other goroutines that
// may call os.Exit; nil takes f away.
func Set(f func(code int)) { hook = f }
