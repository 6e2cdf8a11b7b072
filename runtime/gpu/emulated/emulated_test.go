//go:build nvidia && linux

package emulated_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/emulated"
	"cancha/runtime/gpu/gputest"
)

// The variables of the environment that say which library is opened, what it is to do, and what a second process of this test is to do.
const (
	libraryVariable = "CANCHA_LIBCUDA"
	blasVariable    = "CANCHA_CUBLAS"
	sensorVariable  = "CANCHA_NVML"
	faultVariable   = "CANCHA_EMULATE"
	processVariable = "EMULATED_TEST_PROCESS"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(processVariable); what != "" {
		os.Exit(process(what))
	}
	library, err := built(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Setenv(libraryVariable, library)
	os.Setenv(sensorVariable, library)
	os.Setenv(blasVariable, "/nowhere/libcublas.so") // a machine's own is for its own driver
	os.Exit(m.Run())
}

func open(t *testing.T, o driver.Options) driver.Device {
	t.Helper()
	d, err := cuda.Driver{}.Open(t.Context(), 0, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDevice(t *testing.T) {
	for name, blas := range map[string]string{"own": os.Getenv(blasVariable), "cuBLAS 12.6.4": os.Getenv(libraryVariable)} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(blasVariable, blas)
			gputest.TestDevice(t, func(t *testing.T) driver.Device {
				d := open(t, driver.Options{})
				if got, want := d.Info().BLAS, name+" (CPU emulation)"; got != want || !d.Info().Emulated {
					t.Fatalf("got %q, emulated %v, want %q", got, d.Info().Emulated, want)
				}
				return d
			})
		})
	}
}

// library is the emulation's path.
func library(t *testing.T) string {
	t.Helper()
	path, err := built(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built is the path of the emulation with the library that the suite brings.
func built(ctx context.Context) (string, error) {
	l, err := gputest.Library()
	if err != nil {
		return "", err
	}
	return emulated.With(ctx, l)
}
