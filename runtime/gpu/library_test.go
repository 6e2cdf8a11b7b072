package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
)

func loaded(t *testing.T, c Config) *Session {
	t.Helper()
	l, err := gputest.Library()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, c)
	for range 2 {
		if err := s.Load(l); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestLaunch: a func that a library brings runs where the session chooses, by what its Work says; buffers that it only reads stay on both
// sides, and one that it writes whole need not be set.
func TestLaunch(t *testing.T) {
	for target, place := range map[Target]string{CPU: "CPU", GPU: "GPU"} {
		s := loaded(t, Config{Device: target})
		n := 3
		out, ones := must(NewFloat64s(s, make([]float64, n))), must(NewFloat32s(s, []float32{1, 1, 1}))
		out.store.valid = [sides]bool{} // as if it had never been set
		args := []any{out, ones, must(NewFloat64s(s, []float64{1, 2, 3})), must(NewInt32s(s, []int32{1, 2, 3})), must(NewUint8s(s, []uint8{1, 2, 3})),
			must(NewUint16s(s, []uint16{1, 2, 3})), must(NewUint32s(s, []uint32{1, 2, 3})), must(NewInt64s(s, []int64{1, 2, 3})), n, 0.5, 2.0, 1 << 40}
		if err := s.Launch(t.Context(), "gputest_weigh", args...); err != nil {
			t.Fatal(err)
		}
		got := must(out.Values(t.Context()))
		want := []float64{1<<40 + 7.5, 1<<40 + 14.5, 1<<40 + 21.5}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		d := s.Explain().Decisions
		if len(d) != 1 || d[0].Place != place || d[0].Operation != "gputest_weigh" {
			t.Errorf("got %+v", d)
		}
		if ones.store.valid != [sides]bool{onCPU: true, onGPU: target == GPU} || out.store.valid[onGPU] != (target == GPU) {
			t.Errorf("%s: ones are at %v, out is at %v", target, ones.store.valid, out.store.valid)
		}
	}
}

// TestLaunchCosts: the model chooses by the work that the func tells of.
func TestLaunchCosts(t *testing.T) {
	s := loaded(t, Config{})
	x, counts := must(NewUint8s(s, make([]uint8, 1000))), must(NewUint32s(s, make([]uint32, 256)))
	for _, c := range []struct {
		copying float64
		want    string
	}{{1, "CPU"}, {math.Inf(1), "GPU"}} {
		s.places[onCPU].speed = speed{bandwidth: 1000, flops: 1e9, copying: c.copying}
		s.places[onGPU].speed = speed{bandwidth: 1e6, flops: 1e9, copying: c.copying}
		if err := s.Launch(t.Context(), "gputest_count", counts, x, 1000); err != nil {
			t.Fatal(err)
		}
		all := s.Explain().Decisions
		if d := all[len(all)-1]; d.Place != c.want || d.Predicted <= 0 {
			t.Errorf("copies at %v bytes/s: got %+v", c.copying, d)
		}
	}
	if got := must(counts.Values(t.Context())); got[0] != 2000 {
		t.Errorf("got %d, want 2000", got[0])
	}
}

func TestLaunchRefused(t *testing.T) {
	s := loaded(t, Config{Device: GPU})
	x, counts, whole := must(NewUint8s(s, make([]uint8, 10))), must(NewUint32s(s, make([]uint32, 256))), must(NewFloat64s(s, make([]float64, 256)))
	for name, c := range map[string]struct {
		name string
		args []any
		want string
	}{
		"no such func":     {"nonsense", nil, "no library that was loaded has such a func"},
		"too few":          {"gputest_count", []any{counts, x}, "2 arguments for 3 parameters"},
		"another type":     {"gputest_count", []any{whole, x, 10}, "argument 0, counts, is *gpu.Float64s, and the func takes uint32*"},
		"a float for int":  {"gputest_count", []any{counts, x, 1.0}, "argument 2, n, is float64, and the func takes int"},
		"beyond an int":    {"gputest_count", []any{counts, x, 1 << 40}, "argument 2, n, is int, and the func takes int"},
		"a slice":          {"gputest_count", []any{counts, []uint8{1}, 1}, "argument 1, x, is []uint8"},
		"too short":        {"gputest_count", []any{counts, x, 11}, "x has 10 elements from 0 on, and the sizes want 11"},
		"below 0":          {"gputest_count", []any{counts, x, -1}, "n is -1, and sizes are not below 0"},
		"written and read": {"gputest_weigh", []any{whole, buffer(t, s, 1), whole, must(NewInt32s(s, nil)), x, must(NewUint16s(s, nil)), counts, must(NewInt64s(s, nil)), 0, 1.0, 1.0, 1}, "out is written whole, and is b too"},
	} {
		if err := s.Launch(t.Context(), c.name, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want that it has %q", name, err, c.want)
		}
	}
	if err := s.Load(nil); err == nil {
		t.Error("nothing was loaded")
	}
}

// TestLoadFails: a library that the GPU cannot take is an error, and the next time it is tried again.
func TestLoadFails(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, drivers: []driver.Driver{d}})
	gpu := s.places[onGPU].device
	s.places[onGPU].device = unable{gpu}
	l := must(gputest.Library())
	if err := s.Load(l); !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "load library runtime/gpu/gputest") {
		t.Errorf("got %v", err)
	}
	s.places[onGPU].device = gpu
	if err := s.Load(l); err != nil {
		t.Error(err)
	}
}

