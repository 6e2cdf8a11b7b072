//go:build nvidia && linux

package emulated_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
)

// device is a device with a queue and memory that holds 1, 2, 3, closed with the test: what is left over then is an error of the emulation.
type device struct {
	driver.Device
	driver.Queue
	memory driver.Memory
}

func newDevice(t *testing.T) *device {
	t.Helper()
	d := &device{Device: open(t, driver.Options{})}
	t.Cleanup(func() {
		if err := d.Device.Close(); err != nil {
			t.Error(err)
		}
	})
	var err error
	if d.Queue, err = d.NewQueue(); err != nil {
		t.Fatal(err)
	}
	if d.memory, err = d.Alloc(driver.Float32, 3); err != nil {
		t.Fatal(err)
	}
	if err := d.CopyIn(d.memory, 0, []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	return d
}

// fill is a launch that fills some of the device's memory.
func (d *device) fill(value float32, n int) driver.Launch {
	return driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(d.memory, 0), driver.Float(value), driver.Int(n)}}
}

func (d *device) want(t *testing.T, values ...float32) {
	t.Helper()
	got := make([]float32, len(values))
	if err := d.CopyOut(got, d.memory, 0); err != nil || !slices.Equal(got, values) {
		t.Errorf("got %v, %v, want %v", got, err, values)
	}
}

