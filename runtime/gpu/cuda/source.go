//go:build nvidia && linux

package cuda

import _ "embed"

//go:embed kernels.cu
var source string

// Source is kernels.cu, of which the emulation is made too.
func Source() string { return source }
