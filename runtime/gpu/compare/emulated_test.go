//go:build nvidia && linux

package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/emulated"
)

// TestMain gives this process a GPU that is emulated on the CPU.
func TestMain(m *testing.M) {
	library, err := emulated.Library(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, name := range []string{"CANCHA_LIBCUDA", "CANCHA_NVML", "CANCHA_CUBLAS"} {
		os.Setenv(name, library)
	}
	os.Exit(m.Run())
}

// TestRunOnEmulatedGPU: both columns are measured, and wherever the GPU's are shown, they say that the CPU played it.
func TestRunOnEmulatedGPU(t *testing.T) {
	var samples gpu.Samples
	reads := func(ctx context.Context, s *gpu.Session) error { // waits for a reading: they come from a goroutine of the session's
		_, device := s.Devices()
		for device != nil && len(samples.List) == 0 && ctx.Err() == nil {
			samples = s.Samples()
			runtime.Gosched()
		}
		b, err := gpu.NewFloat32s(s, []float32{1, 2})
		if err != nil {
			return err
		}
		return errors.Join(gpu.VectorAdd(ctx, b, b, b), b.Close(), ctx.Err())
	}
	r, err := Run(t.Context(), Config{Elements: 1000, Matrix: 8, Images: 1, Times: 2, Works: []Work{{Name: "own", Run: reads}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows[:3] {
		if row.CPU == nil || row.GPU == nil || row.GPU.Funcs <= 0 || row.GPU.Whole <= 0 { // each is measured apart
			t.Errorf("%s: got %+v, %+v", row.Work, row.CPU, row.GPU)
		}
	}
	bars, err := r.Bars()
	if err != nil {
		t.Fatal(err)
	}
	sensors, err := Sensors(samples)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"table": r.String(), "bars": bars.String(), "readings": samples.String(), "figure of readings": sensors.String(), "JSON": string(raw),
	} {
		if !strings.Contains(text, "CPU emulation") {
			t.Errorf("%s: no word of the emulation in\n%s", what, text)
		}
	}
	if text := sensors.String(); !strings.Contains(text, "power, of 70 W") || !strings.Contains(text, "busy, of 50 %") {
		t.Errorf("got %s", text)
	}
}

// TestRunWithoutUse: the times of a work that leaves the GPU alone are not shown as the GPU's.
func TestRunWithoutUse(t *testing.T) {
	idle := Work{Name: "idle", Run: func(context.Context, *gpu.Session) error { return nil }}
	_, err := Run(t.Context(), Config{Elements: 1000, Matrix: 8, Images: 1, Times: 1, Works: []Work{idle}})
	if err == nil || !strings.Contains(err.Error(), "idle on the gpu: it has not used the GPU") {
		t.Errorf("got %v", err)
	}
}
