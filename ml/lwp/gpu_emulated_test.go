//go:build nvidia && linux

package lwp

import (
	"os"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/emulated"
	"cancha/runtime/gpu/gputest"
)

// TestMain gives this process a GPU that is emulated on the CPU, if it has not been given one.
func TestMain(m *testing.M) { os.Exit(emulated.Run(m, mustRows(library()))) }

func TestLibraryOnGPU(t *testing.T) {
	gputest.TestLibrary(t, func(t *testing.T) driver.Device {
		return mustRows(cuda.Driver{}.Open(t.Context(), 0, driver.Options{}))
	}, mustRows(library()), gpuCases())
}

// TestTablesOnGPU: the tables that a GPU makes are those of the CPU.
func TestTablesOnGPU(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s := mustRows(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU, Required: true}))
	defer s.Close()
	sameTables(t, s, loadSeason(t))
	if m := s.Metrics(); m.Operations != [2]int{0, 2} {
		t.Errorf("got %+v, want both on the GPU", m)
	}
}
