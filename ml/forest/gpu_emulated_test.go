//go:build nvidia && linux

package forest

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/emulated"
	"cancha/runtime/gpu/gputest"
)

// TestMain gives this process a GPU that is emulated on the CPU, if it has not been given one.
func TestMain(m *testing.M) { os.Exit(emulated.Run(m, must(library()))) }

func TestLibraryOnGPU(t *testing.T) {
	gputest.TestLibrary(t, func(t *testing.T) driver.Device {
		d, err := cuda.Driver{}.Open(t.Context(), 0, driver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}, must(library()), gpuCases())
}

// TestOnGPU: a forest on a GPU answers as it does by itself, and its nodes go there once.
func TestOnGPU(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s := onDevice(t, gpu.Config{Device: gpu.GPU, Required: true})
	samePlaced(t, s)
	for _, d := range s.Explain().Decisions {
		if d.Place != "GPU" || d.Reason != "the device is set to gpu" {
			t.Errorf("got %+v", d)
		}
	}
	d, c, _ := fitted(t, false)
	p := must(c.On(s))
	defer p.Close()
	var moved [2]int64
	for i := range moved {
		before := s.Metrics().BytesIn
		if _, err := p.PredictProba(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		moved[i] = s.Metrics().BytesIn - before
	}
	if rows := int64(4 * len(d.Values)); moved[1] != rows || moved[0] <= rows {
		t.Errorf("%d bytes went to the GPU, and then %d, want %d for the rows and the nodes once", moved[0], moved[1], rows)
	}
	want := slices.Concat(must(c.PredictProba(t.Context(), d))...)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got, err := p.PredictProba(t.Context(), d); err != nil || !slices.Equal(slices.Concat(got...), want) {
				t.Errorf("beside others: %v, or other answers", err)
			}
		})
	}
	all.Wait()
}

// TestGrowOnGPU: a forest grown on a GPU is that of the CPU to the bit.
func TestGrowOnGPU(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s := onDevice(t, gpu.Config{Device: gpu.GPU, Required: true})
	cases := growCases()
	if _, device := s.Devices(); !device.Emulated {
		cases["large"] = growCase{growable(1_000_000, 3, true), Config{Trees: 12, MaxFeatures: All, MaxDepth: 10}} // the emulation would take minutes
	}
	for name, tt := range cases {
		want := must(FitClassifier(t.Context(), tt.data, tt.config))
		tt.config.Session = s
		before := s.Metrics()
		got, err := FitClassifier(t.Context(), tt.data, tt.config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.Trees(), want.Trees()) {
			t.Errorf("%s: other trees", name)
		}
		codes := int64(len(tt.data.Values))
		if m := s.Metrics(); m.Launches < before.Launches+2 || m.BytesIn < before.BytesIn+codes || m.Evicted != 0 || m.OutOfMemory != 0 {
			t.Errorf("%s: got %+v after %+v", name, m, before)
		}
	}
	t.Logf("\n%s%+v", s.Explain(), s.Metrics())
}

// TestGrowGivesBack: of the memory that a forest has taken nothing is left, whatever became of it.
func TestGrowGivesBack(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	const memory = 8 << 20
	s := onDevice(t, gpu.Config{Device: gpu.GPU, Required: true, Memory: memory})
	ctx, cancel := context.WithCancel(t.Context())
	c := Config{Trees: 4, Workers: 2, Session: s, Progress: func(done, total int) { cancel() }}
	if _, err := FitClassifier(ctx, growable(14_000, 3, false), c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.Progress = nil
	must(FitClassifier(t.Context(), growable(14_000, 3, false), c))
	all, err := gpu.NewFloat32s(s, make([]float32, memory/4))
	if err != nil {
		t.Fatal(err)
	}
	if err := gpu.VectorAdd(t.Context(), all, all, all); err != nil {
		t.Errorf("no room for the whole budget: %v", err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// TestGrowWithoutMemory: a GPU whose memory does not suffice leaves the forest to the CPU, which goes on; where the GPU is required, that is an error.
func TestGrowWithoutMemory(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	d, c := growable(14_000, 3, false), Config{Trees: 4}
	want := must(FitClassifier(t.Context(), d, c))
	for _, required := range []bool{false, true} {
		s := must(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU, Required: required, Memory: 100_000}))
		c.Session = s
		got, err := FitClassifier(t.Context(), d, c)
		switch {
		case required && !errors.Is(err, driver.ErrOutOfMemory):
			t.Errorf("required: got %v", err)
		case !required && (err != nil || !reflect.DeepEqual(got.Trees(), want.Trees())):
			t.Errorf("got %v, or other trees", err)
		case !required:
			if e := s.Explain().Decisions; len(e) != 1 || e[0].Place != "CPU" || !strings.HasPrefix(e[0].Reason, "the GPU failed: ") || s.Metrics().Fallbacks != 1 {
				t.Errorf("got %+v", e)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGrowWhereItPays: the cost model chooses, and the forest is the same.
func TestGrowWhereItPays(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s := onDevice(t, gpu.Config{Required: true})
	d, c := growable(14_000, 3, false), Config{Trees: 4, MaxDepth: 3}
	want := must(FitClassifier(t.Context(), d, c))
	c.Session = s
	if got := must(FitClassifier(t.Context(), d, c)); !reflect.DeepEqual(got.Trees(), want.Trees()) {
		t.Error("other trees")
	}
	if e := s.Explain().Decisions; len(e) != 1 || e[0].Predicted <= 0 {
		t.Errorf("got %+v", e)
	}
}

// TestGrowUnfitOnGPU: what a GPU cannot count grows on the CPU, and Explain has the reason.
func TestGrowUnfitOnGPU(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	s := onDevice(t, gpu.Config{Device: gpu.GPU, Required: true})
	for name, tt := range unfitCases() {
		tt.config.Trees, tt.config.MaxDepth, tt.config.Session = 2, 3, s
		if _, err := FitClassifier(t.Context(), tt.data, tt.config); err != nil {
			t.Fatal(err)
		}
		all := s.Explain().Decisions
		if e := all[len(all)-1]; e.Place != "CPU" || !strings.Contains(e.Reason, tt.why) {
			t.Errorf("%s: got %+v, want a reason with %q", name, e, tt.why)
		}
	}
}
