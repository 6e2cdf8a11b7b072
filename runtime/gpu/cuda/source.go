//go:build nvidia && linux

package cuda

import _ "embed"

//go:embed kernels.cu
var source string

//go:embed func.cuh
var header string

// Source is kernels.cu, of which the emulation is made too.
func Source() string { return source }

// Header is func.cuh, which the source of every func includes.
func Header() string { return header }
