//go:build nvidia && linux

package emulated_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
)

// TestSessionCompile: a user's own funcs run on buffers of a session, beside its operations.
func TestSessionCompile(t *testing.T) {
	if os.Getenv("CANCHA_NVRTC") == "" {
		t.Skip("CANCHA_NVRTC does not name a libnvrtc: scripts/cuda-env.sh gets one")
	}
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Compile(t.Context(), gputest.UserSource)
	if err != nil {
		t.Fatal(err)
	}
	x, err := gpu.NewFloat32s(s, slices.Repeat([]float32{1}, 1000))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := gpu.NewInt32s(s, []int32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		m.Launch(t.Context(), "scale", gpu.Over(1000), x, 3.0, 999), gpu.VectorAdd(t.Context(), x, x, x), m.Launch(t.Context(), "scale", gpu.Over(1000), x, float32(2), 1000),
		m.Launch(t.Context(), "turn", gpu.Grid{Threads: [3]int{3}}, whole),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := m.Launch(t.Context(), "scale", gpu.Over(1000), x, 3.0); !errors.Is(err, driver.ErrLaunch) {
		t.Errorf("too few arguments: got %v", err)
	}
	got, err := x.Values(t.Context())
	if err != nil || got[0] != 12 || got[998] != 12 || got[999] != 4 {
		t.Errorf("got %v… %v, %v", got[:2], got[998:], err)
	}
	if got, err := whole.Values(t.Context()); err != nil || !slices.Equal(got, []int32{3, 2, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
	if !strings.Contains(s.Explain().String(), "a func of your own") {
		t.Errorf("not explained:\n%s", s.Explain())
	}
	for name, err := range map[string]error{
		"a string":     m.Launch(t.Context(), "scale", gpu.Over(1), x, "2", 1),
		"a large int":  m.Launch(t.Context(), "scale", gpu.Over(1), x, 2.0, 1<<40),
		"no such func": m.Launch(t.Context(), "nonsense", gpu.Over(1)),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := s.Compile(t.Context(), "\n\nint f("); err == nil || !strings.Contains(err.Error(), "source.cu(3): error: ") {
		t.Errorf("a wrong source: got %v", err)
	}
	cpu, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU})
	if err != nil {
		t.Fatal(err)
	}
	defer cpu.Close()
	if _, err := cpu.Compile(t.Context(), gputest.UserSource); !errors.Is(err, driver.ErrNoDevice) {
		t.Errorf("without a GPU: got %v", err)
	}
}