// TestFullDevice: whichever allocation fails, of the device's own or of others, nothing is left over, and the next works.
func TestFullDevice(t *testing.T) {
	none := os.Getenv(blasVariable)
	for _, blas := range []string{library(t), none} {
		t.Setenv(blasVariable, blas)
		for n := 1; n <= 6; n++ {
			t.Setenv(faultVariable, fmt.Sprintf("alloc=%d", n))
			failed := 0
			d, err := cuda.Driver{}.Open(t.Context(), 0, driver.Options{})
			if err != nil {
				t.Fatalf("allocation %d: open: %v", n, err)
			}
			for range 4 {
				if _, err := d.NewQueue(); err != nil {
					failed += count(t, err)
				}
				if _, err := d.Alloc(driver.Float32, 10); err != nil {
					failed += count(t, err)
				}
			}
			if err := d.Close(); err != nil {
				t.Errorf("allocation %d: close: %v", n, err)
			}
			if failed != 0 { // one that fails is tried again, when what was kept has been given back
				t.Errorf("allocation %d: %d errors, want none", n, failed)
			}
		}
	}
	t.Setenv(faultVariable, "memory=100000")
	d := newDevice(t)
	_, err := d.Alloc(driver.Uint8, 200000)
	count(t, err)
	m, err := d.Alloc(driver.Uint8, 50000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Alloc(driver.Uint8, 60000); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("more than there is: got %v", err)
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
	if _, err := d.Alloc(driver.Uint8, 60000); err != nil {
		t.Errorf("of what was freed: %v", err)
	}
	d.want(t, 1, 2, 3)
}

// TestKept: what was freed is kept for the next of its size, but not beyond what a session may take.
func TestKept(t *testing.T) {
	d := newDevice(t)
	inUse := func() float64 {
		t.Helper()
		r, err := d.Device.(driver.Sensor).Read()
		if err != nil {
			t.Fatal(err)
		}
		return r.Memory
	}
	d.Device.(driver.Keeper).Keep(1 << 20)
	before := inUse()
	for _, n := range []int{600 << 10, 700 << 10, 300 << 10} {
		m, err := d.Alloc(driver.Uint8, n)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Free(); err != nil {
			t.Fatal(err)
		}
		if got := inUse() - before; got < float64(n) || got > 1<<20 {
			t.Errorf("%d bytes: %v are taken or kept, where %d may be", n, got, 1<<20)
		}
	}
}

// count counts an error that is to say that memory is out.
func count(t *testing.T, err error) int {
	t.Helper()
	if !errors.Is(err, driver.ErrOutOfMemory) || !strings.Contains(fmt.Sprint(err), "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory") {
		t.Errorf("got %v", err)
	}
	return 1
}

func TestLaunchRefused(t *testing.T) {
	d := newDevice(t)
	t.Setenv(faultVariable, "launch=2")
	for i := range 3 {
		err := d.Launch(d.fill(float32(i), 1))
		if want := i == 1; errors.Is(err, driver.ErrLaunch) != want || errors.Is(err, driver.ErrLost) {
			t.Errorf("launch %d: got %v", i, err)
		}
	}
	d.want(t, 2, 2, 3)
	t.Setenv(blasVariable, library(t))
	t.Setenv(faultVariable, "blas=1")
	if got, want := newDevice(t).Info().BLAS, "own, since cuBLAS 12.6.4 does not start (CPU emulation)"; got != want {
		t.Errorf("cuBLAS does not start: got %q, want %q", got, want)
	}
	d = newDevice(t)
	t.Setenv(faultVariable, "multiply=1")
	one, m := driver.Int(1), driver.At(d.memory, 0)
	multiply := driver.Launch{Func: "sgemm", Args: []driver.Arg{driver.Int(0), driver.Int(0), one, one, one, driver.Float(2), m, driver.At(d.memory, 1), driver.Float(0), m}}
	if err := d.Launch(multiply); !errors.Is(err, driver.ErrLaunch) || !strings.Contains(err.Error(), "cuBLAS status 13, execution failed") {
		t.Errorf("cuBLAS: got %v", err)
	}
	if err := d.Launch(multiply); err != nil {
		t.Error(err)
	}
	d.want(t, 4, 2, 3)
}

// TestLostDevice: after a func has gone wrong everything fails, but closing; opened again, the GPU works.
func TestLostDevice(t *testing.T) {
	d := newDevice(t)
	_, unpin, err := d.Device.(driver.Pinner).Pin(driver.Int32, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(faultVariable, "lost=1")
	if err := d.Launch(d.fill(0, 1)); err != nil {
		t.Fatalf("the launch: %v", err)
	}
	for range 2 {
		if err := d.Wait(t.Context()); !errors.Is(err, driver.ErrLost) || !strings.Contains(err.Error(), "CUDA_ERROR_LAUNCH_FAILED (719)") {
			t.Errorf("wait: got %v", err)
		}
	}
	_, recorded := d.Record()
	_, queue := d.NewQueue()
	_, alloc := d.Alloc(driver.Float32, 1)
	_, _, free := d.Device.Free()
	for name, err := range map[string]error{
		"record": recorded, "queue": queue, "alloc": alloc, "free": free, "unpin": unpin(), "memory": d.memory.Free(),
		"launch": d.Launch(d.fill(0, 1)), "copy in": d.CopyIn(d.memory, 0, []float32{1}), "copy out": d.CopyOut(make([]float32, 1), d.memory, 0),
	} {
		if !errors.Is(err, driver.ErrLost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := d.Device.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := d.Wait(t.Context()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("after close: got %v", err)
	}
	newDevice(t).want(t, 1, 2, 3)
}

// TestCloseMeetsOthers: whatever others open while the device is closed is given back, or refused.
func TestCloseMeetsOthers(t *testing.T) {
	for range 5 {
		d := newDevice(t)
		var all sync.WaitGroup
		for _, open := range []func() error{
			func() error { _, err := d.Alloc(driver.Float32, 1); return err },
			func() error { _, err := d.NewQueue(); return err },
			func() error { _, _, err := d.Device.(driver.Pinner).Pin(driver.Float32, 1); return err },
			func() error {
				_, err := d.Record()
				runtime.GC() // which finds that nobody has it
				return err
			},
		} {
			all.Go(func() {
				var err error
				for err == nil {
					err = open()
				}
				if !errors.Is(err, driver.ErrClosed) {
					t.Error(err)
				}
			})
		}
		time.Sleep(2 * time.Millisecond) // for them to come to something
		if err := d.Device.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}

// TestLostWhileClosing: a queue whose closing finds that the device is lost says so.
func TestLostWhileClosing(t *testing.T) {
	d := newDevice(t)
	t.Setenv(faultVariable, "lost=1")
	if err := d.Launch(d.fill(0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Queue.Close(); !errors.Is(err, driver.ErrLost) || !strings.Contains(err.Error(), "CUDA_ERROR_LAUNCH_FAILED (719)") {
		t.Errorf("got %v", err)
	}
	if _, err := d.Alloc(driver.Float32, 1); !errors.Is(err, driver.ErrLost) {
		t.Errorf("afterwards: got %v", err)
	}
}

// TestSessionFaults: a session goes on, on the CPU where it must, with right results, and leaves nothing over.
func TestSessionFaults(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	for _, fault := range []string{"", "alloc=1", "alloc=4", "alloc=7", "launch=2", "lost=1", "lost=2", "memory=20000"} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv(faultVariable, "")
			s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			if !strings.Contains(s.Explain().String(), "GPU: CPU emulation of a GPU, 4 multiprocessors, matrices by own (CPU emulation)") {
				t.Errorf("not labelled:\n%s", s.Explain())
			}
			t.Setenv(faultVariable, fault)
			refused := 0
			for i := range 4 {
				err := work(t, s, float32(i))
				switch {
				case errors.Is(err, driver.ErrLaunch):
					refused++
				case errors.Is(err, driver.ErrLost) && fault == "lost=2" && i == 0: // the sum was on the GPU only
				case err != nil:
					t.Errorf("time %d: %v", i, err)
				}
			}
			if want := strings.HasPrefix(fault, "launch"); (refused == 1) != want || refused > 1 {
				t.Errorf("%d launches were refused", refused)
			}
			if lost := strings.HasPrefix(fault, "lost"); strings.Contains(s.Explain().String(), "the GPU is lost") != lost {
				t.Errorf("explained as\n%s", s.Explain())
			}
		})
	}
	t.Setenv(faultVariable, "")
	newDevice(t).want(t, 1, 2, 3)
}

// work adds and multiplies, and looks at the results.
func work(t *testing.T, s *gpu.Session, value float32) error {
	const n = 40
	values := make([]float32, n*n)
	for i := range values {
		values[i] = value
	}
	var all [3]*gpu.Float32s
	for i := range all {
		b, err := gpu.NewFloat32s(s, values)
		if err != nil {
			return err
		}
		defer b.Close()
		all[i] = b
	}
	if err := gpu.VectorAdd(t.Context(), all[2], all[0], all[1]); err != nil {
		return err
	}
	if err := gpu.Sgemm(t.Context(), false, false, n, n, n, 1, all[2], all[0], 0, all[1]); err != nil {
		return err
	}
	got, err := all[1].Values(t.Context())
	if err != nil {
		return err
	}
	if want := 2 * value * value * n; slices.ContainsFunc(got, func(v float32) bool { return v != want }) {
		return fmt.Errorf("got %v…, want %v", got[:3], want)
	}
	return nil
}
