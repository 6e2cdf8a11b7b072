//go:build nvidia && linux

package cuda_test

import (
	"testing"

	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
)

// TestDevices runs the suite on each GPU of the machine. Package emulated runs it where there is none.
func TestDevices(t *testing.T) {
	all, err := cuda.Driver{}.Devices(t.Context())
	if err != nil {
		t.Skip(err)
	}
	for _, info := range all {
		t.Run(info.UUID, func(t *testing.T) {
			gputest.TestDevice(t, func(t *testing.T) driver.Device {
				d, err := cuda.Driver{}.Open(t.Context(), info.Index, driver.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}