// unable is a device that loads no library.
type unable struct{ driver.Device }

func (unable) Load(*driver.Library) error { return driver.ErrNotSupported }

// TestJobReads: what a job reads is brought to where it runs, stays there for the next, and counts for the choice.
func TestJobReads(t *testing.T) {
	s := loaded(t, Config{Device: GPU})
	x, other := must(NewUint8s(s, []uint8{7, 7, 9})), must(NewUint8s(s, []uint8{1}))
	counts := make([]uint32, 256)
	job := Job{Name: "count", Size: 3, Launches: 1, Reads: []Buffer{x}, Run: func(ctx context.Context, d driver.Device, q driver.Queue) error {
		if _, err := Memory(d, other); err == nil {
			t.Error("memory of a buffer that is not read was given")
		}
		in, err := Memory(d, x)
		if err != nil {
			return err
		}
		out, err := d.Alloc(driver.Uint32, 256)
		if err != nil {
			return err
		}
		return errors.Join(q.CopyIn(out, 0, counts), q.Launch(driver.Launch{Func: "gputest_count", Args: []driver.Arg{driver.At(out, 0), driver.At(in, 0), driver.Int(3)}}),
			q.CopyOut(counts, out, 0))
	}}
	for range 2 {
		if err := s.Do(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	if counts[7] != 4 || counts[9] != 2 {
		t.Errorf("got %d and %d, want 4 and 2", counts[7], counts[9])
	}
	if m := s.Metrics(); m.BytesIn != 3+2*1024 { // the counts each time, x once
		t.Errorf("%d bytes went to the GPU", m.BytesIn)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), job); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed buffer: got %v", err)
	}
}

// TestJobOnCPU: where a job has its own way on the CPU, that is taken, and counted.
func TestJobOnCPU(t *testing.T) {
	s := newSession(t, Config{Device: CPU})
	ran, failure := 0, errors.New("failure")
	job := Job{Name: "own", CPU: func(context.Context) error { ran++; return nil }, Run: func(context.Context, driver.Device, driver.Queue) error {
		t.Error("the funcs ran")
		return nil
	}}
	if err := s.Do(t.Context(), job); err != nil || ran != 1 || s.Metrics().Operations[onCPU] != 1 {
		t.Errorf("got %v, ran %d times, %+v", err, ran, s.Metrics())
	}
	job.CPU = func(context.Context) error { return failure }
	if err := s.Do(t.Context(), job); !errors.Is(err, failure) || s.Metrics().Operations[onCPU] != 1 {
		t.Errorf("got %v", err)
	}
}
