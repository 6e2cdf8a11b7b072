//go:build nvidia && linux

package forest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/emulated"
	"cancha/runtime/gpu/gputest"
)

const libraryVariable = "CANCHA_LIBCUDA"

// TestMain gives this process a GPU that is emulated on the CPU, if it has not been given one: CANCHA_LIBCUDA names a real one's libcuda.so.1.
func TestMain(m *testing.M) {
	if os.Getenv(libraryVariable) == "" {
		path, err := emulated.With(context.Background(), must(library()))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Setenv(libraryVariable, path)
		os.Setenv("CANCHA_CUBLAS", "/nowhere/libcublas.so") // a machine's own is for its own driver
	}
	os.Exit(m.Run())
}

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
