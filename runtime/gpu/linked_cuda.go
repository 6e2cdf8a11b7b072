//go:build nvidia && linux

package gpu

import (
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
)

// linked are the drivers of GPUs that this program was built with.
func linked() []driver.Driver { return []driver.Driver{cuda.Driver{}} }
