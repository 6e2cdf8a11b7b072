//go:build nvidia && linux

package nn

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/emulated"
)

// TestMain gives this process a GPU that is emulated on the CPU, if it has not been given one.
func TestMain(m *testing.M) {
	os.Setenv("CANCHA_CUBLAS", "/nowhere/libcublas.so") // on a real GPU too: its sums are in another order
	os.Exit(emulated.Run(m))
}

// TestCurvesOnEmulatedGPU: over five epochs the losses on a GPU (CPU emulation) are those on the CPU and of gorgonia, batch by batch.
func TestCurvesOnEmulatedGPU(t *testing.T) {
	s := must(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU, Required: true}))
	defer s.Close()
	r := rand.New(rand.NewPCG(7, 8))
	for _, shape := range []struct{ rows, columns, hidden, classes, batch int }{{1, 1, 1, 2, 64}, {65, 6, 17, 3, 16}, {100, 33, 40, 10, 32}} {
		d := table(r, shape.rows, shape.columns, shape.classes)
		c := Config{Hidden: shape.hidden, Batch: shape.batch, Epochs: 5, Seed: r.Uint64()}
		onCPU, _ := curve(t, Fit, d, c)
		ofGorgonia, _ := curve(t, FitGraph, d, c)
		c.Session = s
		onGPU, n := curve(t, Fit, d, c)
		if len(onGPU) != len(onCPU) {
			t.Fatalf("%+v: %d batches, want %d", shape, len(onGPU), len(onCPU))
		}
		worst := 0.0
		for i := range onGPU {
			worst = max(worst, math.Abs(onGPU[i]-onCPU[i]), math.Abs(onGPU[i]-ofGorgonia[i]))
		}
		t.Logf("%+v: %d batches, largest difference %.2g", shape, len(onGPU), worst)
		if !(worst < 1e-4) {
			t.Errorf("%+v: losses differ by up to %v", shape, worst)
		}
		if _, again := curve(t, Fit, d, c); !slices.Equal(again.params, n.params) {
			t.Errorf("%+v: two networks of one seed", shape)
		}
	}
	if m := s.Metrics(); m.Operations[0] != 0 || m.Operations[1] != 6 || m.Launches == 0 || m.BytesIn == 0 || m.Fallbacks != 0 {
		t.Errorf("got %+v", m)
	}
	t.Logf("\n%s%+v", s.Explain(), s.Metrics())
}

// TestWithoutGraphs: where the driver keeps no launches, the network learns all the same.
func TestWithoutGraphs(t *testing.T) {
	library, err := emulated.Library(t.Context(), "cuStreamBeginCapture_v2", "cuMemHostAlloc")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestCurvesOnEmulatedGPU", "-test.v")
	cmd.Env = append(os.Environ(), emulated.LibraryVariable+"="+library)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestCurvesOnEmulatedGPU") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCancelOnEmulatedGPU: an interrupt ends the training between two batches, and the session goes on.
func TestCancelOnEmulatedGPU(t *testing.T) {
	s := must(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU, Required: true}))
	defer s.Close()
	d, stop := table(rand.New(rand.NewPCG(1, 1)), 40, 3, 2), errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := Config{Hidden: 4, Batch: 10, Epochs: 1000, Session: s, Progress: func(epoch, _ int, _ float64) {
		if epoch == 2 {
			cancel(stop)
		}
	}}
	if _, err := Fit(ctx, d, c); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	c.Epochs, c.Progress = 1, nil
	if _, err := Fit(t.Context(), d, c); err != nil {
		t.Error(err)
	}
}
